"""Parses one file into facts with tree-sitter, and provides lookups for resolving names.

Open `language.py`, then `extract.py`.
"""
