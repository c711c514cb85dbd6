"""Conventions that configuration files state: style, commit messages, checks, templates.

Adds to `graph.modules.conventions`, which reads what files have in common and usual linters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from wellkept.core.graph import SourceFile
from wellkept.core.languages import language_of
from wellkept.core.text import shorten
from wellkept.core.types import MemoryType
from wellkept.graph.history.commits import is_test
from wellkept.graph.modules.conventions import conventions_of
from wellkept.project.repository.module_facts import Places
from wellkept.project.repository.project_files import ProjectFiles, Statement, at, listed

_SAID_ELSEWHERE = (
    "commands javascript",
    "commands make",
    "python version",
    "node version",
    "go version",
)
_EDITOR = re.compile(r"^\[(?P<glob>[^\n]+)\]\s*$(?P<body>(?:\n(?!\[).*)*)", re.MULTILINE)
_OPTION = re.compile(r"^\s*(?P<name>[\w-]+)\s*=\s*(?P<value>[^\s#;]+)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_COMMITLINT = r"\.?commitlint(?:rc)?(?:\.config)?\.?(?:c?js|mjs|ts|json|ya?ml)?"
_LINTERS = (
    (r"\.eslintrc(?:\.\w+)?|eslint\.config\.\w+", "ESLint"),
    (r"biome\.jsonc?", "Biome"),
    (r"\.golangci\.(?:ya?ml|toml)", "golangci-lint"),
    (r"\.rubocop\.yml", "RuboCop"),
    (r"clippy\.toml", "Clippy"),
    (r"(?:config/)?checkstyle[\w./-]*\.xml", "Checkstyle"),
    (r"\.?phpcs\.xml(?:\.dist)?", "PHP_CodeSniffer"),
    (r"phpstan\.neon(?:\.dist)?", "PHPStan"),
    (r"\.clang-format", "clang-format"),
    (r"\.markdownlint[\w.]*", "markdownlint"),
    (r"\.swiftlint\.yml", "SwiftLint"),
    (r"\.scalafmt\.conf", "scalafmt"),
    (r"\.codespellrc", "codespell"),
)


def convention_statements(places: Places) -> Iterator[Statement]:
    """Every convention that the project's files state or show."""
    files = places.files
    sources = [
        SourceFile(path=path, language=language.name, content_hash="", size_bytes=0,
                   mtime_ns=0, line_count=1, is_test=is_test(path))
        for path in places.code
        if (language := language_of(path)) is not None and language.graph
    ]  # fmt: skip
    for one in conventions_of(files.root, sources):
        if one.key not in _SAID_ELSEWHERE:
            yield _statement(one.key, one.text, *one.evidence)
    yield from _editorconfig(files)
    yield from _linters(files)
    yield from _rustfmt(files)
    yield from _commits(files)
    yield from _pull_requests(files)


def rules_statement(files: ProjectFiles, conventions: Sequence[Statement]) -> Iterator[Statement]:
    """What a contribution must keep to, in one place: the pages and the conventions."""
    pages = files.matching(r"(?:\.github/|docs/)?(?:contributing|agents)(?:\.(?:md|rst|adoc|txt))?")
    told = " ".join(one.text for one in conventions)
    if pages or told:
        begin = f"Read {' and '.join(pages[:3])}. " if pages else ""
        yield Statement(
            key="rules:all",
            text="Rules and requirements that a contribution, change or pull request must follow: "
            + shorten(begin + told, limit=900),
            read_from=pages[0] if pages else conventions[0].read_from,
            importance=0.5,
            tags=("rules",),
            files=tuple(pages[:3]),
        )


def _statement(key: str, text: str, *paths: str) -> Statement:
    return Statement(
        key=f"convention:{key}",
        text=text,
        read_from=paths[0],
        type=MemoryType.CONVENTION,
        importance=0.45,
        tags=("convention",),
        files=paths[:3],
    )


def _editorconfig(files: ProjectFiles) -> Iterator[Statement]:
    told: list[str] = []
    for section in _EDITOR.finditer(files.text(".editorconfig")):
        options = {
            found["name"].lower(): found["value"] for found in _OPTION.finditer(section["body"])
        }
        style, size = options.get("indent_style"), options.get("indent_size")
        indent = (
            "tabs" if style == "tab" else f"{size} spaces" if size and size.isdigit() else style
        )
        parts = [f"indentation {indent}"] if indent else []
        if width := options.get("max_line_length"):
            parts.append(f"at most {width} characters a line")
        if end := options.get("end_of_line"):
            parts.append(f"line ends {end}")
        if parts:
            told.append(f"{section['glob']}: {', '.join(parts)}")
    if told:
        yield _statement(
            "editorconfig",
            f"Editors format by .editorconfig: {'; '.join(told[:8])}.",
            ".editorconfig",
        )


def _linters(files: ProjectFiles) -> Iterator[Statement]:
    for pattern, tool in _LINTERS:
        found = files.matching(pattern, limit=1)
        if not found:
            continue
        text = f"Code style is checked by {tool}, configured in {found[0]}"
        enabled: list[str] = []
        if tool == "golangci-lint":
            enabled = [str(one) for one in listed(files.yaml(found[0]), "linters", "enable")]
        elif tool == "RuboCop":
            width = at(files.yaml(found[0]), "Layout/LineLength", "Max")
            enabled = [f"lines of at most {width}"] if isinstance(width, int) else []
        text += f" with {', '.join(enabled[:12])}." if enabled else "."
        yield _statement(f"linter {tool}", text, found[0])


def _rustfmt(files: ProjectFiles) -> Iterator[Statement]:
    name = files.first("rustfmt.toml", ".rustfmt.toml")
    options: Mapping[str, object] = files.toml(name) if name else {}
    told = [f"{key} {value}" for key, value in options.items() if isinstance(value, (str, int))]
    if name and told:
        yield _statement("format rust", f"rustfmt formats with {', '.join(told[:6])}.", name)


def _commits(files: ProjectFiles) -> Iterator[Statement]:
    found = files.matching(_COMMITLINT, limit=1)
    rules = files.text(found[0]) if found else ""
    if not found and "commitlint" in files.json("package.json"):
        found, rules = ["package.json"], files.text("package.json")
    if found:
        kind = "Conventional Commits" if "conventional" in rules else "commitlint's rules"
        text = f"Commit messages follow {kind}: commitlint checks them ({found[0]})."
        yield _statement("commit messages", text, found[0])
    hooks = files.first("lefthook.yml", ".lefthook.yml", ".husky/pre-commit", ".husky/pre-push")
    if hooks:
        lines = [
            x.strip() for x in files.text(hooks).splitlines() if x.strip()[:1] not in ("#", "")
        ]
        shown = "; ".join(lines[:4]) if hooks.startswith(".husky") else ""
        text = f"Git hooks are set up in {hooks}" + (f": {shown}." if shown else ".")
        yield _statement("git hooks", text, hooks)


def _pull_requests(files: ProjectFiles) -> Iterator[Statement]:
    found = files.matching(r"(?:\.github/|docs/)?pull_request_template(?:\.md|/.*\.md)", limit=1)
    if not found:
        return
    items = re.findall(r"^\s*[-*] \[[ x]\] *(.+)$", files.text(found[0]), re.MULTILINE)
    text = f"Pull requests start from the template {found[0]}"
    told = "; ".join(_LINK.sub(r"\1", one).strip(" *_`\\") for one in items[:6])
    text += f"; its checklist: {told}." if told else "."
    yield _statement("pull requests", text, found[0])
