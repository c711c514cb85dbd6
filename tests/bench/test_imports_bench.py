"""The oracles that imports are judged by are right where it is known what is right."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.import_oracles import Truth, java
from bench.imports import python, score
from bench.rust_oracle import rust

pytestmark = pytest.mark.feature("E2")


def _written(root: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return sorted(files)


def test_python_finds_packages_without_init_below_src_and_stubs(tmp_path: Path) -> None:
    files = _written(
        tmp_path,
        {
            "pyproject.toml": "",
            "src/shop/shop.py": "from shop import tax\n",
            "src/shop/tax.py": "from shop import fast\n",
            "src/shop/fast.pyi": "",
            "tests/test_tax.py": "import shop.tax\n",
        },
    )
    assert python(tmp_path, files, None).wanted == {
        ("src/shop/shop.py", "src/shop/tax.py"),
        ("src/shop/tax.py", "src/shop/fast.pyi"),
        ("tests/test_tax.py", "src/shop/tax.py"),
    }


def test_java_finds_a_class_in_the_file_called_like_it(tmp_path: Path) -> None:
    files = _written(
        tmp_path,
        {
            "src/a/Use.java": "import b.Tax;\nimport static b.Tax.RATE;\nimport java.util.List;\n",
            "src/b/Tax.java": "package b;\n",
        },
    )
    assert java(tmp_path, files, None).wanted == {("src/a/Use.java", "src/b/Tax.java")}


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_rust_follows_modules_as_they_are_declared(tmp_path: Path) -> None:
    files = _written(
        tmp_path,
        {
            "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": '#[path = "odd.rs"]\npub mod tax;\npub mod cart;\n// mod no;\n',
            "src/odd.rs": "pub fn rate() {}\n",
            "src/cart.rs": "mod item;\nuse crate::{tax::{self, rate as r}, cart};\n"
            "mod tests {\n    use super::*;\n    use super::super::tax;\n}\n",
            "src/cart/item.rs": "use super::super::tax::rate;\nuse std::fs;\n",
            "src/no.rs": "",
            "tests/all.rs": "use shop::tax::rate;\n",
        },
    )
    truth = rust(tmp_path, files, None)
    assert truth.wanted == {
        ("src/lib.rs", "src/odd.rs"),
        ("src/lib.rs", "src/cart.rs"),
        ("src/cart.rs", "src/cart/item.rs"),
        ("src/cart.rs", "src/odd.rs"),
        ("src/cart/item.rs", "src/odd.rs"),
        ("tests/all.rs", "src/odd.rs"),
    }
    assert "src/no.rs" not in truth.about


def test_what_cannot_be_judged_counts_neither_way() -> None:
    truth = Truth({("a", "b"), ("a", "c"), ("a", "outside")}, {("a", "d")}, frozenset({"a"}))
    made = score({("a", "b"), ("a", "d"), ("a", "e")}, truth, ["a", "b", "c", "d", "e"])
    assert (made["precision"], made["recall"], made["not_judged"]) == (50.0, 50.0, 1)
    assert (made["wrong"], made["missed"]) == (["a -> e"], ["a -> c"])
