"""Sends work to judge hosts and receives their results; hosts and server share its messages."""
