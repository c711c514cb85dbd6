"""Reads "before the migration to X" and "before X" as a time: until X is first told of.

Only where a date can be read: without a memory that names X there is no window.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from wellkept.core.text import query_terms
from wellkept.memory.recall.features import READ_CHARS, begins_a_word
from wellkept.text.dates import BEGINNING, DateWindow

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store
    from wellkept.core.query import Filter

_CERTAINTY = 0.7
_LOOK_AT = 20
_HINTS = ("before", "prior to", "until", "vor ", "bis ", "avant", "jusqu", "antes", "hasta")
_NAME = r"[\w.+#-]*\w(?: (?-i:[A-Z0-9])[\w.+#-]*\w)*"
_CHANGE = re.compile(
    r"\b(?:(?:before|prior to|until) (?:the |we |our )?"
    r"(?:migrat|mov|switch|upgrad|chang)\w* (?:\w+ ){0,3}?to"
    r"|(?:vor|bis zu[rm]?) (?:de[rmn] )?(?:umstellung|migration|wechsel|umzug) (?:auf|zu|nach)"
    r"|(?:avant|jusqu['’]à) (?:la |le |l['’])?(?:migration|passage|changement) (?:vers|à|pour)"
    r"|(?:antes de|hasta) (?:la |el )?(?:migración|cambio|paso) a)"
    rf" (?P<name>{_NAME})",
    re.IGNORECASE,
)
# A bare name is a time only in a question about the past: "what served search before Solr?"
_BARE = re.compile(
    rf"\b(?:before|prior to|avant|vor|antes de) (?P<name>(?-i:(?=[A-Z])){_NAME})", re.IGNORECASE
)
_OF_THE_PAST = re.compile(
    r"\b(?:did|was|were|had|used to|war|waren|hatten?|était|étaient|era|eran)\b"
    r"|^(?:what|which|who|how|where) (?:\w+ )?\w+ed\b",
    re.IGNORECASE,
)


def window_before_change(store: Store, query: str, *, where: Filter) -> DateWindow | None:
    """The time before the first memory that names what a change led to; `span_text` is the part of
    the query that says so."""
    folded = query.casefold()
    if not any(hint in folded for hint in _HINTS):
        return None
    match = _CHANGE.search(query) or (_OF_THE_PAST.search(query) and _BARE.search(query))
    if not match:
        return None
    terms, name = query_terms(match["name"]), match["name"].casefold()
    hits = store.search_fulltext(terms, where, limit=_LOOK_AT) if terms else []
    texts = store.contents([hit.id for hit in hits])
    moments = [
        hit.candidate.valid_from_ms
        for hit in hits
        if begins_a_word(name, (text := texts.get(hit.id, "")[:READ_CHARS]).casefold(), text)
    ]
    if not moments:
        return None
    until = datetime.fromtimestamp(min(moments) / 1000, tz=UTC)
    return DateWindow(BEGINNING, until, match.group(), _CERTAINTY) if until > BEGINNING else None
