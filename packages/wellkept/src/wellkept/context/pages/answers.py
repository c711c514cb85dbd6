"""What the project's records say to a question, by what it asks for: how something is run, what
goes wrong, what was decided, who knows it, where or why it is, what is left, what is a rule.

The words that tell are data (`text/data/questions.toml`); a question without them is its subject.
One without a subject is answered by the whole page, one with a subject by the lines that have at
least half of it. Anything else is left to recall.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from wellkept.core.memory import Memory
from wellkept.core.payloads import ErrorPattern, SessionSummary
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.text import STOP_WORDS, content_words, counted, shorten, stem
from wellkept.core.types import SHOWN_TYPES, MemoryType
from wellkept.text.rule_data import read_rules

if TYPE_CHECKING:
    from wellkept.context.workspace import MemoryWithPages
    from wellkept.memory.engine import Engine
    from wellkept.project.pages import PageLine

MOST_LINES = 8
LINE_CHARS = 600
_LATEST_SESSIONS = 12
_MOST_READ = 400
_OF_SUBJECT = 0.5
_HIRAGANA = re.compile(r"[\u3041-\u3099]+")
_MARKS = re.compile(r"[\W_]+")


@record
class Said:
    """One line of an answer, and the record that it is read from."""

    text: str
    memory: Memory | None = None


@record
class Asked:
    """What a question asks for: a kind, its subject in stems, and the purposes of commands."""

    kind: str
    subject: frozenset[str]
    purposes: frozenset[str]


@record(kw_only=True)
class Told:
    """The lines that answer, and how many there are of what; `empty` says what fills the page that
    has none."""

    heading: str = ""
    lines: tuple[Said, ...] = ()
    empty: str = ""


def told(wk: MemoryWithPages, question: str) -> Told:
    """What the records say; nothing when the question asks for none of them."""
    asked = read_question(question)
    if asked is None:
        return Told()
    itself = {stem(word) for word in content_words(wk.project_name)}
    asked = replace(asked, subject=asked.subject - itself)
    noun, found = _READ[asked.kind](wk, asked)
    every = [Said(shorten(one.text, limit=LINE_CHARS), one.memory) for one in found]
    if not every:
        return Told(empty="" if asked.subject else _filled_by(asked.kind))
    more = f", {MOST_LINES} of them" if len(every) > MOST_LINES else ""
    return Told(heading=f"{counted(len(every), noun)}{more}:", lines=tuple(every[:MOST_LINES]))


def read_question(question: str) -> Asked | None:
    """What a question asks for; None when no list has a phrase of it."""
    rules = _rules()
    plain = _plain(question)
    kind = next((name for name, said in rules.asks if any(map(plain.__contains__, said))), None)
    if kind is None:
        return None
    purposes = [named for named, said in rules.purposes if any(map(plain.__contains__, said))]
    if len(purposes) > 1:  # "how do I run the checks"
        purposes = [named for named in purposes if "run" not in named]
    purposes = [named for named in purposes if "one test" in named] or purposes
    known = [said for name, said in rules.asks if name == kind]
    if kind == "commands":
        known += [said for _, said in rules.purposes]
    left = plain
    for phrase in sorted((one for said in known for one in said), key=len, reverse=True):
        left = left.replace(phrase, "  ")
    for phrase in rules.filler:
        left = left.replace(phrase, "  ")
    subject = {
        stem(word)
        for word in content_words(_HIRAGANA.sub(" ", left))
        if word not in STOP_WORDS and len(word) > 1
    }
    return Asked(kind, frozenset(subject), frozenset[str]().union(*purposes))


def _plain(text: str) -> str:
    """Folded, without accents, one space between words and around them."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(one for one in apart if unicodedata.combining(one) in (0, 8))
    return f" {_MARKS.sub(' ', bare).strip()} "


@record
class _Rules:
    asks: tuple[tuple[str, frozenset[str]], ...]
    purposes: tuple[tuple[frozenset[str], frozenset[str]], ...]
    filler: frozenset[str]


@cache
def _rules() -> _Rules:
    raw = read_rules("questions")
    return _Rules(
        tuple((one["for"], _phrases(one["phrases"])) for one in raw["asks"]),
        tuple((_named(one["named"]), _phrases(one["phrases"])) for one in raw["purposes"]),
        _phrases("|".join(raw["filler"].split())),
    )


def _named(purposes: str) -> frozenset[str]:
    return frozenset({purposes} if purposes == "one test" else purposes.split())


def _phrases(text: str) -> frozenset[str]:
    """Phrases of letters with a space around each: only whole words fit."""
    found = (_plain(one) for line in text.split("\n") for one in line.split("|") if one.strip())
    return frozenset(one if one.strip().isascii() else one.strip() for one in found)


# -- What the records say --------------------------------------------------------------------------


_Reader: TypeAlias = "Callable[[MemoryWithPages, Asked], tuple[str, list[Said]]]"


def _lines(wk: MemoryWithPages, page: str) -> list[tuple[PageLine, Said]]:
    from wellkept.context.pages.verbs import pages

    ((only),) = pages(wk, page).pages
    held = {one.id: one for one in wk.engine.store.get([line.id for line in only.lines if line.id])}
    return [(line, Said(_line_text(line), held.get(line.id))) for line in only.lines]


def _line_text(line: PageLine) -> str:
    source = line.source
    where = "" if source.kind in ("person", "agent", "session") else source.where
    seen = f"{line.seen}{f' {line.seen_at:%Y-%m-%d}' if line.seen_at else ''}" if line.seen else ""
    day = f"{source.at:%Y-%m-%d}" if source.at and not line.seen_at else ""
    kind = "" if source.kind == "document" else source.kind
    said = ", ".join(filter(None, (kind, where, day, seen)))
    return f"{f'{line.label}: ' if line.label else ''}{' '.join(line.text.split())} ({said})"


def about(said: Iterable[Said], subject: frozenset[str]) -> list[Said]:
    """The lines that have at least half of a subject, those that have most of it first."""
    from wellkept.memory.recall.ranking import stems, tells

    weight = {word: tells(word) for word in subject}
    total = sum(weight.values())
    if not total:
        return list(said)
    shares: list[tuple[float, int, Said]] = []
    for number, one in enumerate(said):
        held = stems(f"{one.text} {one.memory.content if one.memory else ''}")
        share = sum(weight[word] for word in subject & held) / total
        if share >= _OF_SUBJECT:
            shares.append((-share, number, one))
    return [one for _, _, one in sorted(shares, key=lambda row: row[:2])]


def _page(name: str, noun: str) -> _Reader:
    def read(wk: MemoryWithPages, asked: Asked) -> tuple[str, list[Said]]:
        return noun, about((said for _, said in _lines(wk, name)), asked.subject)

    return read


def _commands(wk: MemoryWithPages, asked: Asked) -> tuple[str, list[Said]]:
    """The commands for what is to be done, else the recipes and rules about it. What only ran in
    sessions counts where nothing is declared."""
    if not asked.purposes and asked.subject:
        recipes = about(
            map(_dated, _records(wk.engine, wk.project, SHOWN_TYPES["recipe"])), asked.subject
        )
        return ("recipe", recipes) if recipes else _page("rules", "rule")(wk, asked)
    wanted = [
        Said(said.text.replace(line.text, f"`{line.text}`", 1), said.memory)
        for line, said in _lines(wk, "commands")
        if not asked.purposes or line.label in asked.purposes
    ]
    declared = [one for one in wanted if one.memory] or wanted
    return "command", about(declared, asked.subject) or declared


def _traps(wk: MemoryWithPages, asked: Asked) -> tuple[str, list[Said]]:
    """What went wrong, with counts: the page of traps, and commands that failed."""
    from wellkept.observe.failures.command_records import read_records

    known = [
        Said(f"{said.text}{_times(said.memory)}", said.memory) for _, said in _lines(wk, "traps")
    ]
    failed = [one for one in read_records(wk.engine.store, wk.project) if one.failed]
    runs = [
        Said(
            f"`{one.line}` failed {one.failed} times, passed {one.passed}"
            + (f", last {one.failed_at:%Y-%m-%d}" if one.failed_at else "")
            + (f": {' '.join(one.cause.split())}" if one.cause else "")
        )
        for one in sorted(failed, key=lambda one: -one.failed)
    ]
    return "trap", about([*known, *runs[: MOST_LINES // 2]], asked.subject)


def _times(memory: Memory | None) -> str:
    known = memory.payload if memory else None
    often = known.occurrences if isinstance(known, ErrorPattern) else 1
    return f" ({often} times)" if often > 1 else ""


def _why(wk: MemoryWithPages, asked: Asked) -> tuple[str, list[Said]]:
    """Decisions and commits with a reason, rules and traps about the subject."""
    if not asked.subject:
        return "reason", []
    found = [said for name in ("decisions", "rules", "traps") for _, said in _lines(wk, name)]
    return "reason", about(found, asked.subject)


def _people(wk: MemoryWithPages, asked: Asked) -> tuple[str, list[Said]]:
    """Who knows the project or a folder of it, else who knows the files about the subject."""
    _, found = _page("people", "line")(wk, asked)
    return ("line", found) if found or not asked.subject else _where(wk, asked)


def _where(wk: MemoryWithPages, asked: Asked) -> tuple[str, list[Said]]:
    """Folders and files by what they hold; the layout where nothing is asked for, the folders with
    most of the code first."""
    if not asked.subject:
        folders = [said for line, said in _lines(wk, "layout") if line.label.endswith("/")]
        weight = {one: one.memory.importance for one in folders if one.memory}
        return "folder", sorted(folders, key=lambda one: -weight.get(one, 0))
    modules = _records(wk.engine, wk.project, (MemoryType.MODULE_INSIGHT,))
    return "place", about((Said(one.content, one) for one in modules), asked.subject)


def _about(wk: MemoryWithPages, asked: Asked) -> tuple[str, list[Said]]:
    lines = [said for line, said in _lines(wk, "layout") if not line.label.endswith("/")]
    return "line", about(lines, asked.subject)


def _left(wk: MemoryWithPages, asked: Asked) -> tuple[str, list[Said]]:
    """What sessions left open, the latest first, and the state of unfinished work."""
    states = _records(wk.engine, wk.project, (MemoryType.WORK_STATE,), most=_LATEST_SESSIONS)
    found = [_dated(one) for one in states]
    types = (MemoryType.TIMELINE,)
    for one in _records(wk.engine, wk.project, types, most=_LATEST_SESSIONS):
        payload = one.payload
        if isinstance(payload, SessionSummary) and payload.next_steps:
            after = f" (after: {payload.request})" if payload.request else ""
            branch = f", branch {payload.branch}" if payload.branch else ""
            text = f"{one.valid_from:%Y-%m-%d}{branch}: {payload.next_steps}{after}"
            found.append(Said(" ".join(text.split()), one))
    return "open end", about(found, asked.subject)


def _dated(memory: Memory) -> Said:
    return Said(f"{' '.join(memory.content.split())} ({memory.valid_from:%Y-%m-%d})", memory)


def _records(
    engine: Engine, project: str, types: Sequence[MemoryType], *, most: int = _MOST_READ
) -> Iterator[Memory]:
    where = Filter(project=project, types=tuple(types), stale=False)
    return iter(engine.store.list(where, order=Order.EVENT_LATEST, limit=most).items)


def _filled_by(kind: str) -> str:
    from wellkept.project.pages import FILLED_BY, PageName

    pages = {"where": "layout", "about": "layout", "left": "", "why": "decisions"}
    name = pages.get(kind, kind.replace("decided", "decisions"))
    return FILLED_BY[PageName(name)] if name else ""


_READ = {
    "commands": _commands,
    "traps": _traps,
    "decided": _page("decisions", "decision"),
    "people": _people,
    "rules": _page("rules", "rule"),
    "why": _why,
    "where": _where,
    "about": _about,
    "left": _left,
}
