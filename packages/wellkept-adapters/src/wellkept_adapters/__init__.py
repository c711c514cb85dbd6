"""Wellkept in the frameworks people build agents with: one thin adapter each.

    from wellkept_adapters.langgraph import WellkeptStore

An adapter imports its framework when it is imported itself, never before. What a framework keeps
becomes memories of the project, redacted like any other, with the framework named in tags, evidence
and payload. Open `items` first: most adapters are a translation on top of it. Adapters know
`wellkept` and their framework; no adapter knows another.
"""
