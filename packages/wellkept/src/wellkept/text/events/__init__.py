"""Parse events: sanitise texts, parse commands, output and prompts.

Open `tool_steps.py` first: it parses one tool call into a step. `text.shell` parses command lines,
`command_results.py` their output, `sanitize.py` removes secrets before anything else reads a text.
Pure functions without session state.
"""
