"""Secrets that show by their own format: the rules of `data/secret_rules.toml`.

The file has the form of a gitleaks configuration: `id`, `regex`, `keywords`, `secretGroup`,
`entropy`. A rule is tried only where one of its keywords stands: at it, or up to `before`
characters before it. `use_rules` adds the rules of a file that a person keeps up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.text.rule_data import read_rules
from wellkept.text.secrets.shape import MARK, PLAIN, SecretSpan, WorkCount, entropy_bits, shape_of

_WORD_CHAR = re.compile(r"[A-Za-z0-9]")
# A rule with `before` is looked for so far behind its keyword.
_AFTER_CHARS = 200


@record
class FormatRule:
    """A format: `joined` may follow a letter directly, `real` is no placeholder either."""

    id: str
    regex: str
    keywords: tuple[str, ...]
    group: int
    entropy: float
    before: int
    joined: bool
    real: bool


class _Added:
    """The rules of the file in use."""

    rules: tuple[FormatRule, ...] = ()


def use_rules(path: Path) -> None:
    """Apply the rules of a file too, from now on, if it is there."""
    if not path.is_file():
        if _Added.rules:
            _Added.rules = ()
            _index.cache_clear()
        return
    import tomllib

    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        rules = tuple(_rule(entry) for entry in raw.get("rules", ()))
        for rule in rules:
            re.compile(rule.regex)
    except (ValueError, KeyError, TypeError, re.error) as error:
        raise UsageError(f"{path} has a rule that cannot be read: {error}") from error
    _Added.rules = rules
    _index.cache_clear()


def find_formats(text: str, work: WorkCount) -> Iterator[SecretSpan]:
    """The secrets in a part of a text that show by their own format."""
    keywords, rules_of = _index()
    done: dict[str, int] = {}
    at = 0
    while hit := keywords.search(text, at):
        at = hit.start() + 1
        work.places += 1
        for keyword in rules_of[hit[1]]:
            for rule in keyword:
                if hit.start() < done.get(rule.regex, 0):
                    continue
                if not (match := _match(rule, text, hit.start())):
                    continue
                # What matched is not read again, also when it is no secret.
                done[rule.regex] = match.end()
                group = rule.group or match.lastindex or 0
                if _fits(rule, match[group]):
                    yield SecretSpan(rule.id, *match.span(group))


def _match(rule: FormatRule, text: str, at: int) -> re.Match[str] | None:
    pattern = _compiled(rule.regex)
    if not rule.before:
        joined = at and not rule.joined and _WORD_CHAR.match(text, at - 1)
        return None if joined else pattern.match(text, at)
    limit = at + _AFTER_CHARS
    match = pattern.search(text, max(0, at - rule.before), limit)
    if not match or not match.start() <= at < match.end():
        return None
    return match if match.end() < limit else pattern.match(text, match.start())


def _fits(rule: FormatRule, value: str) -> bool:
    varied = not rule.entropy or entropy_bits(value[:64]) >= rule.entropy
    return MARK not in value and varied and (not rule.real or shape_of(value) != PLAIN)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when a text first holds the literal that leads to it; most never are."""
    return re.compile(pattern)


@lru_cache(maxsize=1)
def _index() -> tuple[re.Pattern[str], dict[str, list[list[FormatRule]]]]:
    """One pattern of all keywords, and the rules that each leads to, also by its beginnings."""
    own = (_rule(entry) for entry in read_rules("secret_rules")["rules"])
    by_keyword: dict[str, list[FormatRule]] = {}
    for rule in (*own, *_Added.rules):
        for keyword in rule.keywords:
            by_keyword.setdefault(keyword, []).append(rule)
    reached = {
        whole: [rules for part, rules in by_keyword.items() if whole.startswith(part)]
        for whole in by_keyword
    }
    return re.compile(f"({branches(by_keyword)})"), reached


def _rule(entry: dict[str, Any]) -> FormatRule:
    regex = entry["regex"]
    return FormatRule(
        id=entry["id"],
        regex=regex,
        keywords=tuple(entry["keywords"]),
        group=entry.get("secretGroup", 0),
        entropy=entry.get("entropy", 0.0),
        before=entry.get("before", 0),
        joined=entry.get("joined", False),
        real=entry.get("real", False),
    )


def branches(literals: Iterable[str]) -> str:
    """An expression for any of the literals, the longest first, each first letter written once."""
    by_letter: dict[str, list[str]] = {}
    for literal in sorted(literals):
        by_letter.setdefault(literal[:1], []).append(literal[1:])
    ends = by_letter.pop("", None) is not None
    parts = [re.escape(letter) + branches(rest) for letter, rest in by_letter.items()]
    if not parts:
        return ""
    joined = "|".join(parts)
    return f"(?:{joined}){'?' if ends else ''}" if ends or len(parts) > 1 else joined
