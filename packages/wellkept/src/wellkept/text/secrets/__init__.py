"""Finds and redacts secrets. Open `redaction.py` first."""
