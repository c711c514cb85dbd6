"""Context that comes from watching sessions: ways out of a failed command.

Imports of `observe` wait until a moment needs them: every hook that asks for context loads this.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from wellkept.context.build import ContextRequest, Moment
from wellkept.context.candidates import ContextCandidate, weight
from wellkept.memory.engine import Engine

if TYPE_CHECKING:
    from wellkept.observe.failures.lessons import KnownWayOut

MIN_SESSIONS_BEFORE_RUN = 2


def way_outs(
    engine: Engine, request: ContextRequest, *, command: str, output: str
) -> tuple[ContextCandidate, ...]:
    """Ways out for the command at hand: after it failed, or before it runs."""
    if request.moment is Moment.FAILURE:
        found = after_failure(engine, project=request.project, command=command, output=output)
        return tuple(found)
    if request.moment is Moment.COMMAND:
        return tuple(_before_run(engine, project=request.project, command=command))
    return ()


def after_failure(
    engine: Engine, *, project: str, command: str, output: str
) -> Iterator[ContextCandidate]:
    """What worked after the same failure, once one success has proved it."""
    from wellkept.observe.failures.lessons import find_way_outs, told_text
    from wellkept.text.events.failure_cause import failure_cause
    from wellkept.text.shell.reader import parse_command

    cause = failure_cause(parse_command(command), output, output)
    if cause is None:
        return
    # The newest proof is enough: a second remedy for one failure would only make it a guess.
    for known in islice(find_way_outs(engine, project=project, command=command, cause=cause), 1):
        yield _candidate(known, "the same failure before", told_text(known))


def _before_run(engine: Engine, *, project: str, command: str) -> Iterator[ContextCandidate]:
    """What to run instead of a command that failed in this form in several sessions."""
    from wellkept.observe.failures.lessons import known_to_fail, told_text

    for known in known_to_fail(engine, project=project, command=command):
        if known.sessions >= MIN_SESSIONS_BEFORE_RUN:
            yield _candidate(known, "this command failed before", told_text(known))


def _candidate(known: KnownWayOut, reason: str, text: str) -> ContextCandidate:
    return ContextCandidate(known.memory, 3.0 + weight(known.memory), reason, text=text)
