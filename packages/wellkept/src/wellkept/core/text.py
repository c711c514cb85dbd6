"""Text as data: cleaning, words for search, token estimates, shortening.

Invariant: `clean` makes any Python string storable (valid UTF-8, no NUL) and is idempotent.
Knows nothing of indexes or ranking.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?", re.UNICODE)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:::|[./:\-])[A-Za-z0-9_]+)*")
_CODE_MARKS = frozenset("_./:0123456789")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_QUOTED = re.compile(r'"([^"]{2,80})"')
_CJK_FIRST = "\u3040"
_CJK = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+"

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before
    being below between both but by can could did do does doing don down during each few for from
    further get got had has have having he her here hers herself him himself his how i if in into
    is it its itself just like me might more most must my myself no nor not now of off on once
    only or other our ours ourselves out over own same shall she should so some such than that the
    their theirs them themselves then there these they this those through to too under until up us
    very was we were what when where which while who whom whose why will with would you your yours
    yourself yourselves s t ve ll re d m
    le la les un une des du de et ou en au aux ce cette ces est sont dans pour par sur avec que qui
    quoi où ne pas je tu il elle nous vous ils elles mon ma mes ses notre votre
    der das und oder ein eine einer eines dem den ist sind im in mit für auf von zu nicht
    el los las una unos unas del al es con por sus""".split()
)


def _may_hold_cjk(text: str) -> bool:
    return not text.isascii() and max(text) >= _CJK_FIRST


@lru_cache(maxsize=1)
def _cjk_run() -> re.Pattern[str]:
    """Made on first use: compiling these ranges takes longer than all else in this module."""
    return re.compile(_CJK)


_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_SHORTEST_STEM = 3


def clean(text: str) -> str:
    """The text with NUL and lone surrogates replaced by U+FFFD, so that it can be stored."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def strip_invisible(text: str) -> str:
    """The text without characters that nobody sees: controls other than tab and line ends, marks
    that turn the direction of writing, and letters that are there for machines alone."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub("", text)


def fold(text: str) -> str:
    """Compatibility-normalised, case-folded text for comparing."""
    return unicodedata.normalize("NFKC", text).casefold()


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as "1 turn" or "1,200 memories"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def comparison_key(text: str) -> str:
    """What a statement says, letter for letter: equal texts differ only in case, white space and
    the marks at their ends."""
    return "".join(fold(text).split()).strip(".!。！")


def words(text: str) -> list[str]:
    """Folded words in order; a run of Chinese, Japanese or Korean becomes its character pairs."""
    if text.isascii():  # most text is, and then nothing of the rest can apply
        return [word.removesuffix("'s") for word in _WORD.findall(text.lower())]
    found: list[str] = []
    for match in _WORD.finditer(fold(text)):
        word = match.group()
        if _may_hold_cjk(word) and _cjk_run().search(word):
            found.extend(_split_mixed(word))
        else:
            found.append(word.replace("’", "'").removesuffix("'s"))
    return found


def _split_mixed(word: str) -> Iterable[str]:
    position = 0
    for run in _cjk_run().finditer(word):
        if run.start() > position:
            yield word[position : run.start()]
        yield from cjk_pairs(run.group())
        position = run.end()
    if position < len(word):
        yield word[position:]


def cjk_pairs(run: str) -> list[str]:
    """Overlapping pairs of a run of characters; a single character stands for itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def cjk_runs(text: str) -> list[str]:
    """The stretches of Chinese, Japanese or Korean in a text."""
    return _cjk_run().findall(text) if _may_hold_cjk(text) else []


def content_words(text: str) -> list[str]:
    """Words in order, without stop words; all words when nothing else would be left."""
    every = words(text)
    return [w for w in every if w not in STOP_WORDS] or every


def query_terms(text: str) -> list[str]:
    """What to look up for a query: its quoted phrases, then its distinct content words.

    An identifier is looked up in its parts as well ("getUserName" also as get, user, name);
    "and/or" looks like one, but is none.
    """
    phrases = [fold(p).strip() for p in _QUOTED.findall(text)]
    names = [split_identifier(name) for name in identifiers(text)]
    parts = [part for name in names if not STOP_WORDS.issuperset(name) for part in name]
    return list(dict.fromkeys(p for p in (*phrases, *content_words(text), *parts) if p))


def identifiers(text: str) -> list[str]:
    """Names that look like code: dotted, snake, camel or path-like, in order, once each."""
    return [name for name in dict.fromkeys(_IDENTIFIER.findall(text)) if _looks_like_code(name)]


def _looks_like_code(name: str) -> bool:
    inner = name[1:]
    mixed_case = inner != inner.lower() and name != name.upper()
    return mixed_case or not _CODE_MARKS.isdisjoint(inner)


def split_identifier(name: str) -> list[str]:
    """The folded word parts of an identifier: parseHTTPHeader_v2 -> parse, http, header, v, 2."""
    return [part.casefold() for part in _CAMEL.findall(name) if len(part) > 1]


def keywords(text: str, *, limit: int = 12) -> tuple[str, ...]:
    """The most telling distinct content words, longest-repeated first, in a stable order."""
    counts: dict[str, int] = {}
    for word in content_words(text):
        if len(word) > 1 and not word.isdigit():
            counts[word] = counts.get(word, 0) + 1
    ranked = sorted(counts, key=lambda w: (-counts[w], -len(w), w))
    return tuple(ranked[:limit])


def jaccard(left: Iterable[str], right: Iterable[str]) -> float:
    """Shared over all distinct items; 0 when both sides are empty."""
    a, b = frozenset(left), frozenset(right)  # of a frozenset this makes no copy
    return len(a & b) / len(a | b) if a or b else 0.0


@lru_cache(maxsize=4096)
def estimate_tokens(text: str) -> int:
    """About how many model tokens a text takes: a quarter of its characters, CJK one each."""
    cjk = sum(map(len, cjk_runs(text)))
    return cjk + (len(text) - cjk + 3) // 4


def first_line(text: str, *, limit: int = 100) -> str:
    """The first non-empty line, shortened at a word boundary."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return shorten(line.lstrip("#*->• ").strip() or line, limit=limit)


def shorten(text: str, *, limit: int) -> str:
    """At most `limit` characters; a cut is marked with an ellipsis and falls between words."""
    if len(text) <= limit:
        return text
    cut = text[: max(0, limit - 1)]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip() + "…"


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A crude stem: enough to see that "retries" and "retry", "runs" and "running" are one word."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            base = word[: -len(ending)] + instead
            doubled = ending in ("ing", "ed") and base[-1] == base[-2] and base[-1] not in "lsz"
            return base[:-1] if doubled else base.removesuffix("e")
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word
