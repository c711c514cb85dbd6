"""Coding clients: payload -> event for each, the hook process, the installer, transcripts.

One module per client; open `registry.py` first, then `claude_code.py`. Clients start `hook.py`;
`answers/` gives it context, `install/` edits client settings, `transcripts/` reads client logs.

This file stays empty: the hook process imports it at every event.
"""
