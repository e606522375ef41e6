"""Programs that `prepare.py` copies into packages; nothing here is ever imported."""
