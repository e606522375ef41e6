"""APIs of other services, translated to executions; each is switched on by a setting."""
