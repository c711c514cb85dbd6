"""`wk.observer` and `wk.methodology`, and draining the spool.

Open `api.py` first; `ingest.py` for the drain. May import every layer below `app`, and other parts
of `app`.
"""
