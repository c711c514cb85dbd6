"""HTTP API: REST routes and server-sent events. Open `api.py` first."""
