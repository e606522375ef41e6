"""Analyses programs with static analysers in the sandbox; results are SARIF."""
