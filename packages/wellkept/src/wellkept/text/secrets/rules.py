"""Rules that find secrets: by format, in commands, as blocks, encoded, and by the name given.

Every rule starts from a literal found by plain string search and reads a bounded part of the text
from there, so the work is linear in the text. The rules are data: `data/redaction.toml` and, for
the tokens of providers, `data/provider_tokens.toml`. Knows nothing of redaction itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

from wellkept.core.records import record
from wellkept.text.literal_matcher import Literals, SharedLiterals
from wellkept.text.rule_data import read_rules
from wellkept.text.secrets import values
from wellkept.text.secrets.blocks import KeyBlock, find_key_blocks, find_kubernetes_values
from wellkept.text.secrets.commands import CommandRule, command_pattern, find_in_commands
from wellkept.text.secrets.encoded import find_encoded
from wellkept.text.secrets.names import Stem, find_named, given_pattern
from wellkept.text.secrets.provider_tokens import (
    NamedToken,
    beside_tokens,
    named_tokens,
    prefixed_tokens,
)
from wellkept.text.secrets.spans import SecretSpan, WorkCount, long_runs
from wellkept.text.secrets.tables import find_in_inserts, find_in_tables
from wellkept.text.secrets.values import ValueLists

_Check = Literal[
    "none", "real", "random", "cookie", "credential", "made-up", "varied", "secret-like", "phrase"
]
_WORD_CHAR = re.compile(r"[A-Za-z0-9]")
_PLACEHOLDER = re.compile(re.escape(values.MARK) + r"[a-z0-9-]{1,40}\]")
_BREAK = re.compile(r"[;=\s]+")
_CREDENTIAL_BREAK = re.compile(r"[\s,;=:\"'\\]+")
# The rest of a value that a line break, a plus sign or a diff splits.
_CONTINUED = re.compile(
    r"(?:(?P<quote>[\"'])\s{0,4}[+.\\]?\s{0,4}(?:\n(?:[ \t]{0,6}\d{1,6}[\t→])?|\\n)?"
    r"[+-]?\s{0,40}(?P=quote)"
    r"|\\\n[+-]?[ \t]{0,40})([A-Za-z0-9+/=_-]{8,400})(?=[\"'\s),;]|\Z)"
)
_CONTINUATIONS = 20
# So many words that speak of secrets are looked at in one text.
_MAX_EXAMINED = 12_000
_DENSE_CHARS = 400
# Parts shared by many names of secrets.
_SHARED = (
    "senha", "heslo", "key", "pass", "cookie", "sess", "phrase", "auth", "cred", "login", "pw",
    "secret", "token",
)  # fmt: skip
_TABLE_NAMES = frozenset(
    {"password", "passwd", "pwd", "passwort", "kennwort", "pass", "secret", "token", "api_key"}
    | {"api key", "apikey", "contraseña", "senha", "mot de passe"}
)


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
class _Rules:
    formats: tuple[_Format, ...]
    blocks: tuple[KeyBlock, ...]
    commands: tuple[CommandRule, ...]
    named: tuple[NamedToken, ...]
    stems: tuple[Stem, ...]
    formats_of: dict[str, tuple[int, ...]]
    commands_of: dict[str, tuple[int, ...]]
    stems_of: dict[str, tuple[int, ...]]
    opening: Literals
    joined: Literals
    folded: SharedLiterals
    given: str
    lists: ValueLists


def find_secrets(text: str, work: WorkCount) -> list[SecretSpan]:
    """Every secret in the text; finds may overlap."""
    runs = long_runs(text)
    found = _find_plain(text, work, runs)
    found.extend(find_encoded(text, runs, work, find=_find_plain))
    return found


def _find_plain(
    text: str, work: WorkCount, runs: Sequence[tuple[int, int]] | None = None
) -> list[SecretSpan]:
    """Every secret that is not encoded."""
    rules = _rules()
    low = _fold(text)
    found: list[SecretSpan] = []
    for block in rules.blocks:
        if block.hint in text:
            found.extend(find_key_blocks(block, text, work))
    if "Secret" in text:
        found.extend(find_kubernetes_values(text, work))
    there = rules.opening.present(text) | rules.joined.present(text) | rules.folded.present(low)
    for index in _led_to(rules.formats_of, there):
        found.extend(_find_format(rules.formats[index], text, low, rules.lists, work))
    for index in _led_to(rules.commands_of, there):
        rule = rules.commands[index]
        pattern = _compiled(rule.pattern)
        found.extend(find_in_commands(rule, pattern, text, rules.lists, work))
    beside = beside_tokens(low, long_runs(text) if runs is None else runs)
    for token in rules.named if beside else ():
        if token.word in beside:
            found.extend(_find_named_token(token, text, low, rules.lists, work))
    found.extend(_find_given(rules, there, text, low, work))
    if not there.isdisjoint(_TABLE_NAMES):
        found.extend(find_in_tables(text, low, rules.lists, work))
        found.extend(find_in_inserts(text, low, rules.lists, work))
    if found:
        found.extend(_continued(text, found, work))
    return found


def _led_to(numbers: dict[str, tuple[int, ...]], there: frozenset[str]) -> list[int]:
    """The rules, by number, that the literals of a text lead to."""
    return sorted({index for literal in there for index in numbers.get(literal, ())})


def _find_given(
    rules: _Rules, there: frozenset[str], text: str, low: str, work: WorkCount
) -> Iterator[SecretSpan]:
    """Secrets by the name they are given."""
    marks = [m.span() for m in _PLACEHOLDER.finditer(text)] if values.MARK in text else []
    given = _compiled(rules.given)
    examined = 0
    for index in _led_to(rules.stems_of, there):
        stem, done = rules.stems[index], 0
        for start in _places(low, stem.text, work):
            if start < done or (marks and _inside(marks, start)):
                continue
            examined += 1
            if examined > _MAX_EXAMINED:
                # No text that people or programs write is so dense: none of it is kept.
                done = min(len(text), start + _DENSE_CHARS)
                yield SecretSpan("dense", start, done)
                continue
            for span in find_named(stem, text, start, given=given, lists=rules.lists, work=work):
                yield span
                done = max(done, span.end)


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


def _continued(text: str, found: Sequence[SecretSpan], work: WorkCount) -> Iterator[SecretSpan]:
    """The rest of values that go on in the next string or line."""
    for span in found:
        end = span.end
        for _ in range(_CONTINUATIONS):
            match = _CONTINUED.match(text, end)
            if not match or not values.has_digit_and_letter(match[2]):
                break
            work.places += 1
            yield SecretSpan(span.rule, *match.span(2))
            end = match.end(2)


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


def _find_named_token(
    token: NamedToken, text: str, low: str, lists: ValueLists, work: WorkCount
) -> Iterator[SecretSpan]:
    pattern, done = _compiled(token.pattern), 0
    for at in _places(low, token.word, work):
        if at < done:
            continue
        match = pattern.match(text, at + len(token.word))
        if match and values.is_varied(match[1]) and lists.is_real(match[1]):
            done = match.end()
            yield SecretSpan("provider-key", *match.span(1))


def _opens(text: str, at: int) -> bool:
    return at == 0 or _WORD_CHAR.match(text, at - 1) is None


def _secret_span(
    rule: _Format, text: str, match: re.Match[str], lists: ValueLists
) -> tuple[int, int] | None:
    group = match.lastindex or 0
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
        case "made-up":
            odd = values.has_digit_and_letter(value) or values.has_symbol(value)
            return (odd or values.is_made_up(value)) and lists.is_real(value)
        case "secret-like":
            odd = values.has_digit_and_letter(value) or values.has_symbol(value)
            return odd and len(value) >= 6 and lists.is_real(value)
        case "phrase":
            return all(lists.is_real(word) for word in value.split()[:2])
        case "varied":
            return values.is_varied(value) and lists.is_real(value)
        case "cookie":
            crumbs = _BREAK.split(value)
            return any(values.is_random(crumb) and lists.is_real(crumb) for crumb in crumbs)
        case "credential":
            return any(
                values.is_credential(part) and lists.is_real(part)
                for part in _CREDENTIAL_BREAK.split(value)
            )


# ------------------------------------------------------------------ loading


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when a text first holds the literal that leads to it; most never are."""
    return re.compile(pattern)


@lru_cache(maxsize=1)
def _rules() -> _Rules:
    raw = read_rules("redaction")
    listed = raw["values"]
    own = [_format(entry) for entry in raw["format"]]
    formats = (*own, *(_format(entry) for entry in prefixed_tokens()))
    stems = (
        *(Stem(name, stem) for name, stems in raw["assignment"].items() for stem in stems),
        *(Stem(name, stem, True) for name, stems in raw["whole"].items() for stem in stems),
    )
    folded = [prefix for rule in formats if rule.fold for prefix in rule.prefixes]
    exact = [(prefix, rule.joined) for rule in formats if not rule.fold for prefix in rule.prefixes]
    opening = [prefix for prefix, joined in exact if not joined]
    commands = [word for entry in raw["command"] for word in entry["words"]]
    return _Rules(
        formats=formats,
        blocks=tuple(
            KeyBlock(b["name"], re.compile(b["begin"]), re.compile(b["end"]), b["hint"])
            for b in raw["block"]
        ),
        commands=tuple(
            CommandRule(tuple(c["words"]), command_pattern(c["value"])) for c in raw["command"]
        ),
        named=tuple(named_tokens()),
        stems=stems,
        formats_of=_numbers_of(rule.prefixes for rule in formats),
        commands_of=_numbers_of(tuple(entry["words"]) for entry in raw["command"]),
        stems_of=_numbers_of((stem.text,) for stem in stems),
        opening=Literals((*opening, *commands), opening=True),
        joined=Literals(prefix for prefix, joined in exact if joined),
        folded=SharedLiterals([*folded, *(stem.text for stem in stems)], parts=_SHARED),
        given=given_pattern(suffixes=raw["suffixes"]["allowed"], verbs=raw["said"]["verbs"]),
        lists=ValueLists(
            words=frozenset(listed["words"]),
            placeholder=re.compile(listed["placeholder"]),
            reference=re.compile(listed["reference"]),
            path=re.compile(listed["path"]),
            typelike=re.compile(listed["typelike"]),
        ),
    )


def _numbers_of(rules: Iterable[tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    """Which rules, by number, start from a literal."""
    found: dict[str, tuple[int, ...]] = {}
    for index, literals in enumerate(rules):
        for literal in literals:
            found[literal] = (*found.get(literal, ()), index)
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
