"""`wellkept admin demo`: a project with weeks of history, made through the real capture path.

`marina.json` is a small repository and what was done in it; `replay.py` lets it happen: hook
payloads with past dates go into the spool, are answered as a client's hooks would be, and are
drained. Nothing is written into the store directly.
"""
