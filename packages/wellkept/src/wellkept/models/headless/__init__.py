"""The user's own coding client as a chat model: no interface, tools, hooks, memory or history.

Open `model.py` first: it runs one call. `process.py` starts and ends the program in a
private folder, and `clients.toml` has the command line of each client.
Invariant: the child always has `WELLKEPT_SELF` set, and no call starts where it is
already set, so that Wellkept never feeds itself.
"""
