"""Clients' own transcripts as events: which client keeps what where, and what its records mean.

Pure reading: nothing is written, and no record, however odd, is an error. What becomes of the
events is decided elsewhere.
"""
