"""Imports what exists before the first session: documents, commits, transcripts, other tools.

Start with `repository.py` (`wellkept init`) or `sources.py` (`wellkept admin import`).
"""
