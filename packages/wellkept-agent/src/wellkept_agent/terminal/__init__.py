"""The agent in a terminal: what a run looks like (`screen`), who is asked (`person`), and the
conversation with its commands (`chat`, `slash_commands`)."""
