"""What real sessions would have been told: transcripts replayed in time order.

`python -m bench.sessions --transcripts DIR [--json]`: DIR holds one Claude Code transcript (JSONL)
for each session of one project. The first 70 % are taken in. Each later session is then asked at
its start and at every failed command, and taken in afterwards. Counted: failures with an offer,
offers whose command was run next in that session, starts with something to tell, and tokens. Beside
it the plainest baseline: offer the last command of the same program that worked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import wellkept
from bench.report import finish, machine, parser, table
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.transcripts.registry import transcripts
from wellkept.core.codec import Json
from wellkept.core.events import Event, ToolCalled, ToolKind
from wellkept.core.records import record
from wellkept.core.transcripts import ReadStats, Transcript
from wellkept.observe.failures.lessons import find_way_outs
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.observe.reading.environment import Environment, ProjectLocation
from wellkept.observe.reading.failure_cause import failure_cause
from wellkept.observe.reading.shell import ShellCommand, main_command, parse_command
from wellkept.testing.fakes import ManualClock

TAKEN_SHARE = 0.7
LOOK_AHEAD = 12


@record(frozen=False)
class Counts:
    """What was counted over the later sessions."""

    sessions: int = 0
    starts_told: int = 0
    start_tokens: int = 0
    failures: int = 0
    offered: int = 0
    used: int = 0
    baseline_offered: int = 0
    baseline_used: int = 0


def main() -> None:
    """Print the figures."""
    arguments = parser(__doc__)
    arguments.add_argument("--transcripts", type=Path, required=True)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="wellkept-sessions-") as folder:
        counts = replay(options.transcripts, Path(folder))
    result: dict[str, Json] = {**_figures(counts), "machine": machine()}
    lines = table(("figure", "value"), [(k, str(v)) for k, v in _figures(counts).items()])
    finish("sessions", result, as_json=options.json, lines=lines)


def replay(folder: Path, home: Path) -> Counts:
    """Take in the first sessions, then ask before and while each later one is taken in."""
    sessions = _sessions(folder)
    taken = int(len(sessions) * TAKEN_SHARE)
    root = next((one.cwd for one, _ in sessions if one.cwd), None) or "/"
    clock = ManualClock(sessions[0][1][0].origin.at)
    counts, worked = Counts(), dict[str, str]()
    with wellkept.open(home / "memory.db", project="bench", environment={}, clock=clock) as wk:
        location = ProjectLocation(wk.project, (root,))
        ingester = EventIngester(wk.engine, Environment(locate=lambda _: location))
        for number, (_, events) in enumerate(sessions):
            clock.now = max(clock.now, events[0].origin.at)
            if number >= taken:
                counts.sessions += 1
                _ask(wk, events, counts, worked)
            ingester.commit(events, [])
            _note_worked(events, worked)
    return counts


def _sessions(folder: Path) -> list[tuple[Transcript, list[Event]]]:
    folders = ClientFolders(home=folder, project=folder, environment={})
    found: list[tuple[Transcript, list[Event]]] = []
    for one in transcripts("claude-code", folders=folders, paths=sorted(folder.glob("*.jsonl"))):
        if isinstance(one, Transcript):
            events = [step.event for part in one.parts for step in part.read(ReadStats())]
            if events:
                found.append((one, events))
    return sorted(found, key=lambda pair: pair[1][0].origin.at)


def _ask(
    wk: wellkept.Wellkept, events: Sequence[Event], counts: Counts, worked: dict[str, str]
) -> None:
    pack = wk.context(moment="session")
    counts.starts_told += bool(pack.used_tokens)
    counts.start_tokens += pack.used_tokens
    runs = [e for e in events if isinstance(e, ToolCalled) and e.kind is ToolKind.SHELL]
    for number, call in enumerate(runs):
        commands = parse_command(call.command or "")
        cause, failed = failure_cause(commands, call.output, call.error), main_command(commands)
        if cause is None or failed is None:
            continue
        counts.failures += 1
        later = [c for run in runs[number + 1 : number + 1 + LOOK_AHEAD] for c in _all(run)]
        offer = next(
            find_way_outs(wk.engine, project=wk.project, command=call.command or "", cause=cause),
            None,
        )
        if offer is not None:
            counts.offered += 1
            counts.used += _is_run(offer.command, later)
        if (plain := worked.get(failed.words[0])) is not None:
            counts.baseline_offered += 1
            counts.baseline_used += _is_run(plain, later)


def _note_worked(events: Sequence[Event], worked: dict[str, str]) -> None:
    for event in events:
        if isinstance(event, ToolCalled) and event.kind is ToolKind.SHELL:
            commands = parse_command(event.command or "")
            main_one = main_command(commands)
            if main_one and failure_cause(commands, event.output, event.error) is None:
                worked[main_one.words[0]] = main_one.call


def _all(call: ToolCalled) -> tuple[ShellCommand, ...]:
    return parse_command(call.command or "")


def _is_run(offer: str, later: Sequence[ShellCommand]) -> bool:
    wanted = main_command(parse_command(offer))
    return wanted is not None and any(
        (one.words, one.environment) == (wanted.words, wanted.environment) for one in later
    )


def _figures(counts: Counts) -> dict[str, Json]:
    return {
        "later_sessions": counts.sessions,
        "starts_with_something_to_tell": counts.starts_told,
        "tokens_a_start": round(counts.start_tokens / max(1, counts.sessions)),
        "failures": counts.failures,
        "failures_with_an_offer": counts.offered,
        "offers_run_next": counts.used,
        "baseline_offers": counts.baseline_offered,
        "baseline_offers_run_next": counts.baseline_used,
    }


if __name__ == "__main__":
    main()
