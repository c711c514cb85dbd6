"""Read the transcripts that clients keep of their sessions, as events.

Open `registry.py` first; one module per client. Read-only; a record that cannot be read is counted,
never an error.
"""
