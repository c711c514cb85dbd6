"""Where things are, what changes with a file, who knows it, and what the configuration says (I1)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from wellkept.core.query import FileLink
from wellkept.graph.history.git_log import Commit
from wellkept.project.repository.conventions import convention_statements
from wellkept.project.repository.module_facts import (
    MAX_FILES,
    Places,
    file_statements,
    layout_folders,
    layout_statement,
    module_statements,
    open_ends,
)
from wellkept.project.repository.ownership import (
    MAX_COMMITS,
    file_pasts,
    history_statements,
    people_statements,
)
from wellkept.project.repository.project_facts import about_statements
from wellkept.project.repository.project_files import ProjectFiles

pytestmark = pytest.mark.feature("I1", "E4")


def places(root: Path, files: dict[str, str]) -> Places:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return Places(ProjectFiles(root, files))


def commit(number: int, author: str, *files: str, message: str = "Work") -> Commit:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return Commit(f"{number:040x}", 1, at, author, message, files)


TREE = {
    "src/shop/__init__.py": '"""The shop: carts and orders."""\n',
    "src/shop/cart.py": '"""Carts of the shop."""\n\n\nclass Cart:\n    pass\n\n\ndef total(cart):\n    pass\n',
    "src/shop/orders.py": "from shop.cart import Cart\n\n\nclass Order:\n    cart: Cart\n",
    "tests/test_cart.py": "def test_total():\n    pass\n",
    "docs/img/test.png": "x",
}


def test_a_module_names_its_purpose_its_files_and_what_they_define(tmp_path: Path):
    found = {one.key: one.text for one in module_statements(places(tmp_path, TREE), {})}
    assert found["module:src/shop"].startswith(
        "Where things are: src/shop/: The shop: carts and orders.\nIts files:"
    )
    assert "cart.py (Cart, total)" in found["module:src/shop"]
    assert not any("docs/img" in key for key in found)


def test_a_file_names_what_it_defines_what_may_break_its_test_and_who_knows_it(tmp_path: Path):
    made = places(tmp_path, TREE)
    commits = [commit(n, "Ada", "src/shop/cart.py", "src/shop/orders.py") for n in range(5)]
    commits.append(commit(9, "dependabot[bot]", "src/shop/cart.py"))
    link = FileLink("src/shop/cart.py", "tests/test_cart.py", 0.9, 7)
    found = {one.key: one.text for one in file_statements(made, file_pasts(commits), [link])}
    assert found["file:src/shop/cart.py"] == (
        "src/shop/cart.py is where Cart, total are defined and implemented. Carts of the shop. Touching"
        " src/shop/cart.py may break, and usually changes with it: tests/test_cart.py (7 commits). It is covered by"
        " tests/test_cart.py. Written mostly by Ada (100%) of 6 commits."
    )


def test_a_file_without_a_comment_of_its_own_is_told_by_those_of_its_definitions(tmp_path: Path):
    files = {
        "src/walk.rs": "use std::path;\n\n/// Scan folders in parallel. Stops early.\n"
        "#[inline]\npub fn scan() {}\n",
        "src/cart.py": 'import re\n\n\ndef total(cart):\n    """Adds up the prices."""\n',
        "src/view.js": "'use strict'\nvar a = 1\n\n/**\n * Look a template up by its name.\n * @api\n */\n\n"
        "function lookup() {}\n",
    }
    found = {o.key: o.text for o in file_statements(places(tmp_path, files), {}, [])}
    assert "scan: Scan folders in parallel. " in found["file:src/walk.rs"] + " "
    assert "total: Adds up the prices." in found["file:src/cart.py"]
    assert "lookup: Look a template up by its name." in found["file:src/view.js"]


def test_the_layout_names_every_folder(tmp_path: Path):
    files = {f"part{n:02}/work.py": f"class Part{n}:\n    pass\n" for n in range(24)}
    files |= {"main.py": "def start():\n    pass\n", "docs/index.md": "# Docs\n"}
    made = places(tmp_path, files)
    (layout,) = layout_statement(made.files, list(module_statements(made, {})))
    told = layout_folders(layout.text)
    assert set(told) == {".", "docs", *(f"part{n:02}" for n in range(24))}
    assert len(told) == len(set(told))
    assert "- part00/: work.py (Part0)" in layout.text
    assert layout.text.splitlines()[-1].startswith("- also: ")


def test_what_is_left_in_the_code_is_counted_and_named(tmp_path: Path):
    files = {
        "a.py": "# TODO: close the socket\n# FIXME(ada) rounds down\nx = 'TODO list'\n",
        "b.go": "package b\n// XXX slow\n",
    }
    (left,) = open_ends(places(tmp_path, files))
    assert "3 TODO and FIXME comments, most in a.py (2), b.go (1)" in left.text
    assert "close the socket" in left.text
    assert not list(open_ends(places(tmp_path / "clean", {"a.py": "x = 1\n"})))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.go", "package a\n\ntype Box struct{}\n\nfunc (b *Box) Open() {}\n", "Box, Open"),
        ("a.rs", "pub struct Box;\npub(crate) fn open() {}\nfn hidden() {}\n", "Box, open"),
        ("a.ts", "export class Box {}\nexport const open = 1\nconst hidden = 2\n", "Box, open"),
        ("Box.java", "public final class Box {\n  enum Lid { UP }\n}\n", "Box, Lid"),
        (
            "a.rb",
            "module Shop\n  class Box\n    def open\n    end\n  end\nend\n",
            "Shop, Box, open",
        ),
        ("a.php", "<?php\nfinal class Box {}\nfunction open() {}\n", "Box, open"),
    ],
)
def test_definitions_are_read_in_each_language(tmp_path: Path, name: str, text: str, expected: str):
    made = places(tmp_path, {name: text})
    assert ", ".join(made.definitions(name)) == expected


def test_people_are_named_by_area_and_robots_are_not(tmp_path: Path):
    made = places(tmp_path, {**TREE, "CODEOWNERS": "# all\n* @ada\n/docs/ @grace\n"})
    commits = [commit(n, "Ada", "src/shop/cart.py") for n in range(6)]
    commits += [commit(10 + n, "renovate[bot]", "src/shop/cart.py") for n in range(9)]
    statements = people_statements(made.files, commits, file_pasts(commits))
    found = {one.key: one.text for one in statements}
    assert found["owners:CODEOWNERS"] == (
        "Who must review, by CODEOWNERS: *: @ada; /docs/: @grace."
    )
    assert "Ada (100%)" in found["people:src/shop"]
    assert not any("renovate" in text for text in found.values())


def test_configuration_becomes_conventions(tmp_path: Path):
    made = places(
        tmp_path,
        {
            ".editorconfig": "root = true\n\n[*]\nindent_style = space\nindent_size = 2\n",
            "commitlint.config.js": "extends: ['@commitlint/config-conventional']",
            ".pre-commit-config.yaml": "repos:\n- repo: x\n  hooks:\n  - id: ruff\n",
            ".golangci.yml": "linters:\n  enable: [errcheck, govet]\n",
            ".github/pull_request_template.md": "- [ ] Add [tests](https://x.example)\n",
            "rustfmt.toml": "max_width = 79\n",
        },
    )
    found = {one.key: one.text for one in convention_statements(made)}
    assert found["convention:editorconfig"] == (
        "Editors format by .editorconfig: *: indentation 2 spaces."
    )
    assert "Conventional Commits" in found["convention:commit messages"]
    assert "ruff" in found["convention:commit checks"]
    assert "errcheck, govet" in found["convention:linter golangci-lint"]
    assert found["convention:pull requests"].endswith("its checklist: Add tests.")
    assert "max_width 79" in found["convention:format rust"]


def test_what_a_newcomer_asks_first_is_answered_from_the_manifests(tmp_path: Path):
    made = places(
        tmp_path / "widget",
        {
            "pyproject.toml": '[project]\ndescription = "Turns handles"\nrequires-python = ">=3.10"\n'
            'dependencies = ["click>=8", "rich"]\n[project.scripts]\nwidget = "widget.cli:main"\n',
            "README.md": "# Widget\n\nTurns handles of every kind.\n",
            "LICENSE": "MIT License\n",
            "widget/__version__.py": '__version__ = "1.2.3"\n',
        },
    )
    found = {one.key: one.text for one in about_statements(made)}
    assert found["about:purpose"].startswith(
        "What this project, widget, is: Turns handles of every kind."
    )
    assert "Python >=3.10 (pyproject.toml)" in found["about:versions"]
    assert "command `widget` starts at widget.cli:main" in found["about:entry"]
    assert found["about:dependencies:pyproject.toml"].endswith("click, rich.")
    assert found["about:version"].endswith("widget/__version__.py.")
    assert found["about:license"] == "The licence is MIT (LICENSE)."


def test_however_long_the_history_and_large_the_tree_the_statements_are_bounded(tmp_path: Path):
    commits = [
        commit(n, "Ada", message=f"Drop part {n}, because it broke") for n in range(MAX_COMMITS + 9)
    ]
    assert len(list(history_statements(commits))) == MAX_COMMITS
    made = places(tmp_path, {f"src/a{n}.py": f"class A{n}:\n    pass\n" for n in range(300)})
    assert len(list(file_statements(made, {}, []))) == MAX_FILES


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path):
    outside = tmp_path / "outside.txt"
    outside.write_text("secret", "utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / "README.md").symlink_to(outside)
    assert ProjectFiles(root, ["README.md", "../outside.txt"]).text("README.md") == ""
    assert ProjectFiles(root, ["../outside.txt"]).text("../outside.txt") == ""
