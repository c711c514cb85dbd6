"""Finds the functions and classes of the likeliest files that a request is about.

The files of a search are parsed when they are asked, so that line numbers are those on disk. A
symbol is compared by its name, its signature with its description, and its body; words that many
symbols have count less. Its score joins that with the rank of its file.
Does not know the file system: the caller passes the texts of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import Final

from wellkept.core.graph import SYMBOL_MARK, NodeKind
from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.graph.index.file_kind import FileKind, file_kind
from wellkept.graph.languages import language_of
from wellkept.graph.parse.extract import extract
from wellkept.graph.parse.file_facts import Symbol
from wellkept.graph.parse.grammars import grammar
from wellkept.graph.search.term_index import words

Similarities = Callable[[str, Sequence[str]], Sequence[float]]
"""Gives the similarity of a text to each of some texts."""

MAX_SOURCE_CHARS: Final = 400_000
"""Longer files are not parsed for a search."""
MAX_BODY_LINES: Final = 120
MAX_QUERY_WORDS: Final = 60
_DOC_LINES: Final = 12
_SUMMARY_CHARS: Final = 100
_NAME, _SIGNATURE, _BODY = 3.0, 2.0, 1.0
_SATURATION: Final = 1.2
_LENGTH: Final = 0.6
_TITLE: Final = 2.0
"""Words of the first line count this much more."""
_FILE_DECAY: Final = 0.15
"""How much less each further file counts."""
_SIMILAR: Final = 0.5
"""What full similarity adds, as a share of the best score by words."""
_QUOTES: Final = ('"""', "'''")
_COMMENT: Final = ("#", "//", "/*", "*", "--", ";")


@record
class FoundSymbol:
    """A function or class that a request may be about, with its place."""

    path: str
    name: str
    kind: NodeKind
    line: int
    end_line: int
    signature: str
    summary: str
    """The first line of its description; empty if it has none."""
    score: float

    @property
    def id(self) -> str:
        """Its id in the code graph."""
        return f"{self.path}{SYMBOL_MARK}{self.name}"


@record
class SymbolText:
    """A symbol with its weighted word counts, and the rank of its file."""

    path: str
    rank: int
    symbol: Symbol
    summary: str
    counts: dict[str, float]
    length: float


def read_symbols(bodies: Mapping[str, str], *, with_tests: bool = False) -> list[SymbolText]:
    """The symbols of files, which are given best first with their texts."""
    return [
        text
        for rank, (path, body) in enumerate(bodies.items())
        if with_tests or file_kind(path) is not FileKind.TEST
        for text in _texts(path, rank, body)
    ]


def find_symbols(
    request: str,
    *,
    title: str,
    texts: Sequence[SymbolText],
    limit: int,
    similarities: Similarities | None = None,
) -> list[FoundSymbol]:
    """The symbols that a request is about, best first; with `similarities`, the title is also
    compared with the signature and description of those that share its words."""
    counts = Counter(words(request))
    first = set(words(title))
    ranked = sorted(counts, key=lambda word: (word not in first, -counts[word]))
    asked = {word: _TITLE if word in first else 1.0 for word in ranked[:MAX_QUERY_WORDS]}
    if not asked or not texts:
        return []
    holding = Counter(word for text in texts for word in text.counts)
    rarity = {word: log(1 + (len(texts) + 1) / (holding[word] + 0.5)) for word in asked}
    usual = sum(text.length for text in texts) / len(texts)
    scored = [(_score(text, asked, rarity, usual), place) for place, text in enumerate(texts)]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
    found = [_found(texts[place], score) for score, place in best[:limit]]
    return _by_meaning(title, found, similarities) if similarities and found else found


def _by_meaning(
    title: str, found: Sequence[FoundSymbol], similarities: Similarities
) -> list[FoundSymbol]:
    said = [f"{s.name.replace('.', ' ')} {s.signature} {s.summary}" for s in found]
    most = _SIMILAR * found[0].score
    scored = [
        replace(symbol, score=round(symbol.score + most * max(0.0, cosine), 3))
        for symbol, cosine in zip(found, similarities(title, said), strict=True)
    ]
    return sorted(scored, key=lambda symbol: -symbol.score)


def best_by_file(symbols: Sequence[FoundSymbol], paths: Sequence[str]) -> dict[str, float]:
    """How well the best symbol of each file matches, from 0 to 1, whatever the rank of the file."""
    ranks = {path: rank for rank, path in enumerate(paths)}
    best: dict[str, float] = {}
    for symbol in symbols:
        plain = symbol.score * (1 + _FILE_DECAY * ranks[symbol.path])
        best[symbol.path] = max(best.get(symbol.path, 0.0), plain)
    most = max(best.values(), default=0.0) or 1.0
    return {path: value / most for path, value in best.items()}


def _score(
    text: SymbolText, asked: dict[str, float], rarity: dict[str, float], usual: float
) -> float:
    norm = 1 - _LENGTH + _LENGTH * text.length / usual
    found = sum(
        weight * rarity[word] * count / (count + _SATURATION * norm)
        for word, weight in asked.items()
        if (count := text.counts.get(word, 0.0))
    )
    return found / (1 + _FILE_DECAY * text.rank)


# -- Reading --------------------------------------------------------------------------------------


def _texts(path: str, rank: int, source: str) -> Iterable[SymbolText]:
    language = language_of(path)
    if language is None or not source or len(source) > MAX_SOURCE_CHARS:
        return
    data = source.encode("utf-8", "replace")
    if language.dialect is not None:
        language = language.dialect(data) or language
    try:
        grammar(language)
    except (ImportError, AttributeError):  # package missing, or without this function
        return
    lines = source.split("\n")
    symbols = extract(data, language).symbols
    for symbol in symbols:
        if symbol.kind in (NodeKind.FUNCTION, NodeKind.CLASS, NodeKind.INTERFACE):
            yield _text(path, rank, symbol, lines)


def _text(path: str, rank: int, symbol: Symbol, lines: Sequence[str]) -> SymbolText:
    is_class = symbol.kind is not NodeKind.FUNCTION
    body = lines[symbol.line - 1 : min(symbol.end_line, symbol.line - 1 + MAX_BODY_LINES)]
    description = _description(symbol, lines)
    parts = [
        (_NAME, words(symbol.qualname.replace(".", " "))),
        (_SIGNATURE, words(f"{symbol.signature} {' '.join(description)}")),
        # The methods of a class speak for themselves.
        (_BODY, words("\n".join(body[:_DOC_LINES] if is_class else body))),
    ]
    counts: dict[str, float] = {}
    for weight, found in parts:
        for word in found:
            counts[word] = counts.get(word, 0.0) + weight
    summary = shorten(description[0], limit=_SUMMARY_CHARS) if description else ""
    return SymbolText(path, rank, symbol, summary, counts, sum(counts.values()))


def _description(symbol: Symbol, lines: Sequence[str]) -> list[str]:
    """The docstring of a symbol, or the comment above it, line by line."""
    inside = _docstring(lines[symbol.line - 1 : symbol.end_line])
    if inside:
        return inside
    above: list[str] = []
    for line in reversed(lines[max(0, symbol.line - 1 - _DOC_LINES) : symbol.line - 1]):
        stripped = line.strip()
        if not stripped.startswith(_COMMENT):
            break
        above.append(stripped.strip("#/*-; \t!"))
    return [line for line in reversed(above) if line]


def _docstring(body: Sequence[str]) -> list[str]:
    """What stands in triple quotes in the first lines of a body."""
    text = "\n".join(body[: 2 * _DOC_LINES])
    places = [(at, quotes) for quotes in _QUOTES if (at := text.find(quotes)) >= 0]
    if not places:
        return []
    start, quotes = min(places)
    if text[:start].count("\n") > _DOC_LINES:
        return []
    inner = text[start + 3 :].partition(quotes)[0]
    return [line.strip() for line in inner.split("\n") if line.strip()][:_DOC_LINES]


def _found(text: SymbolText, score: float) -> FoundSymbol:
    symbol = text.symbol
    return FoundSymbol(
        path=text.path,
        name=symbol.qualname,
        kind=symbol.kind,
        line=symbol.line,
        end_line=symbol.end_line,
        signature=symbol.signature,
        summary=text.summary,
        score=round(score, 3),
    )
