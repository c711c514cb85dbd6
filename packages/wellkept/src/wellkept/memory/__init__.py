"""The life of a memory: remember, recall, edit, age, export and import.

`api` passes store and models in through `engine.Engine`. Open `remember.py` (writing) and
`recall/recall.py` (reading) first.
"""
