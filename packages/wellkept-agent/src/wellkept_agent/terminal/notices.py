"""One line for each event that is only told: compaction, plan mode, sub-agents, problems."""

from __future__ import annotations

from wellkept_agent import events

_CHANGE, _WARNING = "cyan", "yellow"


def notice(event: events.AgentEvent) -> tuple[str, str] | None:
    """Text and style of a line; None for events that are shown otherwise or not at all."""
    match event:
        case events.ContextWarning(level=level, context_tokens=used, context_limit=limit):
            return f"! context {level}: {used:,} of {limit:,} tokens", _WARNING
        case events.ProblemReported(source=source, message=message):
            return f"! {source}: {message}", _WARNING
        case events.PlanModeEntered(plan_file=path):
            return f"◇ plan mode: only reading, and the plan at {path}", _CHANGE
        case events.PlanModeExited(approved=approved):
            return f"◇ plan {'approved' if approved else 'not approved'}", _CHANGE
        case events.SubagentStarted(agent=agent, description=description):
            return f"◇ {agent}: {description}", _CHANGE
        case events.SubagentFinished(agent=agent, ok=ok):
            return f"◇ {agent} {'is done' if ok else 'gave up'}", _CHANGE
        case _:
            return _compaction(event)


def _compaction(event: events.AgentEvent) -> tuple[str, str] | None:
    match event:
        case events.CompactionCompleted(removed_messages=count):
            return f"◇ compacted: {count} messages became a summary", _CHANGE
        case events.MicroCompactionApplied(removed_results=count):
            return f"◇ cleared {count} old tool results", _CHANGE
        case events.SessionMemoryCompactApplied(saved_tokens=saved):
            return f"◇ compacted from the running summary: {saved:,} tokens saved", _CHANGE
        case _:
            return None
