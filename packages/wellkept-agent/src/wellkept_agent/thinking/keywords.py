"""Words in a prompt that ask for thinking, with their places for highlighting.

A word counts as itself only: `ultrathinking`, `ultrathink.py` and `src/ultrathink` do not. Spaces
in a phrase match any white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from wellkept_agent.thinking.levels import ThinkingLevel
from wellkept_agent.thinking.settings import ThinkingSettings


class KeywordSpan(NamedTuple):
    """Where a keyword stands: `text[start:end]`."""

    start: int
    end: int
    level: ThinkingLevel


def detect_keyword(text: str, settings: ThinkingSettings) -> tuple[ThinkingLevel, str] | None:
    """The level that a text asks for and the word that does; the highest level wins."""
    spans = keyword_spans(text, settings)
    for level in (ThinkingLevel.ULTRA, ThinkingLevel.DEEP):
        found = next((span for span in spans if span.level is level), None)
        if found is not None:
            return level, text[found.start : found.end]
    return None


def keyword_spans(text: str, settings: ThinkingSettings) -> list[KeywordSpan]:
    """All keywords of a text, in order; none overlaps another."""
    found = [
        *_found(text, settings.ultra_keywords, ThinkingLevel.ULTRA),
        *_found(text, settings.deep_keywords, ThinkingLevel.DEEP),
    ]
    spans: list[KeywordSpan] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return spans


def _found(text: str, words: tuple[str, ...], level: ThinkingLevel) -> Iterable[KeywordSpan]:
    pattern = _pattern(words)
    if pattern is None:
        return
    for match in pattern.finditer(text):
        yield KeywordSpan(match.start(), match.end(), level)


@lru_cache(maxsize=32)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """One pattern for all words, longest first."""
    plain = [r"\s+".join(map(re.escape, word.split())) for word in words if word.strip()]
    if not plain:
        return None
    choices = "|".join(sorted(plain, key=len, reverse=True))
    return re.compile(rf"(?<![\w/\\.-])(?:{choices})(?![\w/\\-]|\.\w)", re.IGNORECASE)
