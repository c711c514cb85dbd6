"""Topics of a piece of work, for search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

MAX_CONCEPTS = 8
_GENERIC_FOLDERS = frozenset({"src", "lib", "app", "tests", "test", ".", ".."})


def _for_lower_case(pattern: str) -> re.Pattern[str]:
    """The pattern, with `\\b` before a letter written as a look back from that letter.

    Case-insensitive patterns, and those that may start anywhere, are several times slower.
    """
    return re.compile(re.sub(r"(^|\|)\\b(\w)", r"\1\2(?<!\\w\2)", pattern))


_TOPICS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (topic, _for_lower_case(pattern))
    for topic, pattern in (
        ("testing", r"\btests?\b|test_|_test\b|\bspec\b|flaky"),
        ("authentication", r"auth|login|logout|password|session[_-]?cookie|jwt|oauth"),
        ("caching", r"cache|memoi[sz]e"),
        ("database", r"migrat|schema|\bsql|database|\bdb\b|query|queries|postgres|sqlite"),
        ("api", r"\bapi\b|endpoint|route|handler|request|response|graphql|webhook"),
        ("user interface", r"\bui\b|component|\.css|\.tsx|\.vue|button|layout|render"),
        ("infrastructure", r"docker|workflows/|\bci\b|deploy|terraform|kubernetes|helm"),
        ("performance", r"perf\b|slow|faster|speed|optimi[sz]|latency"),
        ("concurrency", r"async|await|thread|\block|race|deadlock|mutex|worker"),
        ("logging", r"\blog(?:s|ger|ging)?\b|telemetry|tracing"),
        ("security", r"secur|secret|redact|sanitiz|escape|csrf|xss|permission"),
        ("documentation", r"readme|\bdocs?\b|\.md\b|changelog"),
        ("configuration", r"config|settings|\.toml|\.ya?ml|\.env|\.ini"),
        ("dependencies", r"dependenc|install|package\.json|requirements|lockfile|upgrade"),
        ("error handling", r"error|exception|retry|fallback|timeout|\bfail"),
        ("parsing", r"pars(?:e|er|ing)|tokeni[sz]|lexer|decode"),
        ("dates and times", r"date|\btime|timezone|clock|calendar"),
        ("types", r"\btyp(?:e|es|ing)\b|ts\d{4}|mypy|pyright"),
    )
)


def concepts_of(text: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The topics of a text and of file paths, and the modules that the files belong to."""
    whole = f"{text} {' '.join(paths)}".lower()
    topics = [topic for topic, pattern in _TOPICS if pattern.search(whole)]
    modules = [part for path in paths for part in _module(path)]
    return tuple(dict.fromkeys((*topics, *modules)))[:MAX_CONCEPTS]


@lru_cache(maxsize=1024)
def _module(path: str) -> tuple[str, ...]:
    """The folder of a file, unless its name is generic."""
    parts = PurePosixPath(path).parent.parts[-1:]
    return () if set(parts) & _GENERIC_FOLDERS else parts
