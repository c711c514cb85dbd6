"""How many files are read again although an earlier session read them, session by session.

    python -m bench.learning_curve DIR [DIR ...] [--json]

Each DIR holds the transcripts of one project (`shared/sessions/extract.py` writes them). They are
replayed in time order. A read is redundant when an earlier session had read that file; each file
counts once in a session. In bands of sessions is counted what would have spared such a read:

- told: a hook's text before it named the file;
- asked: `observer.prefetch` names it when asked with the first file of the session, as our own
  agent asks; clients are not told this;
- five most read: the plainest baseline, the five files that earlier sessions read most.

None of these agents had a memory, so the share of redundant reads itself cannot fall; naming a file
does not mean that its contents need not be read.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from bench.report import finish, parser, say
from bench.session_replay import Asked, RecordedSession, Replay
from wellkept.core.codec import Json
from wellkept.core.records import field, record
from wellkept.core.session.events import ToolCalled, ToolKind

BANDS = ((2, 5), (6, 15), (16, 30), (31, 1_000))


@record(frozen=False)
class Band:
    """What was counted over some sessions."""

    sessions: int = 0
    reads: int = 0
    redundant: int = 0
    told: int = 0
    asked: int = 0
    most_read: int = 0


@record(frozen=False)
class _Work:
    """One session: where each file was first read, what `prefetch` named, what was told."""

    session: RecordedSession
    reads: dict[str, int]
    handed: frozenset[str]
    moments: list[Asked] = field(default_factory=list[Asked])

    def was_told(self, name: str) -> bool:
        """Whether a text before the first read of a file named it."""
        before = (one.text for one in self.moments if one.position < self.reads[name])
        return any(name in text for text in before)


def first_reads(session: RecordedSession, root: Path) -> dict[str, int]:
    """The files of the project that a session read, with the position of the first read."""
    found: dict[str, int] = {}
    for position, event in enumerate(session.events):
        if isinstance(event, ToolCalled) and event.kind is ToolKind.READ and not event.error:
            for name in event.files:
                path = Path(name)
                if path.is_relative_to(root):
                    found.setdefault(str(path.relative_to(root)), position)
    return found


def measure(folder: Path) -> dict[tuple[int, int], Band]:
    """The bands of one project."""
    work: dict[str, _Work] = {}
    with tempfile.TemporaryDirectory(prefix="wellkept-curve-") as name:
        with Replay(folder, Path(name)) as replay:
            for asked in replay.run(ask_if=lambda _: True):
                if asked.session.id not in work:
                    reads = first_reads(asked.session, replay.root)
                    handed = replay.wk.observer.prefetch([next(iter(reads))]) if reads else ()
                    named = frozenset(one.path for one in handed)
                    work[asked.session.id] = _Work(asked.session, reads, named)
                work[asked.session.id].moments.append(asked)
        return _counted(work.values())


def _counted(work: Iterable[_Work]) -> dict[tuple[int, int], Band]:
    bands = {limits: Band() for limits in BANDS}
    seen = Counter[str]()
    with_reads = [one for one in work if one.reads]
    for number, one in enumerate(with_reads, 1):
        most = {name for name, _ in seen.most_common(5)}
        for limits in BANDS:
            if limits[0] <= number <= limits[1]:
                again = [name for name in one.reads if name in seen]
                band = bands[limits]
                band.sessions += 1
                band.reads += len(one.reads)
                band.redundant += len(again)
                band.told += sum(map(one.was_told, again))
                band.asked += sum(name in one.handed for name in again)
                band.most_read += sum(name in most for name in again)
        seen.update(one.reads)
    return bands


def percent(count: int, whole: int) -> float:
    """A share in percent."""
    return round(100 * count / whole, 1) if whole else 0.0


def main() -> None:
    made = parser(__doc__)
    made.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    options = made.parse_args()
    total = {limits: Band() for limits in BANDS}
    for folder in options.folders:
        say(f"{folder.name} ...")
        for limits, band in measure(folder).items():
            for name in ("sessions", "reads", "redundant", "told", "asked", "most_read"):
                mine = getattr(total[limits], name) + getattr(band, name)
                setattr(total[limits], name, mine)
    rows: list[Json] = [
        {
            "sessions": f"{first} to {last}" if last < BANDS[-1][1] else f"from {first}",
            "count": band.sessions,
            "reads": band.reads,
            "redundant_percent": percent(band.redundant, band.reads),
            "told_percent": percent(band.told, band.redundant),
            "asked_percent": percent(band.asked, band.redundant),
            "five_most_read_percent": percent(band.most_read, band.redundant),
        }
        for (first, last), band in total.items()
    ]
    finish(
        "learning_curve", {"bands": rows}, as_json=options.json, lines=[str(one) for one in rows]
    )


if __name__ == "__main__":
    main()
