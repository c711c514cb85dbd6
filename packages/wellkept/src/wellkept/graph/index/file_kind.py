"""What a file of a repository is for, by its path: code, tests, documents, configuration, CI.

A question is mostly about code, but a question about the pipeline is about its files. `asked_kinds`
reads from a request which kinds it speaks of. Knows nothing of ranking.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from posixpath import basename, splitext

from wellkept.core.languages import BY_EXTENSION
from wellkept.graph.history.commits import is_test
from wellkept.graph.index.file_filter import path_skip_reason


class FileKind(StrEnum):
    """What a file is for."""

    CODE = "code"
    TEST = "test"
    DOCUMENT = "document"
    CHANGE_LOG = "change log"
    CONFIGURATION = "configuration"
    CI = "ci"
    EXAMPLE = "example"
    GENERATED = "generated"
    DATA = "data"


_CI = re.compile(
    r"(?:^|/)(?:\.github/(?:workflows|actions)/|\.circleci/|\.buildkite/|\.woodpecker/|ci/|\.ci/)"
    r"|(?:^|/)(?:\.gitlab-ci[\w.-]*\.ya?ml|\.travis\.ya?ml|\.?appveyor\.ya?ml|azure-pipelines[\w.-]*"
    r"|bitbucket-pipelines\.ya?ml|\.drone\.ya?ml|\.cirrus\.ya?ml|jenkinsfile[\w.-]*|codecov\.ya?ml"
    r"|\.coveragerc|tox\.ini|noxfile\.py)$",
    re.IGNORECASE,
)
_CHANGE_LOG = re.compile(
    r"(?:^|/)(?:change[s_-]?(?:log)?|history|news|releases?(?:[_-]?notes)?|whats?[-_]?new)"
    r"(?:[\w.-]*\.(?:md|rst|txt|adoc)|/.+|)$",
    re.IGNORECASE,
)
_DOCUMENT = re.compile(
    r"\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex|ipynb|pdf|po|pot)$", re.I
)
_DOCUMENT_FOLDER = re.compile(r"(?:^|/)docs?/", re.IGNORECASE)
_CONFIGURATION = re.compile(
    r"\.(?:toml|cfg|ini|ya?ml|json|jsonc|json5|properties|conf|lock|env|xml|gradle|cmake|in)$"
    r"|(?:^|/)(?:makefile|dockerfile[\w.-]*|gemfile|rakefile|procfile|cmakelists\.txt|setup\.py"
    r"|requirements[\w.-]*\.txt|constraints[\w.-]*\.txt|pom\.xml|go\.(?:mod|sum)|package-lock\.json"
    r"|\.[\w-]+(?:rc|ignore|attributes|config|\.js|\.cjs)?)$",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"(?:^|/)(?:examples?|demos?|samples?|gallery|tutorials?|bench(?:mark)?s?|asv_bench|playground)/",
    re.IGNORECASE,
)
_GENERATED = re.compile(
    r"(?:^|/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|cargo\.lock"
    r"|composer\.lock|gemfile\.lock|go\.sum)$|\.(?:min\.\w+|map|snap)$"
    r"|(?:^|/)(?:_{0,2}generated_{0,2}|gen|autogen)/",
    re.IGNORECASE,
)

_ASKED: dict[FileKind, re.Pattern[str]] = {
    FileKind.CI: re.compile(
        r"\b(?:ci|ci/cd|continuous integration|github actions?|travis|jenkins|circleci|appveyor"
        r"|azure pipelines?|gitlab[- ]ci|tox|nox|codecov|build matrix"
        r"|(?:github|release|test|build|publish|deploy(?:ment)?) (?:workflows?|pipelines?|jobs?)"
        r"|workflow (?:files?|yaml|jobs?|runs?))\b",
        re.IGNORECASE,
    ),
    FileKind.DOCUMENT: re.compile(
        r"\b(?:docs?|documentation|readme|tutorial|typos?|guide"
        r"|contributing|faq|manual)\b",
        re.IGNORECASE,
    ),
    FileKind.CHANGE_LOG: re.compile(
        r"\b(?:change ?logs?|release notes|what'?s new|news entry|history file)\b", re.IGNORECASE
    ),
    FileKind.CONFIGURATION: re.compile(
        r"\b(?:config(?:uration)? files?|pyproject|setup\.(?:py|cfg)|package\.json"
        r"|(?:update|upgrade|bump|pin|outdated|which|declared|lists?) (?:\w+ )?dependenc(?:y|ies)"
        r"|dependencies (?:\w+ )?(?:declared|listed|pinned)"
        r"|requirements|pre-?commit|packaging|wheel|sdist"
        r"|(?:lint(?:er|ing)?|format(?:ter|ting)?|ruff|eslint|prettier|mypy|pyright|black)"
        r" (?:config(?:uration)?|rules|settings|options)"
        r"|(?:supported|required|minimum) \w+ versions?|versions? (?:are|is) (?:supported|required)"
        r"|dockerfile|makefile|licen[cs]e|manifest|bump)\b",
        re.IGNORECASE,
    ),
    FileKind.TEST: re.compile(
        r"\b(?:flaky|(?:add|fix|missing|broken|failing|unit|regression) tests?|test suite"
        r"|tests? (?:fails?|failing|failure|for|of|case|covers?|that)|(?:which|what) tests?|tested"
        r"|fixtures?|coverage)\b",
        re.IGNORECASE,
    ),
    FileKind.EXAMPLE: re.compile(r"\b(?:examples?|demos?|gallery|benchmarks?)\b", re.IGNORECASE),
}


@lru_cache(50_000)
def is_generated(path: str) -> bool:
    """Whether a file is made by a tool or copied in, as far as its path tells."""
    return bool(_GENERATED.search(path) or path_skip_reason(path, 0))


@lru_cache(50_000)
def file_kind(path: str) -> FileKind:
    """What a file is for."""
    name, extension = basename(path), splitext(path)[1].lower()
    if is_generated(path):
        return FileKind.GENERATED
    if _CI.search(path):
        return FileKind.CI
    if is_test(path):
        return FileKind.TEST
    if _CHANGE_LOG.search(path) and extension not in BY_EXTENSION:
        return FileKind.CHANGE_LOG
    if _EXAMPLE.search(path) and not _DOCUMENT.search(path):
        return FileKind.EXAMPLE
    if _CONFIGURATION.search(path) or (not extension and name.isupper()):
        return FileKind.CONFIGURATION
    if _DOCUMENT.search(path) or (_DOCUMENT_FOLDER.search(path) and extension not in BY_EXTENSION):
        return FileKind.DOCUMENT
    if path.lower().startswith(("doc/", "docs/")):
        return FileKind.EXAMPLE
    return FileKind.CODE if extension in BY_EXTENSION else FileKind.DATA


def asked_kinds(request: str) -> frozenset[FileKind]:
    """The kinds of files that a request speaks of."""
    return frozenset(kind for kind, words in _ASKED.items() if words.search(request))
