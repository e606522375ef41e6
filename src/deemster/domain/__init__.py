"""The vocabulary and the rules, with no input or output of any kind."""
