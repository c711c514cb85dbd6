"""Servers, client installation and the event spool. Open `serve.py` or `install.py` first."""
