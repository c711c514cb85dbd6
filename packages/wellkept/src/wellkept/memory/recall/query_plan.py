"""Query analysis: search terms, text to embed, named authors, time window.

An author's name says who spoke, not what about. Once the authors are known, the name is removed
from the text to embed and becomes a feature of its own; so does a date. Invariant: a plan never
narrows what can be found; dates and names only change the order. Knows nothing of scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from wellkept.core.records import record, replace
from wellkept.core.text import STOP_WORDS, cjk_runs, fold, identifiers, query_terms, words
from wellkept.text.dates import DateWindow, parse_window

MAX_QUERY_CHARS = 8_000
MAX_TERMS = 64
MAX_FRAGMENTS = 8
_SHORTEST_FRAGMENT = 3

_WORD = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*")
_ASKS_WHEN = re.compile(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time|week)|how (?:long|soon|recently)"
    r"|how many (?:days|weeks|months|years)|since when|wann|quand|cuándo)\b",
    re.IGNORECASE,
)
# "Which places has she seen", "how many", "what kinds of": the answer may be in several sessions.
_ASKS_SEVERAL = re.compile(
    r"\b(?:how many|(?:what|which) (?:kinds?|types?|sorts?) of|in what ways|where (?:has|have)|both"
    r"|(?:what|which)(?: \w+){0,2}? (?!(?:is|was|does|has|as|this|his|its)\b)\w+[^s\W]s"
    r"|what (?:all )?(?:do|did|have|are))\b",
    re.IGNORECASE,
)
_OF_SELF = frozenset({"i", "me", "my", "mine", "myself", "we", "our"})
_YOU_SAID = (
    r"\byou (?:\w+ )?(?:told|said|gave|made|wrote|suggested|recommended|mentioned|provided|listed"
    r"|shared|explained|described|created|named|showed)\b"
)
_OF_WHAT_WAS_SAID = re.compile(_YOU_SAID, re.IGNORECASE)
_FRAME = re.compile(
    r"\bhow (?:many|much|long|often|old|far|soon|recently)\b"
    r"|\b(?:(?:can|could|would) you )?(?:please )?(?:remind|tell) me\b"
    r"|\bdo you (?:remember|recall)\b"
    r"|\bour (?:previous|earlier|last|past) (?:chats?|conversations?|discussions?|talks?)\b"
    rf"|{_YOU_SAID}",
    re.IGNORECASE,
)
_PERSON_ROLES = frozenset({"user", "human"})
ROLES = _PERSON_ROLES | {"assistant", "system", "agent", "model", "tool", "bot", "ai"}


@record
class QueryPlan:
    """What to look up, and what else the query says."""

    query: str
    terms: tuple[str, ...]
    fragments: tuple[str, ...]
    meaning: str
    speakers: frozenset[str] = frozenset()
    of_self: bool = False
    asks_when: bool = False
    asks_several: bool = False
    window: DateWindow | None = None

    @property
    def date_terms(self) -> frozenset[str]:
        """The words that name the time: they say when, not what."""
        return frozenset(query_terms(self.window.span_text)) if self.window else frozenset()

    @property
    def may_name(self) -> bool:
        """Whether a word is capitalised like a name."""
        return any(w[0].isupper() and _bare(w) not in STOP_WORDS for w in _WORD.findall(self.query))

    def with_authors(self, authors: Iterable[str]) -> QueryPlan:
        """The plan with the authors of possible hits known.

        `speakers` (folded) is set when the query singles one author out: by name or, where the
        person is an author, by "I" and "my". A role ("user") is not a name.
        """
        known = {fold(author) for author in authors}
        asked = {_bare(word) for word in _WORD.findall(self.query)}
        named = {a for a in known - ROLES if not asked.isdisjoint(a.split())}
        speakers = named or (known & _PERSON_ROLES if self.of_self else set[str]())
        names = {part for author in named for part in author.split()}
        return replace(
            self,
            speakers=frozenset(speakers) if len(speakers) == 1 else frozenset[str](),
            meaning=_meaning(self.query, self.window, without=names),
        )


def plan_query(query: str, *, now: datetime, read_dates: bool = True) -> QueryPlan:
    """Analyse a query, or the beginning of a very long one."""
    query = query[:MAX_QUERY_CHARS]
    of_self = not _OF_SELF.isdisjoint(words(query))
    window = parse_window(query, now=now) if read_dates else None
    return QueryPlan(
        query=query,
        terms=tuple(_terms(query))[:MAX_TERMS],
        fragments=_fragments(query),
        meaning=_meaning(query, window),
        of_self=of_self and _OF_WHAT_WAS_SAID.search(query) is None,
        asks_when=_ASKS_WHEN.search(query) is not None,
        asks_several=_ASKS_SEVERAL.search(query) is not None,
        window=window,
    )


def _terms(query: str) -> list[str]:
    """The words to look up, without question phrases such as "how many"."""
    found = query_terms(_FRAME.sub(" ", query))
    return found if not STOP_WORDS.issuperset(found) else query_terms(query)


def _fragments(query: str) -> tuple[str, ...]:
    """What may be part of a longer word: code names, and text without spaces."""
    found = [f for f in (*identifiers(query), *cjk_runs(query)) if len(f) >= _SHORTEST_FRAGMENT]
    return tuple(dict.fromkeys(found))[:MAX_FRAGMENTS]


def _meaning(query: str, window: DateWindow | None, *, without: Iterable[str] = ()) -> str:
    """The query without names, dates and function words, which pull its vector towards small
    talk."""
    said = query.replace(window.span_text, " ") if window else query
    dropped = STOP_WORDS.union(without)
    kept = [word for word in _WORD.findall(said) if _bare(word) not in dropped]
    return " ".join(kept) or query


def _bare(word: str) -> str:
    return fold(word).replace("’", "'").removesuffix("'s")
