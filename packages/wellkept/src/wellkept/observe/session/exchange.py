"""What a person and an agent settle in conversation: a fold over the turns of a session.

A person lays something down in firm words; the agent restates it, and the person lets it stand.
The restatement is kept whole, under the words of the whole exchange before it: a later prompt
speaks in symptoms and matches the opening of a talk, while the rule stands at its end. A new
subject begins a new exchange. Pure; knows nothing of storage.
"""

from __future__ import annotations

import re

from wellkept.core.records import record, replace
from wellkept.core.text import content_words, stem
from wellkept.text.own_words import own_sentences

MIN_COVERED = 2
MAX_TEXT_CHARS = 1_600
"""A longer message is a report of work."""
MAX_WORDS = 700
_NEW_SUBJECT_WORDS, _NEW_SUBJECT_SHARE = 14, 0.1
_FIRM = re.compile(
    r"\b(?:must|never|always|only|no|not|\w+n't|cannot|should|has to|have to|needs?|exactly|instead"
    r"|rather|unless|at (?:least|most)|rules?|requires?|required|forbid\w*|stays?|keep|treat|every"
    r"|any|all|decided?|muss|müssen|nie|immer|nur|kein\w*|nicht|doit|doivent|jamais|toujours"
    r"|seulement|debe|deben|nunca|siempre|solo)\b|必须|必須|不要|不能|只|都|なければ|必ず|ない",
    re.IGNORECASE,
)
_SHOWN = re.compile(r"^\s*(?:```|~~~|\|.*\|)", re.MULTILINE)
"""Code or a table: something is shown, nothing settled."""
_ASKS = re.compile(r"[?？][*_)\"”]*(?:\s|$)")
_AMENDS = re.compile(
    r"\bamend(?:s|ed|ing|ment)?\b|\bsupersed(?:e|es|ed|ing)\b"
    r"|\b(?:rule|policy|decision) (?:has |was )?changed\b"
    r"|\bchange of (?:plan|policy|rule)\b|\brevis(?:ed?|ing|ion) (?:of )?(?:the |our )?"
    r"(?:rule|policy|decision)\b",
    re.IGNORECASE,
)


@record
class Exchange:
    """The conversation since its subject last changed: its words, the person's firm ones (stems),
    and whether it says that it amends something."""

    number: int = 0
    words: str = ""
    firm: tuple[str, ...] = ()
    amends: bool = False


@record
class Settlement:
    """An agent's restatement of what a person laid down, and the words it is found by."""

    text: str
    subject: str
    number: int
    amends: bool


def is_firm(text: str) -> bool:
    """Whether a text lays something down."""
    return _FIRM.search(text) is not None


def heard(exchange: Exchange, prompt: str) -> Exchange:
    """The exchange after a person's words."""
    if _is_new_subject(exchange, prompt):
        exchange = Exchange(exchange.number + 1)
    laid_down = [
        one.masked
        for one in own_sentences(prompt)
        if not one.asks and not one.supposes and is_firm(one.masked)
    ]
    return replace(
        _spoken(exchange, prompt),
        firm=tuple(dict.fromkeys((*exchange.firm, *_stems(" ".join(laid_down)))))[-MAX_WORDS:],
        amends=exchange.amends or _AMENDS.search(" ".join(laid_down)) is not None,
    )


def answered(exchange: Exchange, message: str) -> tuple[Exchange, Settlement | None]:
    """The exchange after an agent's message, and what it settles."""
    after = _spoken(exchange, message)
    text = message.strip()
    is_open = _ASKS.search(text) is not None or len(text) > MAX_TEXT_CHARS
    covered = len(set(_stems(text)) & set(exchange.firm))
    if is_open or covered < MIN_COVERED or _SHOWN.search(text):
        return after, None
    amends = exchange.amends or _AMENDS.search(text) is not None
    return after, Settlement(text, after.words, exchange.number, amends)


def _spoken(exchange: Exchange, text: str) -> Exchange:
    words = [*exchange.words.split(), *content_words(text[: 8 * MAX_WORDS])]
    return replace(exchange, words=" ".join(words[:MAX_WORDS]))


def _stems(text: str) -> list[str]:
    return [stem(word) for word in content_words(text) if len(word) > 1]


def _is_new_subject(exchange: Exchange, prompt: str) -> bool:
    """Whether a prompt of some length shares next to nothing with what was said."""
    fresh, known = set(_stems(prompt)), set(map(stem, exchange.words.split()))
    if len(fresh) < _NEW_SUBJECT_WORDS or not known:
        return False
    return len(fresh & known) < _NEW_SUBJECT_SHARE * len(fresh)
