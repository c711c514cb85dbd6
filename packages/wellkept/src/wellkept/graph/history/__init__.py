"""Learns from commits which files change together. Open `co_change.py` first."""
