"""Creates, edits, validates and exports skill documents.

May import `core`, `skills.documents` and `skills.sources`. Start with `write.py`.
"""
