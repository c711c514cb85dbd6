"""Which project a folder belongs to, and what its git history says.

Start with `resolver.py`; every question to git goes through `git.py`. Imports nothing else of `app`
except `observe.learning.linked_files`.
"""
