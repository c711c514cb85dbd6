"""What the project is: purpose, languages, versions, entry points, dependencies, licence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from posixpath import splitext

from wellkept.core.text import content_words, shorten
from wellkept.graph.history.commits import is_test
from wellkept.graph.modules.descriptions import prose
from wellkept.project.repository.module_facts import Places
from wellkept.project.repository.project_files import (
    ProjectFiles,
    Statement,
    at,
    listed,
    string,
    table,
    texts,
)

_MAX_DEPENDENCIES = 15
_NAME = re.compile(r"^[A-Za-z0-9][\w.@/-]*")
_GEM = re.compile(r"add(?:_runtime)?_dependency\(?\s*['\"]([\w-]+)")
_GO_NEED = re.compile(r"^\s*(?:require )?([\w.-]+\.[a-z]+/\S+) v\S+(?!.*// indirect)", re.MULTILINE)
_LICENSES = (
    ("Apache License", "Apache 2.0"), ("MIT License", "MIT"), ("Mozilla Public License", "MPL 2.0"),
    ("GNU AFFERO GENERAL PUBLIC", "AGPL"), ("GNU LESSER GENERAL PUBLIC", "LGPL"),
    ("GNU GENERAL PUBLIC LICENSE", "GPL"), ("Redistribution and use in source", "BSD"),
    ("Permission is hereby granted, free of charge", "MIT"), ("ISC License", "ISC"),
    ("CC0 1.0 Universal", "CC0 1.0"),
    ("unencumbered software released into the public domain", "Unlicense"),
)  # fmt: skip
_DESCRIPTION = re.compile(r"\b(?:description|summary)\s*[:=]\s*[\"']([^\"'\n]{10,300})[\"']")
_USUAL = (
    r"src/(?:main|lib)\.rs|(?:cmd/[\w-]+/)?main\.go|(?:src/)?[\w-]+/__main__\.py|src/index\.[jt]sx?"
    r"|index\.js|(?:bin|exe)/[\w-]+|config\.ru|manage\.py"
)
_VERSIONS = (
    (r"(?:src/)?[\w-]+/(?:__version__|version|_version|__about__)\.py", r"\d+\.\d+"),
    (r"lib/[\w/-]+/version\.rb|VERSION(?:\.txt)?|version\.txt", r"\d+\.\d+"),
    (r"gradle\.properties|version\.go|(?:internal|cmd)/[\w/]*version\.go", r"version|Version"),
)


def about_statements(places: Places) -> Iterator[Statement]:
    """What a newcomer asks first."""
    files = places.files
    yield from _purpose(places)
    yield from _needs(files)
    yield from _entry_points(files)
    yield from _dependencies(files)
    yield from _version(files)
    yield from _license(files)


def _statement(key: str, text: str, *paths: str, importance: float = 0.5) -> Statement:
    return Statement(
        key=key, text=text, read_from=paths[0], importance=importance, tags=("about",), files=paths
    )


def _purpose(places: Places) -> Iterator[Statement]:
    files = places.files
    readme = next(iter(files.matching(r"readme(?:\.(?:md|rst|adoc|txt|markdown))?", limit=1)), None)
    told = [
        (string(files.toml("pyproject.toml"), "project", "description"), "pyproject.toml"),
        (string(files.toml("pyproject.toml"), "tool", "poetry", "description"), "pyproject.toml"),
        *(_written(files, name) for name in ("mix.exs", *files.matching(r"[\w.-]+\.gemspec"))),
        (string(files.json("package.json"), "description"), "package.json"),
        (string(files.toml("Cargo.toml"), "package", "description"), "Cargo.toml"),
        (string(files.json("composer.json"), "description"), "composer.json"),
    ]
    short, source = next(((text, name) for text, name in told if text), ("", readme or ""))
    said = _first_words(files.root.name, files.text(readme)) if readme else ""
    languages = Counter(splitext(p)[1] for p in places.code if not is_test(p))
    main = ", ".join(
        f"{ending} ({count} files)" for ending, count in languages.most_common(3) if ending
    )
    if not short and not said:
        return
    # A summary that the read-me repeats is told once.
    is_repeated = set(content_words(short)) <= set(content_words(said))
    begin = f"{short.rstrip('.')}. " if short and not is_repeated else ""
    text = f"What this project, {files.root.name}, is: {begin}{shorten(said, limit=400)}"
    text = " ".join(text.split())
    if main:
        text += f" Source files: {main}."
    yield _statement(
        "about:purpose", text, *dict.fromkeys(filter(None, (source, readme))), importance=0.6
    )


def _written(files: ProjectFiles, name: str) -> tuple[str, str]:
    """The description that a file of code sets as a plain text, and the file."""
    found = _DESCRIPTION.search(files.text(name))
    return (found[1] if found else ""), name


def _first_words(name: str, text: str) -> str:
    """The paragraph of a read-me that says what the project is, else its first prose."""
    told = [one for one in prose(text[:16_000].split("\n")) if len(one.split()) > 3]
    says = re.compile(rf"\W*(?:\w+ )?{re.escape(name)}\W+(?:is|are|provides)\b", re.IGNORECASE)
    return next((one for one in told if says.match(one)), told[0] if told else "")


def _needs(files: ProjectFiles) -> Iterator[Statement]:
    found: list[tuple[str, str]] = []
    node = string(files.json("package.json"), "engines", "node")
    rust = string(files.toml("Cargo.toml"), "package", "rust-version") or string(
        files.toml("Cargo.toml"), "workspace", "package", "rust-version"
    )
    php = string(files.json("composer.json"), "require", "php")
    python = string(files.toml("pyproject.toml"), "project", "requires-python")
    go = re.search(r"^go (\S+)", files.text("go.mod"), re.MULTILINE)
    java = re.search(
        r"<(?:maven\.compiler\.release|maven\.compiler\.source|java\.version|release)>([\d.]+)<",
        files.text("pom.xml"),
    )
    gems = files.matching(r"[\w.-]+\.gemspec", limit=1)
    ruby = (
        re.search(r"required_ruby_version\s*=?\s*\(?['\"]([^'\"]+)", files.text(gems[0]))
        if gems
        else None
    )
    pins = (
        ".tool-versions .python-version .nvmrc .node-version .ruby-version rust-toolchain.toml"
        " rust-toolchain .java-version"
    )
    pinned = [one for one in pins.split() if files.has(one)]
    for name, value, source in (
        ("Python", python, "pyproject.toml"), ("Node", node, "package.json"),
        ("Rust", rust and f">= {rust}", "Cargo.toml"), ("PHP", php, "composer.json"),
        ("Go", go[1] if go else "", "go.mod"), ("Java", java[1] if java else "", "pom.xml"),
        ("Ruby", ruby[1] if ruby else "", gems[0] if gems else ""),
    ):  # fmt: skip
        if value:
            found.append((f"{name} {value} ({source})", source))
    for name in pinned:
        value = " ".join(files.text(name).split())[:80]
        found.append((f"{value} pinned in {name}", name))
    if found:
        text = f"Versions it requires and supports: {'; '.join(told for told, _ in found)}."
        yield _statement("about:versions", text, *dict.fromkeys(name for _, name in found))


def _entry_points(files: ProjectFiles) -> Iterator[Statement]:
    found: list[str] = []
    sources: list[str] = []
    scripts = table(files.toml("pyproject.toml"), "project", "scripts") or table(
        files.toml("pyproject.toml"), "tool", "poetry", "scripts"
    )
    for name, target in list(scripts.items())[:5]:
        found.append(f"command `{name}` starts at {target}")
        sources.append("pyproject.toml")
    package = files.json("package.json")
    for field in ("main", "module", "exports", "bin"):
        value = string(package, field)
        if value:
            found.append(f"package.json names {value} as `{field}`")
            sources.append("package.json")
    for name, target in list(table(package, "bin").items())[:3]:
        found.append(f"command `{name}` starts at {target}")
        sources.append("package.json")
    for one in listed(files.toml("Cargo.toml"), "bin")[:3]:
        found.append(
            f"binary `{string(one, 'name')}` starts at {string(one, 'path') or 'src/main.rs'}"
        )
        sources.append("Cargo.toml")
    for path in files.matching(_USUAL, limit=4):
        if path not in " ".join(found):
            found.append(f"entry file {path}")
            sources.append(path)
    if found:
        told = "; ".join(found[:8])
        text = f"Entry points, where the program starts (main, executable, command line): {told}."
        yield _statement("about:entry", text, *dict.fromkeys(sources))


def _dependencies(files: ProjectFiles) -> Iterator[Statement]:
    python = files.toml("pyproject.toml")
    poetry = [n for n in table(python, "tool", "poetry", "dependencies") if n != "python"]
    gems = files.matching(r"[\w.-]+\.gemspec", limit=1)
    for name, needs in (
        ("pyproject.toml", texts(at(python, "project", "dependencies")) or poetry),
        ("package.json", list(table(files.json("package.json"), "dependencies"))),
        ("Cargo.toml", list(table(files.toml("Cargo.toml"), "dependencies"))),
        ("composer.json", [n for n in table(files.json("composer.json"), "require") if "/" in n]),
        ("go.mod", _GO_NEED.findall(files.text("go.mod"))),
        *((gem, _GEM.findall(files.text(gem))) for gem in gems),
    ):  # fmt: skip
        names = [found[0] for one in needs if (found := _NAME.match(one))]
        if names:
            more = (
                f" and {len(names) - _MAX_DEPENDENCIES} more"
                if len(names) > _MAX_DEPENDENCIES
                else ""
            )
            text = f"Runtime dependencies ({name}): {', '.join(names[:_MAX_DEPENDENCIES])}{more}."
            yield _statement(f"about:dependencies:{name}", text, name, importance=0.4)


def _version(files: ProjectFiles) -> Iterator[Statement]:
    for pattern, sign in _VERSIONS:
        for path in files.matching(pattern, limit=1):
            if re.search(sign, files.text(path)):
                text = f"The version number of the project is set in {path}."
                yield _statement("about:version", text, path)
                return
    for name, told in (
        ("pyproject.toml", string(files.toml("pyproject.toml"), "project", "version")),
        ("Cargo.toml", string(files.toml("Cargo.toml"), "package", "version")),
        ("package.json", string(files.json("package.json"), "version")),
    ):
        if told:
            yield _statement(
                "about:version", f"The version number of the project is set in {name}.", name
            )
            return


def _license(files: ProjectFiles) -> Iterator[Statement]:
    for path in files.matching(r"(?:licen[cs]e|copying|unlicense)[\w.-]*", limit=1):
        head = files.text(path)[:4_000]
        name = next((name for sign, name in _LICENSES if sign.lower() in head.lower()), "")
        if name:
            yield _statement(
                "about:license", f"The licence is {name} ({path}).", path, importance=0.35
            )
