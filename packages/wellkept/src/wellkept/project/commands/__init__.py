"""Commands that a project declares: test, build, lint, format, types, run, docs, release, set-up.

`collect.py` asks one reader for each kind of file and makes the statements; `command.py` has the
record and tells what a command is for.
"""
