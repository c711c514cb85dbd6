"""Rules that find secrets: by format, as blocks, and by the name of the field.

Every rule starts from a literal found by plain string search and reads a bounded part of the text
from there, so the work is linear in the text. The rules are data (`data/redaction.toml`). Knows
nothing of redaction itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

from wellkept.core.records import record
from wellkept.memory.text import secret_values as values
from wellkept.memory.text.literal_matcher import Literals, SharedLiterals
from wellkept.memory.text.rule_data import read_rules
from wellkept.memory.text.secret_values import ValueLists

_Check = Literal["none", "real", "random", "cookie"]
_WORD_CHAR = re.compile(r"[A-Za-z0-9_]")
_PLACEHOLDER = re.compile(re.escape(values.MARK) + r"[a-z0-9-]{1,40}\]")
_BLOCK_CHARS = 32_000
_BLOCK_BODY = re.compile(
    r"(?:\s|\\[nrt]|[A-Z][A-Za-z-]{2,24}: [^\n\\]{1,80}(?=\n|\\n)"
    r"|[A-Za-z0-9+/=]{20,}|[\"',]){0,4000}"
)
_RUN_CHARS = 20
_RUN = re.compile(r"[A-Za-z0-9+/_~.-]{20,}={0,2}")
_INSIDE_WORD = re.compile(r"[a-z]{2}")
_GOES_ON = re.compile(r"[a-rt-z]")
# What must come before the key for `--token value` and `<token>value</token>`.
_FRAMES = {"flag": re.compile(r"(?:^|\s)--?[\w-]{0,40}$"), "tag": re.compile(r"<[\w:-]{0,40}$")}
_RUN_WINDOW_CHARS = 60
_VALUE_CHARS = 512
_REST = re.compile(r"[^\s\"'`,;)}\]<>|&\\]*")
# Parts shared by many names of secrets.
_SHARED = ("key", "pass", "cookie")
_NOT_BEFORE_RUN = re.compile(r"(?:sha\d{1,3}[-:]|integrity.{0,8}|base64,|[/#@])$", re.IGNORECASE)


@record
class SecretSpan:
    """Position of a secret in a text, and the rule that found it."""

    rule: str
    start: int
    end: int


@record(frozen=False)
class WorkCount:
    """Number of positions examined: a measure of work that does not depend on the machine."""

    places: int = 0


@record
class _Back:
    chars: str
    least: int
    most: int


@record
class _Format:
    name: str
    prefixes: tuple[str, ...]
    pattern: str
    joined: bool
    fold: bool
    check: _Check
    back: _Back | None


@record
class _Block:
    name: str
    begin: str
    end: str
    hint: str


@record
class _Key:
    """A word that speaks of secrets, at its place."""

    rule: str
    text: str
    start: int
    end: int

    @property
    def before(self) -> str:
        return self.text[max(0, self.start - 48) : self.start]


@record
class _Rules:
    formats: tuple[_Format, ...]
    blocks: tuple[_Block, ...]
    stems: tuple[tuple[str, str], ...]
    begun_by: dict[str, tuple[int, ...]]
    opening: Literals
    joined: Literals
    folded: SharedLiterals
    given: str
    lists: ValueLists


def find_secrets(text: str, work: WorkCount) -> list[SecretSpan]:
    """Every secret in the text; finds may overlap."""
    rules = _rules()
    low = _fold(text)
    marks = [m.span() for m in _PLACEHOLDER.finditer(text)] if values.MARK in text else []
    found = [f for block in rules.blocks for f in _find_blocks(block, text, work)]
    there = rules.opening.present(text) | rules.joined.present(text) | rules.folded.present(low)
    for index in sorted({index for literal in there for index in rules.begun_by.get(literal, ())}):
        found.extend(_find_format(rules.formats[index], text, low, rules.lists, work))
    for name, stem in rules.stems:
        if stem not in there:
            continue
        done = 0
        for start in _places(low, stem, work):
            if start < done or _inside(marks, start):
                continue
            key = _Key(name, text, start, start + len(stem))
            given = list(_find_given(key, rules, work))
            found.extend(given)
            done = max((f.end for f in given), default=0)
    return found


def _fold(text: str) -> str:
    """Lower case without changing any position."""
    low = text.lower()
    return (
        low
        if len(low) == len(text)
        else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)
    )


def _places(text: str, literal: str, work: WorkCount) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        work.places += 1
        yield at
        at = text.find(literal, at + len(literal))


def _inside(spans: list[tuple[int, int]], position: int) -> bool:
    index = bisect_left(spans, (position + 1,)) - 1
    return index >= 0 and position < spans[index][1]


# ------------------------------------------------------------------ by shape


def _find_format(
    rule: _Format, text: str, low: str, lists: ValueLists, work: WorkCount
) -> Iterator[SecretSpan]:
    for prefix in rule.prefixes:
        # A single character counts as present everywhere; one regex search decides.
        if len(prefix) == 1 and not _compiled(rule.pattern).search(text):
            continue
        done = 0
        for at in _places(low if rule.fold else text, prefix, work):
            if at < done or not (rule.joined or _opens(text, at)):
                continue
            match = _compiled(rule.pattern).match(text, at)
            if not match:
                continue
            done = match.end()
            span = _secret_span(rule, text, match, lists)
            if span:
                yield SecretSpan(rule.name, *span)


def _opens(text: str, at: int) -> bool:
    return at == 0 or _WORD_CHAR.match(text, at - 1) is None


def _secret_span(
    rule: _Format, text: str, match: re.Match[str], lists: ValueLists
) -> tuple[int, int] | None:
    group = 1 if match.re.groups and match[1] is not None else 0
    start, end = match.span(group)
    if rule.back:
        start -= _reach_back(rule.back, text, start)
        if match.start() - start < rule.back.least:
            return None
    return (start, end) if _passes(rule.check, text[start:end], lists) else None


def _reach_back(back: _Back, text: str, start: int) -> int:
    reach, chars = 0, _compiled(back.chars)
    while reach < back.most and start - reach > 0 and chars.match(text, start - reach - 1):
        reach += 1
    return reach


def _passes(check: _Check, value: str, lists: ValueLists) -> bool:
    match check:
        case "none":
            return True
        case "real":
            return lists.is_real(value)
        case "random":
            return lists.is_real(value) and values.is_random(value)
        case "cookie":
            crumbs = re.split(r"[;=\s]+", value)
            return any(values.is_random(crumb) and lists.is_real(crumb) for crumb in crumbs)


# ------------------------------------------------------------------ blocks


def _find_blocks(block: _Block, text: str, work: WorkCount) -> Iterator[SecretSpan]:
    if block.hint not in text:
        return
    begins = list(_compiled(block.begin).finditer(text))
    ends = [m.span() for m in _compiled(block.end).finditer(text)]
    work.places += len(begins) + len(ends)
    for index, begin in enumerate(begins):
        limit = begins[index + 1].start() if index + 1 < len(begins) else len(text)
        position = bisect_left(ends, (begin.end(),))
        closed = position < len(ends) and ends[position][0] < min(limit, begin.end() + _BLOCK_CHARS)
        yield SecretSpan(
            block.name,
            begin.start(),
            ends[position][1] if closed else _body_end(text, begin, limit),
        )


def _body_end(text: str, begin: re.Match[str], limit: int) -> int:
    body = _BLOCK_BODY.match(text, begin.end(), limit)
    end = body.end() if body else begin.end()
    return begin.end() + len(text[begin.end() : end].rstrip())


# ------------------------------------------------------------------ by the name it is given


def _find_given(key: _Key, rules: _Rules, work: WorkCount) -> Iterator[SecretSpan]:
    match = _compiled(rules.given).match(key.text, key.end)
    if match:
        work.places += 1
        kind = match.lastgroup or ""
        if _is_given_secret(key, match, kind) and rules.lists.is_real(match[kind].rstrip("\\")):
            start, end = match.span(kind)
            # A value that filled the look-ahead goes on; none of it may stay.
            filled = end - start >= _VALUE_CHARS
            yield SecretSpan(key.rule, start, _rest_end(key.text, end) if filled else end)
            return
    yield from _find_runs(key, rules.lists, work)


def _rest_end(text: str, end: int) -> int:
    rest = _REST.match(text, end)
    return rest.end() if rest else end


def _is_given_secret(key: _Key, match: re.Match[str], kind: str) -> bool:
    value = match[kind].rstrip("\\")
    if not value.isascii() or (kind in _FRAMES and not _FRAMES[kind].search(key.before)):
        return False
    bare = kind in ("bare", "flag", "said", "said_cjk")
    if bare and _is_call(value, follows=key.text[match.end(kind) : match.end(kind) + 1]):
        return False
    if values.is_random(value):
        return True
    if kind in ("listed", "called"):
        mixed = values.has_digit_and_letter(value)
        return len(value) >= 6 and mixed and not values.is_name_chain(value)
    if not bare:
        return _quoted_is_secret(key.rule, value)
    env = key.text[key.start].isupper() and key.text[match.start(kind) - 1] == "="
    return not values.is_name_chain(value) and _bare_is_secret(key.rule, value, kind, env=env)


def _quoted_is_secret(rule: str, value: str) -> bool:
    if any(c in value for c in " |<>(){}") or values.is_name_chain(value):
        return False
    if rule == "password":
        return len(value) >= 4
    return len(value) >= 8 and values.has_digit_and_letter(value)


def _bare_is_secret(rule: str, value: str, kind: str, *, env: bool) -> bool:
    """`env` is KEY=value with the key in capitals: there even plain letters are a value."""
    mixed = values.has_digit_and_letter(value) or (values.has_symbol(value) and len(value) >= 8)
    if rule == "password":
        return len(value) >= 6 and (mixed or env or value.isdigit())
    if kind == "said" or (rule == "token" and not env and kind == "bare"):
        return len(value) >= 12 and values.count_digits(value) >= 3 and mixed and "=" not in value
    return len(value) >= 8 and mixed and "/" not in value


def _is_call(value: str, *, follows: str) -> bool:
    """Whether brackets show that this is code."""
    return any(c in value for c in "([{") or follows in ("(", "[", "{")


def _find_runs(key: _Key, lists: ValueLists, work: WorkCount) -> Iterator[SecretSpan]:
    """Random strings on the same line, shortly after a word that speaks of secrets."""
    text = key.text
    inside_word = key.start > 0 and _INSIDE_WORD.match(text, key.start - 1)
    if inside_word or _GOES_ON.match(text, key.end):
        return
    line_end = text.find("\n", key.end, key.end + _RUN_WINDOW_CHARS)
    stop = line_end if line_end >= 0 else key.end + _RUN_WINDOW_CHARS
    at = key.end
    while (run := _RUN.search(text, at, stop + _RUN_CHARS)) and run.start() < stop:
        work.places += 1
        at = run.end()
        value = text[run.start() : run.start() + _VALUE_CHARS]
        if _is_lone_secret(value, before=text[max(0, run.start() - 12) : run.start()], lists=lists):
            at = _rest_end(text, run.start())
            yield SecretSpan("high-entropy", run.start(), at)


def _is_lone_secret(stretch: str, *, before: str, lists: ValueLists) -> bool:
    run = _RUN.match(stretch)
    value = run.group().strip("./") if run else ""
    return (
        values.is_random(value)
        and lists.is_real(value)
        and not values.is_digest_or_id(value)
        and not values.is_name_chain(value)
        and not _NOT_BEFORE_RUN.search(before)
    )


# ------------------------------------------------------------------ loading


_VALUE = (
    r"(?:[bfru]{0,2}\\?\"(?P<double>[^\"\r\n]{1,512}?)(?:\\?\"|\Z)"
    r"|[bfru]{0,2}\\?'(?P<single>[^'\r\n]{1,512}?)(?:\\?'|\Z)"
    r"|`(?P<tick>[^`\r\n]{1,512})`"
    r"|(?P<bare>[^\s\"'`,;)}\]<>|&\\]{1,512}))"
)
_SIGN = r"\s{0,4}(?::\s{0,2}[&*]?[A-Za-z_][\w.\[\]| ]{0,30}\s{0,2}=|:=|=>|->|={1,2}|[:：＝])\s{0,4}"
_GIVEN = (
    r"(?:(?:\\?[\"'`])?\]?"
    + _SIGN
    + _VALUE
    + r"|\\?[\"']\s{0,2},\s{0,2}\\?[\"'](?P<listed>[^\"'\s\\]{1,512})"
    r"|\(\s{0,2}\\?[\"'](?P<called>[^\"'\s\\]{1,512})"
    r"|>(?P<tag>[^<\s]{1,200})</"
    r"|\s{1,3}(?:is|was|ist|est|es)\s{1,3}[\"'`]?(?P<said>[^\s\"'`,;]{1,200})"
    r"|\s?[是は]\s{0,2}[\"'`「]?(?P<said_cjk>[!-~]{1,200})"
    r"|\s{1,3}[\"']?(?P<flag>[^\s\"'-][^\s\"']{0,200}))"
)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when a text first holds the literal that leads to it; most never are."""
    return re.compile(pattern)


@lru_cache(maxsize=1)
def _rules() -> _Rules:
    raw = read_rules("redaction")
    listed = raw["values"]
    formats = tuple(map(_format, raw["format"]))
    stems = tuple((name, stem) for name, stems in raw["assignment"].items() for stem in stems)
    folded = [prefix for rule in formats if rule.fold for prefix in rule.prefixes]
    exact = [(prefix, rule.joined) for rule in formats if not rule.fold for prefix in rule.prefixes]
    return _Rules(
        formats=formats,
        blocks=tuple(_Block(b["name"], b["begin"], b["end"], b["hint"]) for b in raw["block"]),
        stems=stems,
        begun_by=_begun_by(formats),
        opening=Literals((prefix for prefix, joined in exact if not joined), opening=True),
        joined=Literals(prefix for prefix, joined in exact if joined),
        folded=SharedLiterals([*folded, *(stem for _, stem in stems)], parts=_SHARED),
        given="(?i)" + raw["suffixes"]["allowed"] + _GIVEN,
        lists=ValueLists(
            words=frozenset(listed["words"]),
            placeholder=re.compile(listed["placeholder"]),
            reference=re.compile(listed["reference"]),
            path=re.compile(listed["path"]),
            typelike=re.compile(listed["typelike"]),
        ),
    )


def _begun_by(formats: tuple[_Format, ...]) -> dict[str, tuple[int, ...]]:
    """Which formats, by number, begin with a literal."""
    found: dict[str, tuple[int, ...]] = {}
    for index, rule in enumerate(formats):
        for prefix in rule.prefixes:
            found[prefix] = (*found.get(prefix, ()), index)
    return found


def _format(entry: dict[str, Any]) -> _Format:
    back = entry.get("back")
    return _Format(
        name=entry["name"],
        prefixes=tuple(entry["prefixes"]),
        pattern=entry["pattern"],
        joined=entry.get("joined", False),
        fold=entry.get("fold", False),
        check=entry.get("check", "none"),
        back=_Back(back["class"], back["least"], back["most"]) if back else None,
    )
