"""Rules that people state in plain speech, without a memory word.

"No, links go to the docs host, not the API host", "we don't use X here", "every migration needs a
down step". Precision before recall: doubt, permission, reported speech, a wish about this one task
and the looks of a product never count. The patterns are data (`text/data/statements.toml`). Knows
nothing of storage.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from wellkept.core.records import record
from wellkept.core.types import MemoryType
from wellkept.text.rule_data import read_rules

MAX_SENTENCE_CHARS = 320
_MIN_WORDS = 3
_MACRO = re.compile(r"\{([a-z_]+)\}")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
# Words that one of the European languages has and the others do not, or hardly.
_LANGUAGES = {
    "de": re.compile(
        r"\b(?:der|die|das|wir|nicht|kein\w*|und|von|mit|nein|ist|sind|darf|dürfen|muss|müssen|nie"
        r"|niemals|immer|soll|sollen|werden)\b",
        re.I,
    ),
    "fr": re.compile(
        r"\b(?:les?|la|l'|on|nous|pas|non|est|sont|dans|une?|ne|n'|doi(?:t|vent)|jamais|toujours)\b",
        re.I,
    ),
    "es": re.compile(
        r"\b(?:el|los|las|la|no|aquí|usamos|en|nunca|son|está|están|deben?|siempre|todos|todas)\b",
        re.I,
    ),
}


@record
class Statement:
    """A rule found in a sentence: where its words are, its type, and whether it goes on."""

    start: int
    end: int
    type: MemoryType
    joined: bool = False


@record
class SentenceContext:
    """What stands around a sentence: whether it contradicts, and whether it follows a request."""

    contradicts: bool = False
    after_request: bool = False


@record
class _Form:
    lang: str
    type: MemoryType
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    after_no: bool
    precise: bool
    alone: bool
    joined: bool


def read_statement(sentence: str, context: SentenceContext) -> Statement | None:
    """The rule that a masked sentence states; None when it states none."""
    text = sentence.replace("’", "'").rstrip(" .!。！")
    if len(text) > MAX_SENTENCE_CHARS or not _has_words(text):
        return None
    if any(guard.search(text) for guard in _guards()):
        return None
    spoken = _spoken(text)
    for form in _forms():
        if form.lang not in spoken or (form.after_no and not context.contradicts):
            continue
        if form.alone and context.after_request and not context.contradicts:
            continue
        if found := _match(form, text):
            start, end = found.span("content")
            kind = MemoryType.CORRECTION if context.contradicts else form.type
            return Statement(start, end, kind, form.joined)
    return None


def goes_on(sentence: str) -> bool:
    """Whether a sentence only completes the one before it: "Use brew.", "you can reach it on …"."""
    return _compiled("{goes_on}").match(sentence) is not None


def _match(form: _Form, text: str) -> re.Match[str] | None:
    found = form.pattern.match(text)
    if found is None or (form.unless and form.unless.search(text)):
        return None
    if form.precise and not (_is_exact(text, form.lang) or _contrast().search(text)):
        return None
    verbs = [word for name, word in found.groupdict().items() if name.startswith("verb") and word]
    return found if all(verb.lower() in _verbs() for verb in verbs) else None


def _is_exact(text: str, lang: str) -> bool:
    """Whether it has something exact: a path, a number, a name in code, in English also a name."""
    return bool(_exact().search(text) or (lang == "en" and _name().search(text)))


def _has_words(text: str) -> bool:
    return bool(_CJK.search(text)) or len(text.split()) >= _MIN_WORDS


def _spoken(text: str) -> frozenset[str]:
    """The languages that a sentence may be in."""
    if _CYRILLIC.search(text):
        return frozenset({"ru"})
    if _CJK.search(text):
        return frozenset({"zh", "ja"})
    return frozenset({"en", *(lang for lang, words in _LANGUAGES.items() if words.search(text))})


@cache
def _raw() -> dict[str, Any]:
    return read_rules("statements")


@cache
def _verbs() -> frozenset[str]:
    return frozenset(read_rules("commands")["words"]["verbs"])


@cache
def _forms() -> tuple[_Form, ...]:
    return tuple(
        _Form(
            entry["lang"],
            MemoryType(entry["type"]),
            _compiled(entry["pattern"]),
            _compiled(entry["unless"]) if "unless" in entry else None,
            entry.get("after_no", False),
            entry.get("precise", False),
            entry.get("alone", False),
            entry.get("joined", False),
        )
        for entry in _raw()["statement"]
    )


@cache
def _guards() -> tuple[re.Pattern[str], ...]:
    return tuple(_compiled(entry["pattern"]) for entry in _raw()["guard"])


@cache
def _exact() -> re.Pattern[str]:
    return re.compile(_raw()["words"]["exact"])


@cache
def _name() -> re.Pattern[str]:
    return re.compile(_raw()["words"]["name"])


@cache
def _contrast() -> re.Pattern[str]:
    return _compiled("{contrast}")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern with the words that it names."""
    words = _raw()["words"]
    while (name := _MACRO.search(pattern)) is not None:
        pattern = pattern.replace(name.group(), words[name[1]])
    return re.compile(pattern, re.IGNORECASE)
