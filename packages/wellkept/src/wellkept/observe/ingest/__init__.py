"""Ingest events: from the spool or from a transcript into the store, each event exactly once.

Open `ingest.py` first: it applies events and writes the result in one transaction. `drain.py` feeds
it from the spool, `transcript_import.py` from a client's transcript.
"""
