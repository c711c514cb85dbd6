"""Settings: their rules, where they are read from, and where files are kept.

Start with `model.py`. Imports nothing else of `app`, except plugins for the list of methodologies.
"""
