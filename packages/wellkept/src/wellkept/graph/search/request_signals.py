"""Signals of a request as a whole: its length, the files it names, the kinds of files it asks for.

A long text is a bug report, and a report is about code; a request that speaks of the pipeline is
about its files. Knows nothing of indexes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from functools import cache
from math import exp, inf, log1p
from posixpath import basename
from typing import Final

from wellkept.core.ports.code_search import CommitCount
from wellkept.core.records import record
from wellkept.graph.history.commits import is_test
from wellkept.graph.index.file_kind import FileKind, asked_kinds, file_kind
from wellkept.graph.search.term_index import words

_SHORT_FORMS = """
    administrator admin, allocate alloc, application app, argument arg, arguments args,
    asynchronous async, attribute attr, authentication auth, authenticate auth, authorization authz,
    buffer buf, calculate calc, callback cb, certificate cert, character char, command cmd,
    configuration config, configuration conf, configure config, configured config, connection conn,
    context ctx, database db, declaration decl, delete del, dependency dep, dependencies deps,
    description desc, destination dst, development dev, dictionary dict, directory dir,
    document doc, documentation docs, environment env, error err, exception exc, execute exec,
    expression expr, extension ext, function func, function fn, generate gen, implementation impl,
    information info, initialize init, initialise init, integer int, iterate iter, iterator iter,
    language lang, library lib, maximum max, message msg, minimum min, number num, object obj,
    operation op, package pkg, parameter param, parameters params, password passwd, pointer ptr,
    previous prev, process proc, production prod, reference ref, repository repo,
    request req, response resp, response res, separator sep, sequence seq, source src,
    specification spec, standard std, statement stmt, statistics stats, string str,
    synchronous sync, synchronize sync, system sys, template tmpl, temporary tmp, temporary temp,
    utility util, utilities utils, value val, variable var, version ver, vector vec
"""


def with_short_forms(terms: Iterable[str]) -> list[str]:
    """Terms, followed by the usual short or long forms of some of them."""
    given = list(terms)
    known = _forms()
    more = (form for term in given for form in known.get(term, ()))
    return list(dict.fromkeys([*given, *more]))


@cache
def _forms() -> dict[str, list[str]]:
    """Other forms by term, both ways."""
    found: dict[str, list[str]] = {}
    for pair in _SHORT_FORMS.split(","):
        long, short = (words(form)[0] for form in pair.split())
        found.setdefault(long, []).append(short)
        found.setdefault(short, []).append(long)
    return found


# -- Quoted code ----------------------------------------------------------------------------------


MAX_PHRASES: Final = 80
MAX_BODY_CHARS: Final = 200_000
_PHRASE_WORDS: Final = 3
_ENOUGH: Final = 3.0
"""So many phrases or identifiers of its own are full evidence for a file."""
_LAST_FRAME, _IN_FRAMES, _PHRASES, _DEFINES, _DEFINES_TITLE = 1.1, 0.3, 0.9, 0.65, 0.3
_PACKAGE_FILE: Final = -0.45
"""Files that only gather the names of a package are named often and changed seldom."""
_PACKAGE_FILES: Final = frozenset(
    {"__init__.py", "index.js", "index.ts", "index.tsx", "mod.rs", "lib.rs"}
)
_FRAME = re.compile(
    r'File "([^"\n]+)", line \d+|^[ \t]*(?:at .*\()?([\w./\\-]+\.\w{1,4}):\d+', re.M
)
_MESSAGE = re.compile(r"error|warning|exception|fail|invalid|cannot|must|not ", re.I)
_WORD = re.compile(r"[a-z]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
_CODE_NAME = re.compile(r"\w_+\w|[a-z][A-Z]")


class QuotedCode:
    """What one request quotes; a short question quotes no phrases."""

    def __init__(self, request: str, *, title: str, with_phrases: bool = True) -> None:
        self._frames = [
            (quoted or plain).replace("\\", "/") for quoted, plain in _FRAME.findall(request)
        ]
        self._phrases = _phrases(request, title) if with_phrases else []
        self._names = _code_names(request)
        self._title_names = frozenset(
            name for name in _IDENTIFIER.findall(title) if len(name) > 3
        )  # fmt: skip

    def scores(
        self, bodies: Mapping[str, str], defined: Mapping[str, Set[str]]
    ) -> dict[str, float]:
        """What speaks for each file, given their texts and the names that they define."""
        phrases = {path: self._found_phrases(body) for path, body in bodies.items()}
        holding = Counter(phrase for found in phrases.values() for phrase in found)
        defining = Counter(name for names in defined.values() for name in names)
        last = self._last_frame(list(bodies))
        made: dict[str, float] = {}
        for path in bodies:
            own = defined.get(path, frozenset[str]())
            made[path] = (
                _LAST_FRAME * (path == last)
                + _IN_FRAMES * any(_is_frame(path, frame) for frame in self._frames)
                + _PHRASES * _share(phrases[path], holding, enough=_ENOUGH)
                + _DEFINES * _share(own & self._names, defining, enough=_ENOUGH)
                + _DEFINES_TITLE * _share(own & self._title_names, defining, enough=1.0)
                + _PACKAGE_FILE * (basename(path) in _PACKAGE_FILES)
            )
        return made

    def _found_phrases(self, body: str) -> frozenset[str]:
        if not self._phrases:
            return frozenset()
        text = f" {' '.join(_WORD.findall(body[:MAX_BODY_CHARS].lower()))} "
        return frozenset(phrase for phrase in self._phrases if phrase in text)

    def _last_frame(self, paths: list[str]) -> str | None:
        """The file of the last frame that is one of these."""
        found = (
            path for frame in reversed(self._frames) for path in paths if _is_frame(path, frame)
        )
        return next(found, None)


def _share(found: Set[str], holding: Mapping[str, int], *, enough: float) -> float:
    """From 0 to 1: each counts by how few files share it."""
    return min(sum(1 / holding[one] for one in found), enough) / enough


def _is_frame(path: str, frame: str) -> bool:
    """Whether a frame is in a file: the end of its path, with a folder, is the same."""
    return frame == path or frame.endswith(f"/{'/'.join(path.split('/')[-2:])}")


def _phrases(request: str, title: str) -> list[str]:
    """Three words in a row, of the title and of lines that look like messages."""
    lines = [title, *(line for line in request.splitlines() if _MESSAGE.search(line))]
    found: dict[str, None] = {}
    for line in lines:
        words = _WORD.findall(line.lower())
        for start in range(len(words) - _PHRASE_WORDS + 1):
            found[f" {' '.join(words[start : start + _PHRASE_WORDS])} "] = None
        if len(found) >= MAX_PHRASES:
            break
    return list(found)[:MAX_PHRASES]


def _code_names(request: str) -> frozenset[str]:
    """Words that are written as code: with underscores or capitals inside, called, in quotes of
    code, or after a dot."""
    found: set[str] = set()
    for match in _IDENTIFIER.finditer(request):
        before, after = (
            request[match.start() - 1 : match.start()],
            request[match.end() : match.end() + 1],
        )
        if after == "(" or before in (".", "`") or _CODE_NAME.search(match[0]):
            found.add(match[0])
    return frozenset(found)


# -- Signals --------------------------------------------------------------------------------------


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
    r"|wrong(?:ly)?|(?:does|do|is|are)(?:n't| not))\b|\w(?:Error|Exception)\b"
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
