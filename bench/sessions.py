"""What real sessions would have been told, and whether they used it.

    python -m bench.sessions [--fetched DIR] [--limit N]
    python -m bench.sessions --transcripts DIR [--repository GIT] [--show FILE] [--json]
    python -m bench.sessions --golden DIR [--json]

Without a folder the gate of the development sessions beside the repository runs whole
(`bench.shared_sessions`); it says so when they are not there.

DIR holds the transcripts of one project, of any client that Wellkept reads. The first 70 % of the
sessions are taken in; at every moment of the rest a hook would ask, it is asked
(`bench.session_replay`). `--repository` names a clone, for the instruction files that the client
loaded itself. `--show` writes every pack to a file, to be read by a person: counts cannot tell junk
from help. `--golden` runs the moments of `bench.golden_moments`; DIR then has one folder for each
repository.

Counted: starts that had earlier work and said something; failures that an earlier session had met
and solved, and how many of them were offered a way out; lines by kind, and how many of them were
used afterwards; rules that a user had to say again. Beside them, from the same run, what plain
baselines get: the five most read files, the last summary alone, the last command of the same
program that worked, and everything that is stored.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.report import finish, machine, parser, table
from bench.session_replay import Asked, Line, RecordedSession, Replay
from bench.session_use import commands_of, is_run, is_used
from bench.shared_sessions import FETCHED, run_gate
from wellkept.core.codec import Json
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import field, record
from wellkept.core.session.events import PromptSubmitted, ToolCalled, ToolKind
from wellkept.core.text import content_words, jaccard
from wellkept.core.types import MemoryType
from wellkept.text.events.failure_cause import failure_cause
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command

TAKEN_SHARE = 0.7
LOOK_AHEAD = 12
_SAME_RULE = 0.5
_RULES = (
    MemoryType.PREFERENCE,
    MemoryType.CONVENTION,
    MemoryType.CORRECTION,
    MemoryType.REQUIREMENT,
)
_VARYING = re.compile(r"/?(?:[\w.@-]+/)+[\w.@-]*|\d+|\b[0-9a-f]{7,40}\b|['\"][^'\"]*['\"]")


@record(frozen=False)
class Counts:
    """What was counted over the later sessions."""

    sessions: int = 0
    starts_with_work: int = 0
    starts_told: int = 0
    asked: Counter[str] = field(default_factory=Counter[str])
    told: Counter[str] = field(default_factory=Counter[str])
    tokens: Counter[str] = field(default_factory=Counter[str])
    lines: Counter[str] = field(default_factory=Counter[str])
    used: Counter[str] = field(default_factory=Counter[str])
    failures: int = 0
    known: int = 0
    known_offered: int = 0
    offered: int = 0
    offers_run: int = 0
    warned: int = 0
    warned_and_failed: int = 0
    rules_repeated: int = 0
    baseline_lines: Counter[str] = field(default_factory=Counter[str])
    baseline_used: Counter[str] = field(default_factory=Counter[str])
    everything_tokens: int = 0


def main() -> None:
    """Print the figures."""
    arguments = parser(__doc__)
    source = arguments.add_mutually_exclusive_group()
    source.add_argument("--transcripts", type=Path)
    source.add_argument("--golden", type=Path)
    arguments.add_argument("--repository", type=Path)
    arguments.add_argument("--show", type=Path)
    arguments.add_argument("--fetched", type=Path, default=FETCHED)
    arguments.add_argument("--limit", type=int, default=12)
    options = arguments.parse_args()
    if options.golden is not None:
        from bench.golden_moments import run_golden

        run_golden(options.golden, as_json=options.json)
        return
    if options.transcripts is None:
        raise SystemExit(run_gate(fetched=options.fetched, limit=options.limit))
    with tempfile.TemporaryDirectory(prefix="wellkept-sessions-") as folder:
        counts, packs = count_sessions(
            options.transcripts, Path(folder), repository=options.repository
        )
    if options.show is not None:
        options.show.write_text("\n".join(packs), encoding="utf-8")
    figures = _figures(counts)
    lines = table(("figure", "value"), [(name, str(value)) for name, value in figures.items()])
    finish("sessions", {**figures, "machine": machine()}, as_json=options.json, lines=lines)


def count_sessions(
    folder: Path, home: Path, *, repository: Path | None = None
) -> tuple[Counts, list[str]]:
    """Replay a folder of transcripts; also the packs as text, to be read."""
    counts, packs = Counts(), list[str]()
    with Replay(folder, home, repository=repository) as replay:
        first = int(len(replay.sessions) * TAKEN_SHARE)
        history = _History()
        known_at: dict[int, _History] = {}
        for session in replay.sessions:
            known_at[session.number] = history.copy()
            history.add(session)
        told: dict[str, list[Line]] = {}
        for asked in replay.run(ask_if=lambda session: session.number >= first):
            earlier = told.setdefault(asked.session.id, [])
            _Counter(counts, known_at[asked.session.number], replay, earlier).add(asked)
            earlier += asked.lines
            if asked.text:
                packs.append(_shown(asked, replay.root))
        counts.sessions = len(replay.sessions) - first
        counts.everything_tokens = sum(
            replay.wk.engine.count_tokens(one.content) for one in _memories(replay)
        )
    return counts, packs


@record(frozen=False)
class _History:
    """What the earlier sessions show to plain counting."""

    solved: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    worked: dict[str, str] = field(default_factory=dict[str, str])
    reads: Counter[str] = field(default_factory=Counter[str])
    has_work: bool = False

    def copy(self) -> _History:
        return _History(set(self.solved), dict(self.worked), Counter(self.reads), self.has_work)

    def add(self, session: RecordedSession) -> None:
        calls = [one for one in session.events if isinstance(one, ToolCalled)]
        for number, call in enumerate(calls):
            self.reads.update(call.files)
            self.has_work |= call.kind in (ToolKind.EDIT, ToolKind.WRITE)
            if call.kind is not ToolKind.SHELL:
                continue
            failure = _failure(call)
            if failure is not None and _is_solved(failure, calls[number + 1 :]):
                self.solved.add(failure)
            elif failure is None and (main_one := main_command(parse_command(call.command or ""))):
                self.worked[main_one.words[0]] = main_one.call


def _failure(call: ToolCalled) -> tuple[str, str] | None:
    """Program and error line of a failed command, without what varies."""
    commands = parse_command(call.command or "")
    cause, failed = failure_cause(commands, call.output, call.error), main_command(commands)
    if cause is None or failed is None:
        return None
    return failed.subject, _VARYING.sub("#", cause).strip().lower()


def _is_solved(failure: tuple[str, str], later: Sequence[ToolCalled]) -> bool:
    """Whether the same program worked soon after, with no edit in between."""
    runs = 0
    for call in later:
        if call.kind in (ToolKind.EDIT, ToolKind.WRITE) or runs == LOOK_AHEAD:
            return False
        if call.kind is ToolKind.SHELL:
            runs += 1
            main_one = main_command(parse_command(call.command or ""))
            if main_one and main_one.subject == failure[0] and _failure(call) is None:
                return True
    return False


class _Counter:
    """Adds one moment to the counts."""

    def __init__(
        self, counts: Counts, history: _History, replay: Replay, told: Sequence[Line]
    ) -> None:
        self._counts = counts
        self._history = history
        self._replay = replay
        self._told = told

    def add(self, asked: Asked) -> None:
        counts = self._counts
        counts.asked[asked.moment] += 1
        counts.told[asked.moment] += bool(asked.text)
        counts.tokens[asked.moment] += asked.tokens
        for line in asked.lines:
            kind = f"{asked.moment}: {re.sub(r' [(].*', '', line.head) or 'memory'}"
            counts.lines[kind] += 1
            counts.used[kind] += is_used(line, asked)
        event = asked.session.events[asked.position]
        if asked.moment == "session" and asked.position == 0:
            self._add_start(asked)
        elif isinstance(event, ToolCalled) and event.kind is ToolKind.SHELL:
            self._add_warning(asked, event)
            self._add_failure(asked, event)
        elif isinstance(event, PromptSubmitted):
            counts.rules_repeated += self._is_repeated(event.text)

    def _add_start(self, asked: Asked) -> None:
        counts = self._counts
        counts.starts_with_work += self._history.has_work
        counts.starts_told += bool(asked.text) and self._history.has_work
        for name, _ in self._history.reads.most_common(5):
            shown = name.removeprefix(f"{self._replay.root}/")
            self._add_baseline("five most read files", shown, asked)
        if self._history.has_work and (summary := _last_summary(self._replay)):
            self._add_baseline("last summary", summary, asked)

    def _add_baseline(self, name: str, text: str, asked: Asked) -> None:
        self._counts.baseline_lines[name] += 1
        self._counts.baseline_used[name] += is_used(Line(head=name, text=text), asked)

    def _add_warning(self, asked: Asked, call: ToolCalled) -> None:
        """A warning before a run is right when the command then fails."""
        if asked.moment == "command" and self._replay.warns_of(asked):
            self._counts.warned += 1
            self._counts.warned_and_failed += _failure(call) is not None

    def _add_failure(self, asked: Asked, call: ToolCalled) -> None:
        """A failure counts once, at its own moment; an offer also when it was made earlier."""
        failure = _failure(call)
        if failure is None or asked.moment != "failure":
            return
        counts = self._counts
        later = commands_of(asked.session.events[asked.position + 1 :], LOOK_AHEAD)
        known = failure in self._history.solved
        counts.failures += 1
        counts.known += known
        failed = main_command(_parsed(call))
        words = failed.words[:2] if failed else ()
        lines = [*asked.lines, *(one for one in self._told if _is_about(one, failure[0], words))]
        if lines:
            counts.offered += 1
            counts.known_offered += known
            counts.offers_run += any(
                is_run(one, later) for line in lines for one in _commands_in(line.text)
            )
        if main_one := main_command(_parsed(call)):
            plain = self._history.worked.get(main_one.words[0])
            if plain is not None:
                counts.baseline_lines["last command of the program"] += 1
                counts.baseline_used["last command of the program"] += is_run(plain, later)

    def _is_repeated(self, prompt: str) -> bool:
        """Whether a prompt says a rule again that is known."""
        said = [set(content_words(one)) for one in re.split(r"[.!?\n]+", prompt)[:40]]
        said = [words for words in said if len(words) > 2]
        rules = [set(content_words(one.content)) for one in _memories(self._replay, _RULES)]
        return any(jaccard(a, b) >= _SAME_RULE for a in said for b in rules if len(b) > 2)


def _parsed(call: ToolCalled) -> tuple[ShellCommand, ...]:
    return parse_command(call.command or "")


def _is_about(line: Line, subject: str, words: Sequence[str]) -> bool:
    """Whether a line quotes a command with the subject of a failed one, or its first two words."""
    quoted = list(_commands_in(line.text))
    if len(words) > 1 and set(words) <= set(quoted):
        return True
    return any(one.subject == subject for text in quoted for one in parse_command(text))


def _commands_in(text: str) -> Iterator[str]:
    yield from re.findall(r"`([^`\n]+)`", text)


def _last_summary(replay: Replay) -> str:
    found = replay.wk.engine.store.sessions(project=replay.wk.project, limit=1)
    return (found[0].title or "") if found else ""


def _memories(replay: Replay, types: tuple[MemoryType, ...] = ()) -> tuple[Memory, ...]:
    where = Filter(project=replay.wk.project, types=types, stale=False)
    return tuple(replay.wk.engine.store.list(where, limit=500).items)


def _shown(asked: Asked, root: Path) -> str:
    request = asked.request
    files = ", ".join(request.files)
    head = f"{asked.session.id[:8]} {asked.at:%m-%d %H:%M:%S} {asked.moment} {asked.tokens} tokens"
    text = f"\n##### {head} {files} {request.query[:300]!r}\n{asked.text}"
    return text.replace(str(root), ".")


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def _figures(counts: Counts) -> dict[str, Json]:
    figures: dict[str, Json] = {
        "later_sessions": counts.sessions,
        "starts_with_earlier_work_told": _share(counts.starts_told, counts.starts_with_work),
        "tokens_a_session": round(sum(counts.tokens.values()) / max(1, counts.sessions)),
        "known_failures_offered_a_way_out": _share(counts.known_offered, counts.known),
        "failures_with_an_offer": _share(counts.offered, counts.failures),
        "offers_run_next": _share(counts.offers_run, counts.offered),
        "warned_before_a_run_that_failed": _share(counts.warned_and_failed, counts.warned),
        "lines_used": _share(counts.used.total(), counts.lines.total()),
        "rules_said_again": counts.rules_repeated,
        "everything_stored_tokens": counts.everything_tokens,
    }
    for moment in sorted(counts.asked):
        figures[f"moments_told: {moment}"] = _share(counts.told[moment], counts.asked[moment])
        figures[f"tokens: {moment}"] = counts.tokens[moment]
    for kind in sorted(counts.lines):
        figures[f"used: {kind}"] = _share(counts.used[kind], counts.lines[kind])
    for name in sorted(counts.baseline_lines):
        figures[f"baseline used: {name}"] = _share(
            counts.baseline_used[name], counts.baseline_lines[name]
        )
    return figures


if __name__ == "__main__":
    main()
