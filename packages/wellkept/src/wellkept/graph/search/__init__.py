"""Finds the files that a request is about. Open `file_search.py` first."""
