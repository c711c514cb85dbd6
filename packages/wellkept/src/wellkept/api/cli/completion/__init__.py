"""Shell completion: the scripts of the shells, and the program that they ask at every Tab.

Open `answer.py` first. Invariant: a Tab imports neither click nor a command, and never shows an
error: with nothing to offer, it offers nothing. Commands and options come from `table.json`, which
`scripts/generate_docs.py` writes from the commands; ids and names come from the store.
"""
