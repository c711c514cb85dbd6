"""Where imports lead in trees that are not laid out as a textbook would."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegraph.trees import built, edges

pytestmark = pytest.mark.feature("E1", "E2")


def _imports(tmp_path: Path, files: dict[str, str]) -> set[str]:
    return {edge for edge in edges(built(tmp_path, files)) if " imports " in edge}


def test_a_package_without_init_below_src_is_imported_by_its_name(tmp_path: Path) -> None:
    found = _imports(
        tmp_path,
        {
            "src/shop/config/__init__.py": "",
            "src/shop/config/rates.py": "from shop.tax import rate\n",
            "src/shop/tax.py": "def rate(): ...\n",
            "tests/test_tax.py": "from shop.config import rates\n",
        },
    )
    assert "src/shop/config/rates.py imports src/shop/tax.py" in found
    assert "tests/test_tax.py imports src/shop/config/rates.py" in found


def test_a_module_next_to_a_package_file_counts_only_if_it_has_an_imported_name(
    tmp_path: Path,
) -> None:
    found = _imports(
        tmp_path,
        {
            "shop/__init__.py": "",
            "shop/installer.py": "class Installer: ...\n",
            "shop/redis.py": "class Cache: ...\n",
            "shop/wheel.py": "from installer import install\nimport redis\n",
            "shop/script.py": "from installer import Installer\n",
            "plain/helper.py": "",
            "plain/script.py": "import helper\n",
        },
    )
    assert {edge for edge in found if edge.startswith("shop/wheel.py")} == set()
    assert "shop/script.py imports shop/installer.py" in found
    assert "plain/script.py imports plain/helper.py" in found


def test_super_in_a_module_inside_a_rust_file_means_that_file(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "Cargo.toml": '[package]\nname = "shop"\n',
            "src/lib.rs": "mod cart;\npub fn rate() {}\n",
            "src/cart.rs": "mod item;\npub fn total() {}\n"
            "mod tests {\n    use super::*;\n    use super::item::price;\n    use super::super::rate;\n"
            "    mod deep {\n        use super::super::total;\n        fn inner() { total(); }\n    }\n"
            "    fn works() { super::total(); price(); rate(); }\n}\n",
            "src/cart/item.rs": "pub fn price() { super::total(); }\n",
            "src/cart/tax/mod.rs": "use super::total;\nfn tax() { total(); }\n",
        },
    )
    found = edges(store)
    assert {edge for edge in found if edge.startswith("src/cart.rs imports ")} == {
        "src/cart.rs imports src/cart/item.rs",
        "src/cart.rs imports src/cart/item.rs::price",
        "src/cart.rs imports src/lib.rs",
        "src/cart.rs imports src/lib.rs::rate",
    }
    for line in (
        "src/cart.rs::tests.works calls src/cart.rs::total",
        "src/cart.rs::tests.works calls src/cart/item.rs::price",
        "src/cart.rs::tests.works calls src/lib.rs::rate",
        "src/cart.rs::tests.deep.inner calls src/cart.rs::total",
        "src/cart/item.rs::price calls src/cart.rs::total",
        "src/cart/tax/mod.rs imports src/cart.rs",
    ):
        assert line in found


def test_an_include_between_the_values_of_an_array_or_enum_is_seen(tmp_path: Path) -> None:
    found = _imports(
        tmp_path,
        {
            "codes.h": 'A = 1,\n#include "more.h"\n',
            "more.h": "B = 2,\n",
            "names.h": '"a",\n"b",\n',
            "use.c": 'enum code {\n#include "codes.h"\n    C,\n};\n\n'
            'static const char *names[] = {\n#include "names.h"\n};\n',
        },
    )
    assert {"use.c imports codes.h", "use.c imports names.h", "codes.h imports more.h"} <= found


def test_a_conditional_over_several_lines_does_not_hide_what_follows(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "a.c": "#if defined(A) && \\\n    defined(B) && (\\\n    C > 1)\nint one(void) {\n"
            "#else\nint one(int x) {\n#endif\n    return 1;\n}\n\nint two(void) { return one(); }\n"
        },
    )
    assert "a.c::two calls a.c::one" in edges(store)


def test_ruby_requires_are_found_in_lib_and_test_helpers_next_to_tests(
    tmp_path: Path,
) -> None:
    found = _imports(
        tmp_path,
        {
            "lib/shop/cart.rb": "require 'shop/tax'\n",
            "lib/shop/tax.rb": "",
            "gem/lib/extra.rb": "require 'shop/cart'\nrequire 'spec_helper'\n",
            "other/toolib/extra.rb": "",
            "spec/spec_helper.rb": "require 'extra'\n",
            "spec/shop/cart_spec.rb": "require 'spec_helper'\n",
        },
    )
    assert found == {
        "lib/shop/cart.rb imports lib/shop/tax.rb",
        "gem/lib/extra.rb imports lib/shop/cart.rb",
        "spec/spec_helper.rb imports gem/lib/extra.rb",
        "spec/shop/cart_spec.rb imports spec/spec_helper.rb",
    }


def test_the_nearest_of_several_packages_with_one_name_wins(tmp_path: Path) -> None:
    found = _imports(
        tmp_path,
        {
            "a/package.json": '{"name": "a"}',
            "a/tool/package.json": '{"name": "tool", "main": "index.js"}',
            "a/tool/index.js": "",
            "ab/tool/package.json": '{"name": "tool", "main": "index.js"}',
            "ab/tool/index.js": "import 'tool/index';\n",
            "a/tool/run.js": "import 'tool';\n",
            "ab/tool/run.js": "import 'tool';\n",
        },
    )
    assert "a/tool/run.js imports a/tool/index.js" in found
    assert "ab/tool/run.js imports ab/tool/index.js" in found


def test_global_usings_of_csharp_apply_to_all_files(tmp_path: Path) -> None:
    tax = "namespace Shop.Tax { class Rates { public static int Of() { return 1; } } }\n"
    use = "namespace Other { class Use { int Go() { return Rates.Of(); } } }\n"
    store = built(
        tmp_path,
        {
            "src/Shop/Tax/Rates.cs": tax,
            "src/App/GlobalUsings.cs": "global using Shop.Tax;\n",
            "src/App/Inner/Use.cs": use,
            "src/AppOther/Use.cs": use,
        },
    )
    called = {
        edge for edge in edges(store) if edge.endswith("calls src/Shop/Tax/Rates.cs::Rates.Of")
    }
    assert called == {"src/App/Inner/Use.cs::Use.Go calls src/Shop/Tax/Rates.cs::Rates.Of"}


def test_a_rust_crate_is_imported_by_its_library_whatever_else_the_manifest_names(
    tmp_path: Path,
) -> None:
    found = _imports(
        tmp_path,
        {
            "tax/Cargo.toml": '[package]\nname = "tax-rates"\n\n[[test]]\nname = "all"\npath = "tests/all.rs"\n',
            "tax/src/lib.rs": "pub fn rate() {}\n",
            "tax/tests/all.rs": "use tax_rates::rate;\n",
            "odd/Cargo.toml": '[package]\nname = "odd"\n\n[lib]\npath = "odd.rs"\n',
            "odd/odd.rs": "use tax_rates::rate;\npub fn odd() {}\n",
            "app/Cargo.toml": '[package]\nname = "app"\n',
            "app/src/main.rs": "use odd::odd;\n",
        },
    )
    assert {edge for edge in found if "::" not in edge} == {
        "tax/tests/all.rs imports tax/src/lib.rs",
        "odd/odd.rs imports tax/src/lib.rs",
        "app/src/main.rs imports odd/odd.rs",
    }
