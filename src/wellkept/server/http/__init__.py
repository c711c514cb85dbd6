"""HTTP API: REST routes and server-sent events. Open `app.py` first."""
