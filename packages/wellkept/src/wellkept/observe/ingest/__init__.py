"""Ingest events: from the spool or from a transcript into the store, each event exactly once.

Open `ingest.py` first: it applies events and writes the result in one transaction. `drain.py` feeds
it from the spool, `imports.transcripts` from a client's transcript.
"""
