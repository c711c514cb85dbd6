"""Language by rule: secrets, dates, memory commands, shell lines, contradictions.

Rules and words are TOML files in `data/`. Open `secrets/redaction.py`, `dates.py` or
`similarity.py` first.
"""
