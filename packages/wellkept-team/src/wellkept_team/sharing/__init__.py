"""A team's memories: through git (`take_in.py`, `write_out.py`) or a server (`team_rules.py`,
`replica.py`). `merge.py` holds the rule that both share; open it first."""
