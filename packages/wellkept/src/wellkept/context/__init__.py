"""What to inject into a session, within a token budget.

Imports `core` and the rest of `memory`. Start with `build.py`; `candidates.py` has the sources and
the rule of what may be injected, `packing.py` the budget and the text.
"""
