"""The methods of both clients, as functions that return the steps of a call."""
