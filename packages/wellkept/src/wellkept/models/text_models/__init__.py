"""Chat models behind HTTP endpoints, one file per wire protocol; `settings.py` says which exist.

Each asks once, without retries, and within one time limit for the whole call.
"""
