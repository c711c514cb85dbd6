"""Creates, edits, validates and exports skill documents.

Start with `write.py`.
"""
