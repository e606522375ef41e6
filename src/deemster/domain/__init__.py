"""The types and rules of judging, without any input or output."""
