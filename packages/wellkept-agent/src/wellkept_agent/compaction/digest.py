"""A summary by rules, for when no model gives one: extracts, never rephrases.

Keeps the person's requests, what was stated with exact values or as a decision, changed files,
failures, and the last answer. It is worse than a model's summary and says that it is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from wellkept.core.chat.messages import Message, MessageKind, Role
from wellkept.core.records import record
from wellkept.core.text import clean, comparison_key, estimate_tokens, shorten

NOTE = "Extracted by rules: no model summarised this. Words are quoted; much is left out."
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_EXACT = re.compile(
    r"`[^`]+`|\"[^\"]{2,}\"|\b\w+[._/:-]\w[\w./:-]*|\b\d[\d.,:]*\b|\b[A-Z_]{3,}\b|="
)
_DECIDED = re.compile(
    r"\b(?:must|never|always|only|instead|because|decid\w+|chose\w*|agreed|prefer\w*|use[sd]?|note"
    r"|remember|important|cause[sd]?|fail\w*|fix\w*|works?|require[sd]?|should|don't|do not)\b",
    re.IGNORECASE,
)
_WRITES = frozenset({"Edit", "Write", "NotebookEdit", "MultiEdit"})
_PATH_KEYS = ("file_path", "notebook_path", "path")
_MAX_SENTENCE = 400
_MAX_FILES = 40
_MAX_FAILURES = 12


@record
class _Statement:
    order: int
    text: str
    score: float


def digest(messages: Sequence[Message], *, max_tokens: int) -> str:
    """The extract of messages, within a budget."""
    parts: list[str] = [NOTE]
    room = max_tokens - estimate_tokens(NOTE)
    for title, lines, share in (
        ("Earlier summary", _earlier(messages), 0.4),
        ("Request", _requests(messages), 0.3),
        ("Files changed", _changed(messages), 0.2),
        ("Failures", _failures(messages), 0.2),
        ("State", _last_answer(messages), 0.2),
    ):
        room -= _add(parts, title, lines, int(room * share))
    _add(parts, "Facts and decisions", _statements(messages, room), room)
    return "\n\n".join(parts)


def _add(parts: list[str], title: str, lines: Iterable[str], max_tokens: int) -> int:
    """Add a section of the lines that fit; returns its tokens."""
    section = f"## {title}"
    used = estimate_tokens(section) + 1
    kept: list[str] = []
    for line in lines:
        cost = estimate_tokens(line) + 1
        if used + cost <= max_tokens:
            kept.append(line)
            used += cost
    if not kept:
        return 0
    parts.append("\n".join([section, *kept]))
    return used


def _earlier(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if message.kind is MessageKind.SUMMARY:
            yield from (line for line in clean(message.text).splitlines() if line.strip())


def _requests(messages: Sequence[Message]) -> Iterator[str]:
    """What the person said, the last first: that is what counts now."""
    for message in reversed(messages):
        if message.role is Role.USER and message.kind is MessageKind.PLAIN and message.text.strip():
            yield f"- {shorten(' '.join(clean(message.text).split()), limit=1_200)}"


def _changed(messages: Sequence[Message]) -> Iterator[str]:
    paths: dict[str, None] = {}
    for message in messages:
        for call in message.tool_calls:
            if call.name in _WRITES and (path := _path(call.arguments)):
                paths.pop(path, None)
                paths[path] = None
    yield from (f"- {path}" for path in list(paths)[-_MAX_FILES:])


def _path(arguments: str) -> str | None:
    try:
        given: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    values: list[object] = [given.get(key) for key in _PATH_KEYS]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return next((value for value in values if isinstance(value, str) and value), None)


def _failures(messages: Sequence[Message]) -> Iterator[str]:
    failed = [
        f"- {result.name}: {shorten(' '.join(clean(result.content).split()), limit=300)}"
        for message in messages
        for result in message.tool_results
        if result.is_error
    ]
    yield from dict.fromkeys(reversed(failed[-_MAX_FAILURES:]))


def _last_answer(messages: Sequence[Message]) -> Iterator[str]:
    for message in reversed(messages):
        if message.role is Role.ASSISTANT and message.text.strip():
            yield shorten(clean(message.text).strip(), limit=2_000)
            return


def _statements(messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
    """The sentences that say most, as many as fit, in their order."""
    chosen: list[_Statement] = []
    used = 0
    for one in sorted(_sentences(messages), key=lambda s: (-s.score, -s.order)):
        used += estimate_tokens(one.text) + 2
        if used > max_tokens:
            break
        chosen.append(one)
    yield from (f"- {one.text}" for one in sorted(chosen, key=lambda s: s.order))


def _sentences(messages: Sequence[Message]) -> Iterator[_Statement]:
    seen: set[str] = set()
    order = 0
    for message in messages:
        if message.role not in (Role.USER, Role.ASSISTANT) or message.kind is not MessageKind.PLAIN:
            continue
        for sentence in _SENTENCE.split(clean(message.text)):
            text = " ".join(sentence.split())
            key = comparison_key(text)
            if len(text) < 12 or key in seen:
                continue
            seen.add(key)
            order += 1
            short = shorten(text, limit=_MAX_SENTENCE)
            yield _Statement(order, short, _score(short, message.role))


def _score(text: str, role: Role) -> float:
    """How much a sentence says: exact values, words of decision, and the person's own words."""
    exact = min(4, len(_EXACT.findall(text)))
    decided = min(2, len(_DECIDED.findall(text)))
    return (exact + 1.5 * decided + (1.0 if role is Role.USER else 0.0)) / (1 + len(text) / 400)
