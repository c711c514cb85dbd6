"""Requests and results of recall."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.session.injected_text import quoted, quoted_lines
from wellkept.core.text import first_line, shorten
from wellkept.core.types import TYPE_RULES, Phase

if TYPE_CHECKING:
    from wellkept.core.verbs import Arg

DEFAULT_PROFILE = "default"
DEFAULT_MIN_SCORE = 0.12
"""Below this probability a memory is not given as an answer, unless the caller asks for less."""
LEAST_OF_NOTES = 0.18
"""The same where the best is a note: no neighbours in a session speak for it."""
BESIDE_SHARE = 0.4
"""Beside an answer, a turn of a session is given from this share of the least score on; while no
answer is clear, a note too."""
CLEAR_SCORE = 0.25
"""From here on a memory counts as an answer, and raw records are not searched for another."""
ANSWERS_FROM = 0.6
"""Below this recall says that nothing is known for sure, and gives what is nearest as guesses."""
TOLD_FROM = 0.3
"""From here on a memory is told at a prompt that did not ask for it."""
NOTHING_KNOWN = "Nothing known about that."
NOTHING_SURE = "Nothing known about that for sure."


class SearchMode(StrEnum):
    """Which retrievers run: all (the default), words only, or vectors only."""

    HYBRID = "hybrid"
    WORDS = "words"
    VECTORS = "vectors"


@record(kw_only=True)
class RecallRequest:
    """One query.

    `files` are the files being worked on: memories linked to them are candidates too. Time modes:
    dates in the query (off with `read_dates=False`), `where.since/until`, `recent_sessions=n`, and
    `around`, a memory id whose session and time frame results must come from. `neighbours` is the
    number of memories before and after each hit in its session to return with it. Hits that score
    below `min_score` are left out; up to the default, turns beside an answer have a lower bar.
    `second_pass` lets a text model and a reranker help, if there are any; it may take seconds.
    `unasked` is for a prompt that did not ask memory anything.
    """

    query: str
    where: Filter
    limit: int = 10
    offset: int = 0
    phase: Phase | None = None
    profile: str = DEFAULT_PROFILE
    mode: SearchMode = SearchMode.HYBRID
    files: tuple[str, ...] = ()
    read_dates: bool = True
    recent_sessions: int | None = None
    around: str | None = None
    neighbours: int = 0
    count_access: bool = True
    min_score: float = 0.0
    second_pass: bool = True
    unasked: bool = False


@record
class ScorePart:
    """One term of a score: its value, its weight, and what it added or multiplied."""

    name: str
    value: float
    weight: float
    effect: float


@record(kw_only=True)
class RecallHit:
    """A memory found, which retrievers found it, the parts of its score, and its neighbours."""

    memory: Memory
    score: float
    retrievers: tuple[str, ...]
    parts: tuple[ScorePart, ...] = ()
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()
    stale: bool = False

    def as_text(self, number: int, *, explain: bool, chars: int) -> str:
        """A head and the text, between its neighbours."""
        memory = self.memory
        state = f"{' stale' if self.stale else ''}{'' if memory.is_open else ' closed'}"
        by = f" · {', '.join(self.retrievers)}" if explain and self.retrievers else ""
        score = f" · {self.score:.3f}" if self.retrievers else ""
        content = quoted_lines(memory.content)
        if chars:
            content = shorten(content, limit=chars)
        lines = [
            f"{number:>2}. m:{memory.short} [{TYPE_RULES[memory.type].badge}] {memory.type.value}"
            f" · {memory.period}{score}{by}{state}",
            *(f"    ‹ {quoted(first_line(one.content, limit=160))}" for one in self.before),
            *(f"    {line}".rstrip() for line in content.splitlines()),
            *(f"    › {quoted(first_line(one.content, limit=160))}" for one in self.after),
        ]
        if explain:
            lines += [
                f"    {part.name} {part.value:.3f} x {part.weight:.3f}: {part.effect:+.4f}"
                for part in self.parts
            ]
        return "\n".join(lines)


@record(kw_only=True)
class RecallResult:
    """Hits in order, the number of candidates considered, and notes for the caller."""

    hits: tuple[RecallHit, ...]
    considered: int
    notes: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    next_offset: int | None = None

    def __iter__(self) -> Iterator[RecallHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> RecallHit:
        return self.hits[index]

    @property
    def found(self) -> bool:
        """Whether anything answers."""
        return bool(self.hits)

    @property
    def ids(self) -> list[str]:
        """Short ids, best first."""
        return [hit.memory.short for hit in self.hits]

    @property
    def more(self) -> dict[str, int]:
        """The arguments of the next page."""
        return {} if self.next_offset is None else {"offset": self.next_offset}

    def as_text(
        self,
        *,
        brief: Annotated[
            bool, Arg("One line each, with its token cost.", flag="--brief --index")
        ] = False,
        explain: Annotated[bool, Arg("Show the parts of each score.", hidden=True)] = False,
        chars: Annotated[int, Arg("Cut longer texts; 0 cuts none.", 0, hidden=True)] = 0,
    ) -> str:
        """The hits, numbered; or one line each."""
        from wellkept.memory.as_text import brief_line

        if not self.hits:
            weak = " Weak matches are left out: min_score 0 lists them." if self.considered else ""
            return NOTHING_KNOWN + weak
        if brief:
            return "\n".join(brief_line(hit.memory) for hit in self.hits)
        return "\n".join(
            hit.as_text(number, explain=explain, chars=chars)
            for number, hit in enumerate(self.hits, start=1)
        )
