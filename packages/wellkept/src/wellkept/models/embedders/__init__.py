"""Local and remote embedders. Open `settings.py` first: tiers and model ids.

`static.py` is the default, `minilm.py` the better local models, `remote.py` those of servers.
"""
