"""Measurements of Wellkept that anyone can repeat: `python -m bench`, or one part by its name.

Every part is a module that takes `--json` and prints one JSON object as its last line.
"""
