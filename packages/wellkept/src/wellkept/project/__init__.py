"""Which project a folder belongs to, what its repository says of itself, and its commands.

Open `resolver.py` first, then `repository/read.py`. Every question to git goes through `core.git`.
"""
