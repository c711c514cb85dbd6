"""A team's server, from a laptop: what is shared with it, and keeping both the same.

Open `sync.py` first. `state.py` keeps what is known of a remote, `connection.py` speaks HTTP,
`api.py` is `wk.remote`, `background.py` is called by long-lived processes and by drains.
"""
