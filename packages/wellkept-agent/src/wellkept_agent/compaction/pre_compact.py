"""The PreCompact command of the settings: a person's own script, run before compaction.

It gets a JSON object on standard input. What it prints is added to the instructions for the
summary. A command that fails or hangs is reported, and compaction goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from wellkept.core.text import clean, shorten
from wellkept.skills.hooks.process import HookRun, filtered_environment, run_command

if TYPE_CHECKING:
    from wellkept_agent.compaction.settings import CompactionSettings
    from wellkept_agent.session import AgentSession

_MAX_CHARS = 10_000


async def pre_compact(
    session: AgentSession,
    settings: CompactionSettings,
    *,
    trigger: str,
    instructions: str,
    environment: Mapping[str, str],
) -> str:
    """What the command printed; empty without a command or when it failed."""
    if not settings.pre_compact_command.strip():
        return ""
    told = {
        "hook_event_name": "PreCompact",
        "session_id": session.id,
        "cwd": str(session.working_directory),
        "trigger": trigger,
        "custom_instructions": instructions,
    }
    run = await asyncio.to_thread(
        run_command,
        settings.pre_compact_command,
        cwd=session.working_directory,
        environment=filtered_environment(environment),
        stdin=json.dumps(told).encode(),
        timeout_s=settings.pre_compact_time_limit_s,
    )
    problem = _problem(run, settings.pre_compact_time_limit_s)
    if problem:
        session.report("PreCompact", problem)
        return ""
    return shorten(clean(run.stdout).strip(), limit=_MAX_CHARS)


def _problem(run: HookRun, time_limit_s: float) -> str:
    if run.timed_out:
        return f"The command took longer than {time_limit_s:g} s."
    if run.exit_code == 0:
        return ""
    said = shorten(run.stderr.strip() or run.stdout.strip(), limit=500)
    return f"The command failed ({run.problem or f'exit code {run.exit_code}'}): {said}"
