"""What an agent is told at a moment, within a token budget.

Open `build.py` first; `candidates.py` has the sources, `packing.py` the budget and the text,
`start/` what a session begins with. `memory.lifecycle.confirmation` says what may be injected.
"""
