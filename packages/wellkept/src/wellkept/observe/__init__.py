"""From caught events to sessions, observations and summaries, by rule.

`drain` takes events from a spool exactly once; `folding` lays them out into a session; `thread`
and its neighbours read what the agent did; `summary` and `consolidation` sum a session up. This
package knows no client's payloads and reaches storage only through `wellkept.core.ports.store`.
"""
