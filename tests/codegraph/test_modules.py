"""The module map, purposes and conventions of small trees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codegraph.trees import NAME, built, write
from wellkept.core.code_modules import CodeModule, ModuleLink
from wellkept.core.graph import SourceFile
from wellkept.graph.modules.conventions import conventions_of
from wellkept.graph.modules.descriptions import lead
from wellkept.graph.modules.module_map import module_folders, modules_of

pytestmark = pytest.mark.feature("E4")

BODY = "".join(f"x{n} = {n}\n" for n in range(300))
FILES = {
    "src/shop/__init__.py": '"""A shop that sells by mail."""\n',
    "src/shop/cli.py": "from shop.store.db import Pool\n\n\ndef main():\n    Pool()\n" + BODY,
    "src/shop/store/__init__.py": '"""Keeps orders on disk.\n\nOne writer.\n"""\n',
    "src/shop/store/db.py": "class Pool:\n    pass\n" + BODY,
    "src/shop/mail/README.md": "# Mail\n\n[![ok](x.svg)](y)\n\nSends **letters** to [people](z).\n",
    "src/shop/mail/send.py": "from shop.store.db import Pool\n\n\ndef send():\n    Pool()\n" + BODY,
    "tests/test_db.py": "from shop.store.db import Pool\n\n\ndef test_pool():\n    Pool()\n",
}


def mapped(tmp_path: Path, files: Mapping[str, str | bytes]) -> dict[str, CodeModule]:
    store = built(tmp_path, files)
    found = modules_of(store, NAME, root=tmp_path / "tree", limit=40)
    return {module.folder: module for module in found}


def test_modules_have_purpose_exports_and_dependencies(tmp_path: Path) -> None:
    found = mapped(tmp_path, FILES)
    assert set(found) == {"src/shop/", "src/shop/store/", "src/shop/mail/", "tests/"}
    store = found["src/shop/store/"]
    assert store.purpose == "Keeps orders on disk."
    assert store.read_from == ("src/shop/store/__init__.py",)
    assert store.gives == ("Pool",)
    assert {link.folder for link in store.used_by} == {"src/shop/", "src/shop/mail/", "tests/"}
    assert store.depends_on == ()
    assert store.tests == ("tests/test_db.py",)
    assert found["src/shop/mail/"].purpose == "Sends letters to people."
    assert found["src/shop/mail/"].depends_on[0].folder == "src/shop/store/"
    assert isinstance(found["src/shop/mail/"].depends_on[0], ModuleLink)
    assert found["src/shop/"].entry_points == ("src/shop/cli.py",)
    assert found["tests/"].is_test
    assert "Gives Pool." in store.summary


def test_what_tools_made_comes_last(tmp_path: Path) -> None:
    files = {
        "api/generated/a.py": "def made():\n    pass\n" * 3,
        "core/generated/b.py": "def made_here():\n    pass\n",
        "core/hand.py": "def written():\n    pass\n" * 3,
        "web/use.py": (
            "from core.generated.b import made_here\nfrom core.hand import written\n\n\n"
            "def first():\n    made_here()\n\n\ndef second():\n    made_here()\n    written()\n"
        ),
    }
    found = modules_of(built(tmp_path, files), NAME, root=tmp_path / "tree", limit=3)
    assert [module.folder for module in found] == ["core/", "web/", "api/generated/"]
    assert found[0].files == ("core/hand.py", "core/generated/b.py")
    assert found[0].gives == ("written", "made_here")


def test_the_main_package_falls_back_to_the_readme_of_the_root(
    tmp_path: Path,
) -> None:
    long = "x = 1\n" * 200
    found = mapped(
        tmp_path,
        {
            "README.md": "# Thing\n\nSends parcels to people.\n",
            "thing/core.py": long,
            "thing/inner/deep.py": long * 3,
            "tests/test_core.py": long * 9,
            "docs/conf.py": long,
        },
    )
    purposes = {folder: module.purpose for folder, module in found.items()}
    assert purposes["thing/"] == "Sends parcels to people."
    assert [folder for folder, purpose in purposes.items() if purpose] == ["thing/"]


def test_a_module_without_a_document_is_described_by_its_files(tmp_path: Path) -> None:
    found = mapped(
        tmp_path,
        {
            "a/pool.go": "// Copyright 2020 Somebody\n\n// Package a pools connections. More.\npackage a\n",
            "a/silent.go": "package a\n",
        },
    )
    assert found["a/"].purpose == "pool.go: Package a pools connections."
    assert mapped(tmp_path / "none", {"b.py": "x = 1\n"})["./"].summary == "Holds 1 file of python."


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("README.md", "Title\n=====\n\nA thing that does work.\n", "A thing that does work."),
        ("README", "", ""),
        ("README.md", "```\ncode that is no prose\n```\n", ""),
        ("m.py", "#!/usr/bin/python\n# -*- coding: utf-8 -*-\n'''Reads and writes files.'''", "Reads and writes files."),
        ("lib.rs", "//! Parses many things.\n//! Fast.\n\nfn a() {}", "Parses many things. Fast."),
        ("index.ts", "/**\n * Talks to the server.\n */\nexport {}", "Talks to the server."),
        ("a.c", "/* Copyright 1999 */\n/* Sorts numbers in place. */\nint x;", "Sorts numbers in place."),
        ("x.php", "<?php\n// Shows the front page.\n", "Shows the front page."),
        ("a.go", "//go:build !windows\n\n// Package a opens doors.\npackage a\n", "Package a opens doors."),
        ("a.c", '#include "other header.h"\nint x;', ""),
        ("e.py", '"""\nOur exception hierarchy:\n\n* One\n  · Two of them here\n"""', "Our exception hierarchy."),
        ("README.md", "*A tool for sorting letters*\n", "A tool for sorting letters"),
        ("m.py", "\x00\ufffd", ""),
        ("index.ts", "/**\n * @module\n * Sends letters to people.\n */\nexport {}", "Sends letters to people."),
        ("a.test.ts", "/**\n * @jest-environment jsdom\n */\nimport x from 'y'\n", ""),
        ("a.php", "<?php\n/*\n * This file is part of the Post package.\n *\n * (c) Jo Smith <jo@example.com>\n */\nnamespace A;\n\n/**\n * Sends letters to people.\n */\nclass A {}", "Sends letters to people."),
        ("a.rs", "use a::b;\n\n/// What one item is for.\nenum Mode {}\n", ""),
        ("README.md", "$ make all the letters\n\nSends letters to [people][1].\n", "Sends letters to people."),
        ("m.py", '"""\nTOOLS = [\n  1,\n]\n\nThen it says what for.\n"""', "Then it says what for."),
    ],
)  # fmt: skip
def test_the_first_paragraph_of_prose_is_found(path: str, text: str, expected: str) -> None:
    assert lead(text, path) == expected


def test_a_command_that_compiles_its_patterns_later_reads_the_same() -> None:
    code = (
        "from wellkept.core import startup; startup.install()\n"
        "from wellkept.graph.modules.descriptions import lead\n"
        "print(lead('/**\\n * Talks to the server.\\n */\\nexport {}', 'index.ts'))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "Talks to the server.\n"


@given(st.text(max_size=300), st.sampled_from(["README.md", "a.py", "b.ts"]))
def test_any_text_gives_one_short_line(text: str, path: str) -> None:
    found = lead(text, path)
    assert len(found) <= 401
    assert "\n" not in found


@given(
    st.dictionaries(
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map("/".join),
        st.integers(1, 5000),
        min_size=1,
        max_size=25,
    ),
    st.integers(1, 12),
)
def test_the_map_never_exceeds_its_limit_and_misses_no_file(
    lines: dict[str, int], limit: int
) -> None:
    files = [
        SourceFile(
            path=f"{path}.py", language="python", content_hash="", size_bytes=1, mtime_ns=0, line_count=count
        )
        for path, count in lines.items()
    ]  # fmt: skip
    chosen = module_folders(files, limit=limit)
    assert 1 <= len(chosen) <= limit
    for file in files:
        assert any(file.path.startswith(f"{folder}/") or not folder for folder in chosen)


# -- Conventions ----------------------------------------------------------------------------------


def conventions(tmp_path: Path, files: Mapping[str, str | bytes]) -> dict[str, str]:
    store = built(tmp_path, files)
    return {c.key: c.text for c in conventions_of(tmp_path / "tree", store.files(NAME))}


def test_conventions_come_from_configuration_and_from_what_files_share(tmp_path: Path) -> None:
    modules = {
        f"pkg/some_part{n}.py": '"""A part of the whole."""\n\nfrom __future__ import annotations\n'
        + "from pkg.some_part1 import f\n" * 6
        + "\n\ndef f():\n    return 1\n" * 3
        for n in range(8)
    }
    tests = {f"tests/test_part{n}.py": "def test_f():\n    pass\n" for n in range(4)}
    configuration = {
        "pyproject.toml": '[project]\nrequires-python = ">=3.11"\n[tool.ruff]\nline-length = 99\n'
        "[tool.pytest.ini_options]\n[tool.mypy]\nstrict = true\n",
        "Makefile": "test:\n\tpytest\n\nsecret_target:\n\techo\n",
        "uv.lock": "",
    }
    found = conventions(tmp_path, {**modules, **tests, **configuration})
    assert found["tests"] == (
        "Tests are in tests/, apart from the code they test. A test file is called test_*.py."
    )
    assert found["line length python"] == "Python lines have at most 99 characters (ruff)."
    assert found["types python"] == "Python types are checked by mypy in strict mode."
    assert found["test runner python"] == "Python tests run with pytest."
    assert found["imports python"].endswith("are absolute.")
    assert found["docstrings python"]
    assert found["annotations python"]
    assert found["file names python"].endswith("snake_case.")
    assert found["commands make"] == "`make` knows: test."
    assert found["dependencies"] == "Dependencies are locked with uv."


def test_a_tree_without_agreement_has_no_conventions(tmp_path: Path) -> None:
    assert conventions(tmp_path, {"a.py": "x = 1\n"}) == {}


@pytest.mark.parametrize(
    "text", ["", "[[[", "\x00\xff", "[project]\nrequires-python = 3", "a = " + "[" * 5000]
)
def test_malformed_configuration_is_ignored(tmp_path: Path, text: str) -> None:
    names = ("pyproject.toml", "package.json", "Cargo.toml", ".prettierrc", "tsconfig.json")
    assert conventions(tmp_path, dict.fromkeys(names, text)) == {}


def test_javascript_settings_are_read(tmp_path: Path) -> None:
    package = (
        '{"type": "module", "scripts": {"test": "vitest", "odd": "x"}, "engines": {"node": ">=20"},'
        ' "devDependencies": {"vitest": "1", "eslint": "9"}}'
    )
    found = conventions(
        tmp_path, {"package.json": package, "tsconfig.json": '{// a comment\n"strict": true}'}
    )
    assert found["test runner javascript"] == "JavaScript tests run with vitest."
    assert found["commands javascript"] == "`npm run` knows: test."
    assert found["types typescript"] == "TypeScript is compiled in strict mode."
    assert found["node version"] == "Node >=20 is required."


def test_a_link_in_place_of_a_document_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"outside.md": "Words from outside of the tree.\n"})
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "README.md").symlink_to(tmp_path / "outside.md")
    assert mapped(tmp_path, {"a.py": "x = 1\n"})["./"].purpose == ""
