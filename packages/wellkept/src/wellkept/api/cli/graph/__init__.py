"""`wellkept graph`. Open `group.py` first."""
