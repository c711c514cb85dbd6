"""Signals of a request as a whole: its length, the files it names, the kinds of files it asks for.

A long text is a bug report, and a report is about code; a request that speaks of the pipeline is
about its files. Knows nothing of indexes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import exp, inf, log1p
from posixpath import basename
from typing import Final

from wellkept.core.ports.code_search import CommitCount
from wellkept.core.records import record
from wellkept.graph.history.commits import is_test
from wellkept.graph.index.file_kind import FileKind, asked_kinds, file_kind
from wellkept.graph.search.tokens import words

FEW_WORDS: Final = 4
"""Requests of about this length say little, so recent activity counts more."""
SHORT_REPORT, LONG_REPORT = 20, 80
"""From the first length on a request counts as a bug report, fully from the second: it is about
code, unless it speaks of other kinds of files."""
SENTENCE, FULL_SENTENCE = 6, 20
"""Likewise for files beside the code, such as change logs: nobody means them without saying so."""
_SHORT: Final = 300
HALF: Final = 0.5
"""A short question, a symptom or a sentence is about code as well, but less surely."""
_DOCUMENTS = (".md", ".rst", ".txt")
_FILE_NAME = re.compile(r"[\w./-]*\w")
_DOTTED = re.compile(r"[a-z_]\w*(?:(?:\.|::)[a-z_]\w*)+")
_AS_MODULE: Final = 0.5
_QUESTION = re.compile(r"(?:where|how|what|which|why|who|when|does|is|are|can)\b|.*\?\s*$", re.I)
_SYMPTOM = re.compile(
    r"\b(?:panics?|exception|traceback|crash(?:es|ed)?|fail(?:s|ed)|raises|hangs|leaks?|segfault|ignored"
    r"|wrong(?:ly)?|(?:does|do|is|are)(?:n't| not))\b|\w(?:Error|Exception)\b",
)
_CODE_ASKED_FOR = re.compile(r"\s*(?:which|what)\s+(?:function|method|class)(?:e?s)?\b", re.I)
_QUESTION_WORD = re.compile(
    r"\s*(?:(?:which|what)\s+(?:function|method|class|file|module)(?:e?s)?"
    r"|(?:where|how|what|why|who|when)(?:'s)?)\b\s*",
    re.IGNORECASE,
)
_SURELY_MEANT: Final = {FileKind.CI: 6.0, FileKind.CHANGE_LOG: 4.0, FileKind.CONFIGURATION: 2.0}
"""How much more it counts that a request speaks of a kind which is seldom spoken of otherwise."""
_BESIDE_CODE = frozenset(FileKind) - {FileKind.CODE, FileKind.TEST, FileKind.DOCUMENT}
_BY_DEPTH: Final = 0.1
_IN_REPORT: Final = 0.75
"""A report about code speaks of other kinds as well, even in its title."""
_NOT_HEADLINE = re.compile(r"[#>|`~<]|\*\*|[-*] \[")


@record
class RequestLength:
    """What the length of a request tells, each from 0 to 1: that it says little (`few`), that it is
    a report (`many`), that it is about code, and that it is not about files beside the code."""

    few: float
    many: float
    about_code: float
    not_beside: float

    @classmethod
    def of(cls, request: str) -> RequestLength:
        """Measure a request."""
        count = len(set(words(request)))
        many = _ramp(count, SHORT_REPORT, LONG_REPORT)
        sentence = _ramp(count, SENTENCE, FULL_SENTENCE)
        says_so = _QUESTION.match(request) or _SYMPTOM.search(request)
        asked = HALF * bool(says_so) + HALF * bool(_CODE_ASKED_FOR.match(request))
        about_code = max(many, asked, HALF * sentence)
        return cls(
            few=exp(-count / FEW_WORDS),
            many=many,
            about_code=about_code,
            not_beside=max(about_code, sentence),
        )


def _ramp(count: int, start: int, end: int) -> float:
    return min(1.0, max(0.0, (count - start) / (end - start)))


class RequestSignals:
    """The rest of `SIGNALS`: those that depend on the request as a whole, or only on the file."""

    def __init__(self, request: str, paths: Iterable[str], *, now: int) -> None:
        self._named = file_names(request)
        self._modules = module_names(request)
        self._same_name = Counter(basename(path).lower() for path in paths)
        self._now = now
        self._length = length = RequestLength.of(request)
        self._asked = asked_kinds(headline(request) if length.many else request)

    def signals(self, path: str, count: CommitCount | None, *, similarity: float) -> list[float]:
        """The signals of one candidate, given its code similarity."""
        age = self._now - count.last_order if count else inf
        lately, just_now = exp(-age / 20), exp(-age / 3)
        test, document = float(is_test(path)), float(path.lower().endswith(_DOCUMENTS))
        kind = file_kind(path)
        unasked = kind not in self._asked
        return [
            log1p(count.times if count else 0),
            lately,
            just_now,
            self._named_in_request(path.lower()),
            test,
            document,
            lately * self._length.few,
            just_now * self._length.few,
            self._length.about_code * (unasked and kind is FileKind.TEST),
            self._length.about_code * (unasked and kind is FileKind.DOCUMENT),
            self._length.not_beside * (unasked and kind in _BESIDE_CODE),
            self._asked_for(path, kind),
            lately * self._length.many,
            just_now * self._length.many,
            similarity * self._length.many,
        ]

    def _asked_for(self, path: str, kind: FileKind) -> float:
        """How surely a file is of a kind that is asked for; of several, the outermost is meant."""
        if kind not in self._asked:
            return 0.0
        depth = path.count("/") if kind in _SURELY_MEANT else 0
        sure = _SURELY_MEANT.get(kind, 1.0) / (1 + _BY_DEPTH * depth)
        return sure * (1 - _IN_REPORT * self._length.many)

    def _named_in_request(self, path: str) -> float:
        """1 if the request names the file; less if several candidates share the name, or if it is
        named as a module."""
        name = basename(path)
        if name not in self._named:
            return _AS_MODULE * _is_named_as_module(path, self._modules)
        with_folder = "/".join(path.split("/")[-2:])
        return 1.0 if with_folder in self._named else 1 / self._same_name[name]


def is_short_question(request: str) -> bool:
    """Whether a request is a question of a sentence, not a report."""
    return len(request) < _SHORT and bool(_QUESTION.match(request.strip()))


def without_question_word(request: str) -> str:
    """A request without the words that make it a question: no file is about "where", and "which
    function" does not ask for `FunctionAuth`."""
    return request[found.end() :] if (found := _QUESTION_WORD.match(request)) else request


def files_asked_for(request: str, paths: Iterable[str]) -> list[str]:
    """The files of the kinds that a request surely means, such as those of the pipeline: they need
    not share a word with it. The outermost come first."""
    kinds = asked_kinds(request) & _SURELY_MEANT.keys() if len(request) < _SHORT else None
    found = [path for path in paths if file_kind(path) in kinds] if kinds else []
    return sorted(found, key=lambda path: (path.count("/"), path))


def file_names(request: str) -> frozenset[str]:
    """Possible file names in a request, each with and without its folder."""
    found = (path.split("/") for path in _FILE_NAME.findall(request.lower().replace("\\", "/")))
    return frozenset("/".join(parts[-count:]) for parts in found for count in (1, 2))


def module_names(request: str) -> frozenset[str]:
    """Dotted names in a request, with each of their beginnings that has two parts or more, as
    paths: `a.b.c` gives a/b/c and a/b."""
    found: set[str] = set()
    for name in _DOTTED.findall(request.lower()):
        parts = re.split(r"\.|::", name)
        found |= {"/".join(parts[:count]) for count in range(2, len(parts) + 1)}
    return frozenset(found)


def _is_named_as_module(path: str, modules: frozenset[str]) -> bool:
    """Whether a dotted name ends in the last two parts of a path, or is the end of the path."""
    stem_path = path.rpartition(".")[0].removesuffix("/__init__").removesuffix("/index")
    parts = stem_path.split("/")
    return any("/".join(parts[-count:]) in modules for count in range(2, min(len(parts), 6) + 1))


def headline(request: str) -> str:
    """The first meaningful line of a request; headings of issue templates are skipped."""
    lines = (line.strip() for line in request.splitlines())
    return next((ln for ln in lines if words(ln) and not _NOT_HEADLINE.match(ln)), request)
