"""`wellkept skill`. Open `group.py` first."""
