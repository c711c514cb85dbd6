"""Context for hooks, from a running server over a socket or in the hook process itself.

Open `responder.py` first. `protocol.py` and `server.py` are the two ends of the socket,
`in_process.py` does without a server.

This file stays empty: the hook process imports it.
"""
