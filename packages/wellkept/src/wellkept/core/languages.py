"""What is known of programming languages: one row each, for everybody who asks.

The code graph, searches, the reading of edits and of projects, and skills take from here which
files are of a language, which of them are tests, and which file says that a project uses it. How a
language is parsed stands in `graph/languages`.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from typing import Final


class SourceLanguage:
    """One language."""

    def __init__(
        self,
        name: str,
        extensions: str,
        *,
        graph: str = "",
        short: str = "",
        manifests: str = "",
        tests: str = r"(?:^|/)(?:tests?|spec|__tests__)/",
    ) -> None:
        self.name = name
        self.extensions = tuple(extensions.split())
        self.graph = graph
        """The module of `graph.languages` that reads it; empty when its files are not parsed."""
        self.short = short or name
        """What people call it in a search."""
        self.manifests = tuple(manifests.split())
        """Files that a project of this language has at its top."""
        self._tests = tests

    @cached_property
    def test_path(self) -> re.Pattern[str]:
        """The paths of its tests."""
        return re.compile(self._tests)


_SCRIPT_TESTS: Final = r"(?:^|/)(?:tests?|__tests__|e2e|cypress)/|[._-](?:test|spec)\.[cm]?[jt]sx?$"
_C_TESTS: Final = r"(?:^|/)tests?/|(?:^|/)test_[^/]*$|[_-](?:unit)?tests?\.\w+$"
_JVM: Final = "pom.xml build.gradle build.gradle.kts"

LANGUAGES: Final = (
    SourceLanguage(
        "python", ".py .pyi .pyw", graph="python", short="py",
        manifests="pyproject.toml requirements.txt setup.py",
        tests=r"(?:^|/)(?:tests?/.*|test_[^/]*|[^/]*_test|conftest)\.pyi?$",
    ),
    SourceLanguage(
        "javascript", ".js .jsx .mjs .cjs", graph="typescript", short="js",
        manifests="package.json", tests=_SCRIPT_TESTS,
    ),
    SourceLanguage(
        "typescript", ".ts .mts .cts", graph="typescript", short="ts",
        manifests="package.json", tests=_SCRIPT_TESTS,
    ),
    SourceLanguage("tsx", ".tsx", graph="typescript", short="ts", tests=_SCRIPT_TESTS),
    SourceLanguage("component", ".vue .svelte", graph="typescript", tests=_SCRIPT_TESTS),
    SourceLanguage("go", ".go", graph="go", manifests="go.mod", tests=r"_test\.go$"),
    SourceLanguage(
        "rust", ".rs", graph="rust", manifests="Cargo.toml",
        tests=r"(?:^|/)(?:tests|benches)/.*\.rs$|(?:^|/)tests?\.rs$",
    ),
    SourceLanguage(
        "java", ".java", graph="java", manifests=_JVM,
        tests=r"(?:^|/)src/(?:test|it)/|(?:Test|Tests|IT)\.java$",
    ),
    SourceLanguage("c", ".c .h", graph="c_family", manifests="CMakeLists.txt", tests=_C_TESTS),
    SourceLanguage(
        "cpp", ".cc .cpp .cxx .hh .hpp .hxx .inl", graph="c_family", manifests="CMakeLists.txt",
        tests=_C_TESTS,
    ),
    SourceLanguage(
        "csharp", ".cs", graph="csharp", short="cs",
        tests=r"(?:^|/)[^/]*[Tt]ests?(?:\.[^/]*)?/|Tests?\.cs$",
    ),
    SourceLanguage(
        "ruby", ".rb .rake", graph="ruby", manifests="Gemfile",
        tests=r"(?:^|/)(?:test|spec|features)/|_(?:test|spec)\.rb$",
    ),
    SourceLanguage(
        "php", ".php", graph="php", manifests="composer.json",
        tests=r"(?:^|/)[Tt]ests?/|Test\.php$",
    ),
    # Of these the graph knows definitions only, where their grammar is installed.
    SourceLanguage("bash", ".sh .bash", graph="others", short="sh"),
    SourceLanguage("dart", ".dart", graph="others", manifests="pubspec.yaml"),
    SourceLanguage("elixir", ".ex .exs", graph="others", manifests="mix.exs"),
    SourceLanguage("groovy", ".groovy .gradle", graph="others"),
    SourceLanguage("haskell", ".hs", graph="others"),
    SourceLanguage("julia", ".jl", graph="others"),
    SourceLanguage("kotlin", ".kt .kts", graph="others", manifests=_JVM),
    SourceLanguage("lua", ".lua", graph="others"),
    SourceLanguage("objc", ".m .mm", graph="others"),
    SourceLanguage("perl", ".pl .pm", graph="others"),
    SourceLanguage("r", ".r", graph="others"),
    SourceLanguage("scala", ".scala .sc", graph="others"),
    SourceLanguage("solidity", ".sol", graph="others"),
    SourceLanguage("sql", ".sql", graph="others"),
    SourceLanguage("swift", ".swift", graph="others"),
    SourceLanguage("zig", ".zig", graph="others"),
    # These are code, but not read.
    SourceLanguage("assembly", ".s .asm"),
    SourceLanguage("clojure", ".clj"),
    SourceLanguage("css", ".css .scss .less .sass"),
    SourceLanguage("cython", ".pyx .pxd"),
    SourceLanguage("erlang", ".erl"),
    SourceLanguage("fortran", ".f90"),
    SourceLanguage("fsharp", ".fs"),
    SourceLanguage("graphql", ".graphql"),
    SourceLanguage("html", ".html .htm"),
    SourceLanguage("nim", ".nim"),
    SourceLanguage("nix", ".nix"),
    SourceLanguage("ocaml", ".ml .mli"),
    SourceLanguage("powershell", ".ps1"),
    SourceLanguage("proto", ".proto"),
    SourceLanguage("template", ".jinja .j2 .erb .haml .tmpl"),
    SourceLanguage("terraform", ".tf"),
    SourceLanguage("visualbasic", ".vb"),
    SourceLanguage("zsh", ".zsh", short="sh"),
)  # fmt: skip

BY_NAME: Final = {one.name: one for one in LANGUAGES}
BY_EXTENSION: Final = {extension: one for one in LANGUAGES for extension in one.extensions}
MANIFESTS: Final = tuple(dict.fromkeys(file for one in LANGUAGES for file in one.manifests))
"""The files that say which languages a project is written in."""


def extension_of(path: str) -> str:
    """A path's extension with its dot, in lower case."""
    dot = path.rfind(".")
    return path[dot:].lower() if dot > path.rfind("/") else ""


def language_of(path: str) -> SourceLanguage | None:
    """The language of a file by its name; None when it is not code."""
    return BY_EXTENSION.get(extension_of(path))


@cache
def extensions_by_short_name() -> dict[str, tuple[str, ...]]:
    """What a search for files of a language looks at: `ts` is typescript and tsx."""
    found: dict[str, tuple[str, ...]] = {}
    for one in LANGUAGES:
        found[one.short] = (*found.get(one.short, ()), *one.extensions)
    return found
