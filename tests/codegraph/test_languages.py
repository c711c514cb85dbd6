"""Each language: symbols, imports that reach files, calls by scope and import, inheritance."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegraph.trees import NAME, built, edges

pytestmark = pytest.mark.feature("E1", "E2")

PYTHON = {
    "src/shop/__init__.py": "from .cart import Cart as Basket\n",
    "src/shop/cart.py": "from shop.base import Store\nfrom .tax import rate\n\n\nclass Cart(Store):\n"
    "    def total(self):\n        self.load()\n        return rate()\n",
    "src/shop/base.py": "from typing import Protocol\n\n\nclass Shape(Protocol):\n    def load(self): ...\n\n\n"
    "class Store(Shape):\n    def load(self):\n        return 1\n",
    "src/shop/tax.py": "def rate():\n    return 2\n\n\ndef load():\n    return 3\n",
    "tests/test_cart.py": "import shop\n\n\ndef test_total():\n    cart = shop.Basket()\n    assert cart.total()\n",
}
PYTHON_EDGES = [
    "src/shop/__init__.py imports src/shop/cart.py::Cart",
    "src/shop/cart.py imports src/shop/base.py",
    "src/shop/cart.py::Cart extends src/shop/base.py::Store",
    "src/shop/base.py::Store implements src/shop/base.py::Shape",
    "src/shop/cart.py::Cart.total calls src/shop/base.py::Store.load",
    "src/shop/cart.py::Cart.total calls src/shop/tax.py::rate",
    "tests/test_cart.py imports src/shop/__init__.py",
    "tests/test_cart.py::test_total calls src/shop/cart.py::Cart",
    "tests/test_cart.py::test_total calls src/shop/cart.py::Cart.total",
    "tests/test_cart.py depends_logically src/shop/cart.py",
]
TYPESCRIPT = {
    "tsconfig.json": '{ // where things are\n "compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["src/lib/*"]},},\n}',
    "packages/kit/package.json": '{"name": "@acme/kit"}',
    "packages/kit/src/index.ts": "export const tool = () => 1;\n",
    "src/lib/index.ts": "export * from './store';\nexport { helper as help } from './util';\nexport default class Main {}\n",
    "src/lib/store.ts": "import { helper, Util } from './util.js';\nexport interface Shape { area(): number }\n"
    "export class Store<T> implements Shape {\n  private util: Util;\n  area() { helper(); return this.get(); }\n"
    "  get() { return this.util.run(); }\n}\n",
    "src/lib/util.ts": "export function helper() {}\nexport class Util { run() {} }\n",
    "src/old.js": "const { helper } = require('./lib/util');\nmodule.exports = { go };\nfunction go() { helper(); }\n",
    "src/app/main.tsx": "import Main, { Store, help } from '@lib/index';\nimport { tool } from '@acme/kit';\n"
    "const s: Store<number> = new Store();\n"
    "export function App() { help(); tool(); s.get(); new Main(); return <Panel/>; }\nfunction Panel() { return null }\n",
    "src/app/main.test.tsx": "import { App } from './main';\ntest('x', () => { App() });\n",
}
TYPESCRIPT_EDGES = [
    "src/app/main.tsx imports src/lib/index.ts",
    "src/app/main.tsx imports packages/kit/src/index.ts",
    "src/app/main.tsx::App calls packages/kit/src/index.ts::tool",
    "src/app/main.tsx::App calls src/lib/util.ts::helper",
    "src/app/main.tsx::App calls src/lib/store.ts::Store.get",
    "src/app/main.tsx::App calls src/lib/index.ts::Main",
    "src/app/main.tsx::App calls src/app/main.tsx::Panel",
    "src/lib/store.ts::Store implements src/lib/store.ts::Shape",
    "src/lib/store.ts::Store.get calls src/lib/util.ts::Util.run",
    "src/lib/index.ts exports src/lib/util.ts::helper",
    "src/old.js imports src/lib/util.ts",
    "src/old.js::go calls src/lib/util.ts::helper",
    "src/app/main.test.tsx depends_logically src/app/main.tsx",
]
GO = {
    "go.mod": "module example.com/shop\n\ngo 1.22\n",
    "main.go": 'package main\n\nimport (\n\t"fmt"\n\tstock "example.com/shop/internal/store"\n)\n\n'
    "func main() {\n\ts := stock.Open()\n\tfmt.Println(s)\n}\n",
    "internal/store/store.go": "package store\n\ntype Reader interface { Read() int }\n\ntype Store struct {\n\tcache *Cache\n}\n\n"
    "func Open() *Store { return &Store{} }\n\nfunc (s *Store) Read() int {\n\ts.warm()\n\treturn s.cache.Get()\n}\n",
    "internal/store/cache.go": "package store\n\ntype Cache struct{}\n\nfunc (c *Cache) Get() int { return 1 }\n\nfunc (s *Store) warm() {}\n",
    "internal/store/store_test.go": "package store\n\nfunc TestOpen(t *T) { Open() }\n",
}
GO_EDGES = [
    "main.go imports internal/store/store.go",
    "main.go::main calls internal/store/store.go::Open",
    "internal/store/store.go::Store.Read calls internal/store/cache.go::Store.warm",
    "internal/store/store.go::Store.Read calls internal/store/cache.go::Cache.Get",
    "internal/store/store_test.go::TestOpen calls internal/store/store.go::Open",
    "internal/store/store_test.go depends_logically internal/store/store.go",
]
RUST = {
    "Cargo.toml": '[package]\nname = "shop-app"\n',
    "src/lib.rs": "pub mod store;\nmod util;\nuse crate::store::{Store, cache::{self, Cache as C}};\n\n"
    "pub fn open() -> Store {\n    util::help();\n    cache::warm();\n    C::new();\n    Store::new()\n}\n",
    "src/store/mod.rs": "pub mod cache;\nuse super::util::help;\npub trait Read { fn read(&self); }\npub struct Store;\n"
    "impl Store {\n    pub fn new() -> Self { help(); Store }\n    fn close(&self) { self.flush(); }\n    fn flush(&self) {}\n}\n"
    "impl Read for Store { fn read(&self) { crate::util::help(); } }\n",
    "src/store/cache.rs": "pub struct Cache;\nimpl Cache { pub fn new() {} }\npub fn warm() {}\n",
    "src/util.rs": "pub fn help() {}\n",
    "tests/it.rs": "use shop_app::open;\n#[test]\nfn works() { open(); }\n",
}
RUST_EDGES = [
    "src/lib.rs imports src/store/mod.rs",
    "src/lib.rs imports src/store/cache.rs",
    "src/lib.rs::open calls src/util.rs::help",
    "src/lib.rs::open calls src/store/cache.rs::warm",
    "src/lib.rs::open calls src/store/cache.rs::Cache.new",
    "src/lib.rs::open calls src/store/mod.rs::Store.new",
    "src/store/mod.rs::Store.new calls src/util.rs::help",
    "src/store/mod.rs::Store.close calls src/store/mod.rs::Store.flush",
    "src/store/mod.rs::Store.read calls src/util.rs::help",
    "src/store/mod.rs::Store implements src/store/mod.rs::Read",
    "tests/it.rs::works calls src/lib.rs::open",
]
JAVA = {
    "src/main/java/org/shop/Cart.java": "package org.shop;\n\nimport org.shop.base.Store;\nimport static org.shop.base.Tax.rate;\n\n"
    "public class Cart extends Store implements Readable {\n  private Item item;\n  int total() { load(); item.price(); return rate(); }\n}\n",
    "src/main/java/org/shop/Item.java": "package org.shop;\n\nclass Item { int price() { return 1; } }\n",
    "src/main/java/org/shop/Readable.java": "package org.shop;\n\ninterface Readable {}\n",
    "src/main/java/org/shop/base/Store.java": "package org.shop.base;\n\npublic class Store { protected void load() {} }\n",
    "src/main/java/org/shop/base/Tax.java": "package org.shop.base;\n\npublic class Tax { public static int rate() { return 2; } }\n",
    "src/test/java/org/shop/CartTest.java": "package org.shop;\n\nclass CartTest { void works() { new Cart().total(); } }\n",
}
_J = "src/main/java/org/shop"
JAVA_EDGES = [
    f"{_J}/Cart.java imports {_J}/base/Store.java",
    f"{_J}/Cart.java::Cart extends {_J}/base/Store.java::Store",
    f"{_J}/Cart.java::Cart implements {_J}/Readable.java::Readable",
    f"{_J}/Cart.java::Cart.total calls {_J}/base/Store.java::Store.load",
    f"{_J}/Cart.java::Cart.total calls {_J}/Item.java::Item.price",
    f"{_J}/Cart.java::Cart.total calls {_J}/base/Tax.java::Tax.rate",
    f"src/test/java/org/shop/CartTest.java::CartTest.works calls {_J}/Cart.java::Cart",
    f"src/test/java/org/shop/CartTest.java depends_logically {_J}/Cart.java",
]
C = {
    "include/shop/list.h": "#ifndef L\n#define L\nint list_size(void);\n#endif\n",
    "src/list.c": '#include "shop/list.h"\nstatic int helper(void) { return 1; }\nint list_size(void) { return helper(); }\n',
    "src/main.c": '#include <stdio.h>\n#include "shop/list.h"\nint main(void) { printf("x"); return list_size(); }\n',
}
C_EDGES = [
    "src/main.c imports include/shop/list.h",
    "src/main.c::main calls src/list.c::list_size",
    "src/list.c::list_size calls src/list.c::helper",
]
CPP = {
    "store.hpp": "namespace shop {\nclass Base { public: virtual void load() {} };\nclass Store : public Base {\n public:\n  void open();\n  void close();\n};\n}\n",
    "store.cpp": '#include "store.hpp"\nnamespace shop {\nvoid Store::open() { load(); this->close(); }\nvoid Store::close() {}\n}\n',
    "main.cpp": '#include "store.hpp"\nint main() { shop::Store s; s.open(); }\n',
}
CPP_EDGES = [
    "main.cpp imports store.hpp",
    "store.hpp::Store extends store.hpp::Base",
    "store.cpp::Store.open calls store.hpp::Base.load",
    "store.cpp::Store.open calls store.cpp::Store.close",
    "main.cpp::main calls store.cpp::Store.open",
]
CSHARP = {
    "Shop/Cart.cs": "using Shop.Base;\nnamespace Shop;\npublic class Cart : Store, IReadable {\n  private Item item;\n"
    "  public int Total() { Load(); return item.Price(); }\n}\n",
    "Shop/Item.cs": "namespace Shop { public class Item { public int Price() { return 1; } } public interface IReadable {} }\n",
    "Shop/Base/Store.cs": "namespace Shop.Base { public class Store { protected void Load() {} } }\n",
    "Shop.Tests/CartTests.cs": "using Shop;\nnamespace Shop.Tests;\npublic class CartTests { void Works() { var c = new Cart(); c.Total(); } }\n",
}
CSHARP_EDGES = [
    "Shop/Cart.cs imports Shop/Base/Store.cs",
    "Shop/Cart.cs::Cart extends Shop/Base/Store.cs::Store",
    "Shop/Cart.cs::Cart implements Shop/Item.cs::IReadable",
    "Shop/Cart.cs::Cart.Total calls Shop/Base/Store.cs::Store.Load",
    "Shop/Cart.cs::Cart.Total calls Shop/Item.cs::Item.Price",
    "Shop.Tests/CartTests.cs::CartTests.Works calls Shop/Cart.cs::Cart",
    "Shop.Tests/CartTests.cs depends_logically Shop/Cart.cs",
]
RUBY = {
    "lib/shop.rb": 'require "shop/cart"\nrequire_relative "shop/tax"\nautoload :Gift, "shop/gift"\n',
    "lib/shop/gift.rb": "class Gift\nend\n",
    "lib/shop/cart.rb": "class Cart < BaseStore\n  def total\n    load_all\n    Tax.rate\n  end\nend\n",
    "lib/shop/tax.rb": "class Tax\n  def self.rate\n    1\n  end\nend\n",
    "lib/shop/base_store.rb": "class BaseStore\n  def load_all\n  end\nend\n",
    "spec/cart_spec.rb": "describe Cart do\n  Cart.new.total\nend\n",
}
RUBY_EDGES = [
    "lib/shop.rb imports lib/shop/cart.rb",
    "lib/shop.rb imports lib/shop/tax.rb",
    "lib/shop.rb imports lib/shop/gift.rb",
    "lib/shop/cart.rb::Cart extends lib/shop/base_store.rb::BaseStore",
    "lib/shop/cart.rb::Cart.total calls lib/shop/base_store.rb::BaseStore.load_all",
    "lib/shop/cart.rb::Cart.total calls lib/shop/tax.rb::Tax.rate",
    "spec/cart_spec.rb depends_logically lib/shop/cart.rb",
]
PHP = {
    "composer.json": '{"autoload": {"psr-4": {"App\\\\": "src/"}}}',
    "src/Cart.php": "<?php\nnamespace App;\n\nuse App\\Base\\Store;\n\nclass Cart extends Store implements Readable {\n"
    "  public function total(Item $item) { $this->load(); $item->price(); return Tax::rate(); }\n}\n",
    "src/Item.php": "<?php\nnamespace App;\nclass Item { public function price() {} }\n",
    "src/Readable.php": "<?php\nnamespace App;\ninterface Readable {}\n",
    "src/Tax.php": "<?php\nnamespace App;\nclass Tax { public static function rate() {} }\n",
    "src/Base/Store.php": "<?php\nnamespace App\\Base;\nclass Store { protected function load() {} }\n",
    "tests/CartTest.php": "<?php\nuse App\\Cart;\nclass CartTest { function testTotal() { $c = new Cart(); $c->total(); } }\n",
}
PHP_EDGES = [
    "src/Cart.php imports src/Base/Store.php",
    "src/Cart.php::Cart extends src/Base/Store.php::Store",
    "src/Cart.php::Cart implements src/Readable.php::Readable",
    "src/Cart.php::Cart.total calls src/Base/Store.php::Store.load",
    "src/Cart.php::Cart.total calls src/Item.php::Item.price",
    "src/Cart.php::Cart.total calls src/Tax.php::Tax.rate",
    "tests/CartTest.php::CartTest.testTotal calls src/Cart.php::Cart.total",
    "tests/CartTest.php depends_logically src/Cart.php",
]


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        pytest.param(PYTHON, PYTHON_EDGES, id="python"),
        pytest.param(TYPESCRIPT, TYPESCRIPT_EDGES, id="typescript"),
        pytest.param(GO, GO_EDGES, id="go"),
        pytest.param(RUST, RUST_EDGES, id="rust"),
        pytest.param(JAVA, JAVA_EDGES, id="java"),
        pytest.param(C, C_EDGES, id="c"),
        pytest.param(CPP, CPP_EDGES, id="cpp"),
        pytest.param(CSHARP, CSHARP_EDGES, id="csharp"),
        pytest.param(RUBY, RUBY_EDGES, id="ruby"),
        pytest.param(PHP, PHP_EDGES, id="php"),
    ],
)
def test_imports_calls_and_inheritance_of_a_language_are_extracted(
    tmp_path: Path, files: dict[str, str], wanted: list[str]
) -> None:
    store = built(tmp_path, files)
    status = store.status(NAME)
    assert not status.failed
    assert [line for line in wanted if line not in edges(store)] == []


def test_a_call_is_not_linked_by_its_bare_name(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "a.py": "def load():\n    pass\n",
            "b.py": "def go(load):\n    load()\n\n\ndef other():\n    load()\n    missing.load()\n",
            "c.py": "from a import load\n\n\ndef go():\n    load()\n\n\ndef own(load):\n    load()\n",
        },
    )
    assert {line for line in edges(store) if " calls " in line} == {"c.py::go calls a.py::load"}


def test_a_reexported_name_is_followed_to_its_definition(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "p/__init__.py": "from .x import *\nfrom . import y\n",
            "p/x.py": "def one():\n    pass\n",
            "p/y.py": "from p import one\n\n\ndef two():\n    one()\n",
            "use.py": "import p\nfrom p import y\n\np.one()\np.y.two()\ny.two()\n",
        },
    )
    found = edges(store)
    assert "use.py calls p/x.py::one" in found
    assert "use.py calls p/y.py::two" in found
    assert "p/y.py::two calls p/x.py::one" in found


def test_a_header_is_read_as_the_language_it_is_written_in(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "pool.h": "#pragma once\nnamespace shop {\nclass Base {};\nclass Pool : public Base {\n"
            " public:\n  int take() { return one(); }\n  int one() { return 1; }\n};\n}\n",
            "main.cpp": '#include "pool.h"\nint main() { shop::Pool p; return p.take(); }\n',
            "plain.h": '#ifdef __cplusplus\nextern "C" {\n#endif\nstruct list { int class_; };\n#endif\n',
        },
    )
    found = edges(store)
    assert "pool.h::Pool extends pool.h::Base" in found
    assert "pool.h::Pool.take calls pool.h::Pool.one" in found
    assert "main.cpp::main calls pool.h::Pool.take" in found
    assert [n.id for n in store.symbols(NAME, ["plain.h"])] == ["plain.h::list"]


def test_importing_a_configuration_file_does_not_stop_the_build(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "package.json": '{"name": "shop", "version": "1.0.0"}',
            "main.ts": "import pkg from './package.json';\nexport function run(x) { x.render(); }\n"
            "console.log(pkg.version);\n",
        },
    )
    assert "main.ts imports package.json" in edges(store)


def test_specifiers_resolve_as_in_the_compiler(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "package.json": '{"name": "shop", "imports": {"#types/*": "./types/*.d.ts", "#db": {"node": "./src/db.ts"}}}',
            "tsconfig.json": '{"extends": ["./base.json/../tsconfig.base.json", "@shop/tsconfig/strict.json"],'
            ' "compilerOptions": {"baseUrl": "./src"}}',
            "tsconfig.base.json": '{"compilerOptions": {"paths": {"~/*": ["gone/*", "lib/*"], "~/special/*": ["nowhere/*"]}}}',
            "tools/tsconfig/package.json": '{"name": "@shop/tsconfig"}',
            "tools/tsconfig/strict.json": '{"compilerOptions": {"strict": true}}',
            "types/money.d.ts": "export type Money = number;\n",
            "src/db.ts": "export const db = 1;\n",
            "src/lib/tax.ts": "export const rate = 1;\n",
            "src/lib/special/deal.ts": "export const deal = 1;\n",
            "src/both.js": "module.exports = 1;\n",
            "src/both/index.ts": "export const both = 1;\n",
            "src/view.tsx": "export const View = () => null;\n",
            "src/late.mts": "export const late = 1;\n",
            "src/main.ts": "import type { Money } from '#types/money';\nimport { db } from '#db';\n"
            "import { rate } from '~/tax';\nimport { deal } from '~/special/deal';\n"
            "import { both } from './both';\nimport { View } from './view.jsx';\nimport late from 'late.mjs';\n"
            "const lazy = import(/* chunk */ './lazy');\nconst quoted = import(`./quoted`);\n"
            "let n: import('./typed').N;\n",
            "src/lazy.ts": "export default 1;\n",
            "src/quoted.ts": "export default 1;\n",
            "src/typed.ts": "export type N = 1;\n",
            "src/more.ts": "export {};\ndeclare module './db' { interface Db {} }\n",
            "src/ambient.d.ts": "declare module './db' { interface Db {} }\n",
        },
    )
    found = sorted(
        line.removeprefix("src/")
        for line in edges(store)
        if " imports " in line and "::" not in line
    )
    assert found == [
        "main.ts imports src/both/index.ts",
        "main.ts imports src/db.ts",
        "main.ts imports src/late.mts",
        "main.ts imports src/lazy.ts",
        "main.ts imports src/lib/tax.ts",
        "main.ts imports src/quoted.ts",
        "main.ts imports src/typed.ts",
        "main.ts imports src/view.tsx",
        "main.ts imports types/money.d.ts",
        "more.ts imports src/db.ts",
    ]


def test_a_package_of_the_workspace_is_followed_to_its_sources(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "packages/kit/package.json": '{"name": "@acme/kit", "exports": {".": {"import": "./dist/index.mjs"},'
            ' "./extra/*": "./dist/more/*.mjs"}}',
            "packages/kit/src/index.ts": "export const tool = () => 1;\n",
            "packages/kit/src/more/saw.ts": "export const saw = () => 1;\n",
            "packages/app/main.ts": "import { tool } from '@acme/kit';\nimport { saw } from '@acme/kit/extra/saw';\n"
            "import React from 'react';\n",
            "test/fixtures/react/package.json": '{"name": "react"}',
            "test/fixtures/react/index.ts": "export default 1;\n",
            "web/tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.app.json"}]}',
            "web/tsconfig.app.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
            "web/src/a.ts": "import { b } from '@/b';\n",
            "web/src/b.ts": "export const b = 1;\n",
        },
    )
    assert {line for line in edges(store) if " imports " in line and "::" not in line} == {
        "packages/app/main.ts imports packages/kit/src/index.ts",
        "packages/app/main.ts imports packages/kit/src/more/saw.ts",
        "web/src/a.ts imports web/src/b.ts",
    }


def test_macros_and_conditionals_do_not_hide_definitions(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "api.h": "#pragma once\nSHOP_BEGIN_NAMESPACE\nnamespace shop {\nclass SHOP_API Cart SHOP_FINAL(1) {\n"
            " public:\n  SHOP_INLINE const Item& at(int i) const SHOP_NOEXCEPT { return get(i); }\n"
            "  Item& get(int i) { return items[i]; }\n#ifdef WIDE\n  int wide() {\n#else\n  int narrow() {\n#endif\n"
            "    return 1;\n  }\n};\n}\nSHOP_END_NAMESPACE\n",
            "cart.cc": '#include "api.h"\ntemplate <> struct Tax<int> { operator bool() const { return true; } };\n'
            "TEST_F(CartTest, Adds) { shop::Cart c; c.at(1); }\n",
            "Log.cs": "namespace Shop;\npublic interface ILog\n#if NET\n  : IDisposable {\n#else\n  {\n#endif\n  void Write();\n}\n",
        },
    )
    names = {n.id for n in store.symbols(NAME, ["api.h", "cart.cc", "Log.cs"])}
    assert names == {
        "api.h::Cart", "api.h::Cart.at", "api.h::Cart.get", "api.h::Cart.wide",
        "cart.cc::Tax", "cart.cc::Tax.operator bool", "cart.cc::CartTest.Adds",
        "Log.cs::ILog", "Log.cs::ILog.Write",
    }  # fmt: skip
    found = edges(store)
    assert "api.h::Cart.at calls api.h::Cart.get" in found
    assert "cart.cc::CartTest.Adds calls api.h::Cart.at" in found


def test_interface_methods_and_aliases_of_go_and_compact_names_of_ruby_are_symbols(
    tmp_path: Path,
) -> None:
    store = built(
        tmp_path,
        {
            "a.go": "package a\n\ntype Reader interface { Read() int }\ntype ID [4]byte\ntype Old = ID\n\n"
            "func use(r Reader) { r.Read() }\n",
            "b.rb": "module Shop; end\nclass Shop::Cart\n  def total; end\nend\n",
        },
    )
    assert {n.id for n in store.symbols(NAME, ["a.go", "b.rb"])} == {
        "a.go::Reader", "a.go::Reader.Read", "a.go::ID", "a.go::Old", "a.go::use",
        "b.rb::Shop", "b.rb::Shop.Cart", "b.rb::Shop.Cart.total",
    }  # fmt: skip
    assert "a.go::use calls a.go::Reader.Read" in edges(store)


def test_calls_are_resolved_by_return_types_and_variable_types(
    tmp_path: Path,
) -> None:
    store = built(
        tmp_path,
        {
            "shop.py": "from __future__ import annotations\nfrom typing import Iterator, Optional\n\n\n"
            "class Tax:\n    def rate(self): ...\n\n\nclass Cart:\n    def __init__(self, tax: Tax):\n        self.tax = tax\n\n"
            "    @property\n    def own(self) -> Optional[Tax]: ...\n\n    def me(self) -> 'Cart': ...\n\n"
            "    def total(self):\n        self.tax.rate()\n\n\ndef cart() -> Iterator[Cart]: ...\n\n\nbasket = Cart(Tax())\n",
            "use.py": "import shop\nfrom shop import Cart, basket\n\n\ndef made():\n    c = shop.cart()\n    c.total()\n\n\n"
            "async def opened():\n    async with Cart() as c:\n        c = c.me()\n        c.total()\n\n\n"
            "def chained(c: Cart | None):\n    c.me().own.rate()\n\n\ndef shared():\n    basket.total()\n\n\n"
            "def either(x):\n    c = Cart()\n    c = x.cart()\n    c.total()\n",
            "web.ts": "export class Http { get(): Promise<Reply> { return null } }\nexport class Reply { json() {} }\n"
            "export class Api { constructor(private readonly http: Http) {}\n"
            "  async load() { const r = await this.http.get(); r.json(); } }\nexport const api = new Api(null);\n",
            "page.ts": "import { api } from './web';\nexport function show() { api.load(); }\n",
            "a.go": "package a\n\ntype Store struct{}\n\nfunc (s *Store) Close() {}\n\nfunc Open() (*Store, error) { return nil, nil }\n\n"
            "func use() {\n\ts, err := Open()\n\ts.Close()\n\t_ = err\n}\n",
            "lib.rs": "pub struct Store;\nimpl Store {\n    pub fn open() -> Result<Self, Error> { Ok(Store) }\n    fn close(&mut self) {}\n}\n"
            "fn use_it(other: &mut Store) { let s = Store::open()?; s.close(); }\nfn lent(other: &'a mut Store) { other.close(); }\n",
            "A.java": "class A { Item item() { return null; } void go() { var i = item(); i.price(); item().price(); } }\n"
            "class Item { void price() {} }\n",
            "A.cs": "class A { Task<Item> Find() => null; async void Go() { var i = await Find(); i.Price(); } }\nclass Item { void Price() {} }\n",
            "A.php": "<?php\nclass A { function __construct(private Item $item) {} function find(): ?Item {}\n"
            "  function go() { $i = $this->find(); $i->price(); }\n  function own() { $this->item->price(); } }\n"
            "class Item { function price() {} }\n",
            "a.cpp": "struct Item { void price(); };\nvoid Item::price() {}\nItem find() { return Item(); }\n"
            "void go() { auto i = find(); i.price(); std::unique_ptr<Item> p; p->price(); }\n",
        },
    )
    wanted = {
        "shop.py::Cart.total calls shop.py::Tax.rate",
        "use.py::made calls shop.py::Cart.total",
        "use.py::opened calls shop.py::Cart.total",
        "use.py::chained calls shop.py::Tax.rate",
        "use.py::shared calls shop.py::Cart.total",
        "web.ts::Api.load calls web.ts::Reply.json",
        "page.ts::show calls web.ts::Api.load",
        "a.go::use calls a.go::Store.Close",
        "lib.rs::use_it calls lib.rs::Store.close",
        "lib.rs::lent calls lib.rs::Store.close",
        "A.java::A.go calls A.java::Item.price",
        "A.cs::A.Go calls A.cs::Item.Price",
        "A.php::A.go calls A.php::Item.price",
        "A.php::A.own calls A.php::Item.price",
        "a.cpp::go calls a.cpp::Item.price",
    }
    found = edges(store)
    assert wanted - found == set()
    sure = {f"{e.source} {e.target}" for e in store.edges(NAME) if e.confidence > 0.5}
    assert "use.py::either shop.py::Cart.total" not in sure


def test_the_same_name_resolves_separately_in_each_function(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "stock.py": "class Cart:\n    def pay(self): ...\n\n\n"
            "class Purse:\n    def pay(self): ...\n\n\ndef paid(): ...\n",
            "shop.py": "from stock import Cart, Purse, paid\n\n\n"
            "def first(till: Cart):\n    till.pay()\n    paid()\n\n\n"
            "def second(till: Purse):\n    till.pay()\n    paid()\n\n\n"
            "def third():\n    till.pay()\n    paid()\n\n\n"
            "def fourth(paid):\n    paid()\n\n\n"
            "class A(Cart):\n    def go(self):\n        self.pay()\n        paid()\n\n\n"
            "class B(Purse):\n    def go(self):\n        self.pay()\n        paid()\n",
        },
    )
    assert {edge for edge in edges(store) if " calls " in edge and edge.startswith("shop")} == {
        "shop.py::first calls stock.py::Cart.pay",
        "shop.py::second calls stock.py::Purse.pay",
        "shop.py::A.go calls stock.py::Cart.pay",
        "shop.py::B.go calls stock.py::Purse.pay",
        *(
            f"shop.py::{caller} calls stock.py::paid"
            for caller in ("first", "second", "third", "A.go", "B.go")
        ),
    }


def test_a_tree_that_is_a_package_itself_is_imported_by_the_name_of_its_folder(
    tmp_path: Path,
) -> None:
    store = built(
        tmp_path,
        {
            "__init__.py": "from tree.shop import cart\n",
            "shop/__init__.py": "",
            "shop/cart.py": "import tree.tax as tax\nimport tree.tax\nfrom .. import tax as same\n\n\n"
            "def go():\n    tree.tax.rate()\n",
            "tax.py": "def rate(): ...\n",
        },
    )
    found = edges(store)
    assert "__init__.py imports shop/cart.py" in found
    assert "shop/cart.py imports tax.py" in found
    assert "shop/cart.py::go calls tax.py::rate" in found


def test_a_rust_crate_root_is_found_by_location_or_manifest(
    tmp_path: Path,
) -> None:
    store = built(
        tmp_path,
        {
            "Cargo.toml": '[package]\nname = "shop"\n\n[[bin]]\nname = "shop"\npath = "app/start.rs"\n',
            "app/start.rs": 'mod cart;\n#[path = "odd/place.rs"]\nmod tax;\nfn main() { tax::rate(); }\n',
            "app/cart.rs": "use crate::tax::rate;\nmod item;\nfn total() { rate(); }\n",
            "app/cart/item.rs": "use crate::cart;\n",
            "app/odd/place.rs": "pub fn rate() {}\n",
            "tests/it.rs": "mod common;\n#[test]\nfn works() { common::setup(); }\n",
            "tests/common/mod.rs": "pub fn setup() {}\n",
        },
    )
    found = edges(store)
    for line in (
        "app/start.rs imports app/cart.rs",
        "app/start.rs imports app/odd/place.rs",
        "app/start.rs::main calls app/odd/place.rs::rate",
        "app/cart.rs imports app/cart/item.rs",
        "app/cart/item.rs imports app/cart.rs",
        "tests/it.rs imports tests/common/mod.rs",
        "tests/it.rs::works calls tests/common/mod.rs::setup",
    ):
        assert line in found


def test_the_scripts_of_components_are_read(tmp_path: Path) -> None:
    store = built(
        tmp_path,
        {
            "App.vue": '<template><p>function no() {}</p></template>\n<script setup lang="ts">\n'
            "import { rate } from './tax';\nfunction show() { rate(); }\n</script>\n<style>p { color: red }</style>\n",
            "tax.ts": "export function rate() {}\n",
            "main.ts": "import App from './App.vue';\n",
        },
    )
    symbols = store.symbols(NAME, ["App.vue"])
    assert [(n.qualname, n.line) for n in symbols] == [("show", 4)]
    assert {"App.vue::show calls tax.ts::rate", "main.ts imports App.vue"} <= edges(store)
