"""A judgehost of a DOMjudge server, which runs its scripts in Deemster's sandbox (M7)."""
