"""Read the transcripts that clients keep of their sessions, as events.

One module per client; `clients.registry` names them. Read-only; a record that cannot be read is
counted, never an error.
"""
