"""Where values go inside one function, in every language."""

from __future__ import annotations

import pytest

from wellkept.graph.languages import language_of
from wellkept.graph.parse.extract import parse_syntax
from wellkept.graph.query.dataflow import FunctionFlow, ValueOrigin, read_flow

pytestmark = pytest.mark.feature("E3")


def flow_of(path: str, source: str, name: str, *, watched: str = "") -> FunctionFlow:
    language = language_of(path)
    assert language is not None
    found = parse_syntax(source.encode(), language)
    return read_flow(found.functions[name], language=language, calls=found.calls, watched=watched)


def moves(path: str, source: str, name: str, *, watched: str = "") -> set[str]:
    """Every move as `origin -> sink`."""
    flow = flow_of(path, source, name, watched=watched)

    def source_of(origin: ValueOrigin) -> str:
        return flow.call_sites[int(origin.name)].callee if origin.kind == "result" else origin.name

    return {
        f"{source_of(origin)} -> "
        + (f"{flow.call_sites[m.sink.call].callee}({m.sink.name})" if m.sink.call >= 0 else "")
        + ({"return": "return", "field": f"self.{m.sink.name}"}.get(m.sink.kind, ""))
        for origin, found in flow.moves.items()
        for m in found
    }


SAMPLES = [
    ("a.py", "f", "class A:\n    pass\n\ndef f(a, b):\n    x = g(a)\n    for k in x:\n        h(k)\n    o = T(b)\n    return x\n"),
    ("a.js", "f", "function f(a, b) { const x = g(a); for (const k of x) h(k); const o = new T(b); return x; }"),
    ("a.ts", "f", "const f = async (a: A, b: B) => { const x = await g(a); for (const k of x) { h(k); } new T(b); return x; };"),
    ("a.go", "f", "package p\nfunc f(a, b int) int { x, err := g(a); for _, k := range x { h(k) }; o := T{B: b}; _ = o; return x }"),
    ("a.rs", "f", "fn f(a: A, b: B) -> X { let x = g(a)?; for k in x { h(k); } let o = T { b }; x }"),
    ("A.java", "A.f", "class A { X f(P a, P b) { var x = g(a); for (K k : x) h(k); new T(b); return x; } }"),
    ("a.c", "f", "int f(int a, int b) { int x = g(a); while (x) { h(x); } T(b); return x; }"),
    ("a.cpp", "f", "int f(const P& a, P b) { auto x = g(a); for (auto k : x) h(k); auto o = new T(b); return x; }"),
    ("A.cs", "A.f", "class A { X f(P a, P b) { var x = g(a); foreach (var k in x) { h(k); } new T(b); return x; } }"),
    ("a.rb", "f", "def f(a, b)\n  x = g(a)\n  x.each { |k| h(k) }\n  o = T(b)\n  x\nend\n"),
    ("a.php", "f", "<?php function f($a, P $b) { $x = g($a); foreach ($x as $k) { h($k); } new T($b); return $x; }"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "name", "source"), SAMPLES)
def test_arguments_results_and_loops_are_followed(path: str, name: str, source: str) -> None:
    found = moves(path, source, name)
    assert {"a -> g(0)", "g -> h(0)", "g -> return"} <= found
    assert any(move.startswith("b -> T(") for move in found)
    assert not any(move in found for move in ("b -> return", "b -> g(0)", "a -> h(0)"))


FIELDS = [
    (
        "a.py",
        "A.f",
        "class A:\n    def f(self, a):\n        self.kept = a\n        g(self.other)\n",
    ),
    ("a.ts", "A.f", "class A { f(a: P) { this.kept = a; g(this.other); } }"),
    ("a.go", "A.f", "package p\nfunc (s *A) f(a int) { s.kept = a; g(s.other) }"),
    ("a.rs", "A.f", "impl A { fn f(&mut self, a: P) { self.kept = a; g(self.other); } }"),
    ("A.java", "A.f", "class A { void f(P a) { kept = a; g(this.other); } }"),
    ("a.cpp", "A.f", "void A::f(P a) { this->kept = a; g(other); }"),
    ("A.cs", "A.f", "class A { void f(P a) { this.kept = a; g(other); } }"),
    ("a.rb", "A.f", "class A\n  def f(a)\n    @kept = a\n    g(@other)\n  end\nend\n"),
    ("a.php", "A.f", "<?php class A { function f($a) { $this->kept = $a; g($this->other); } }"),
]


@pytest.mark.parametrize(("path", "name", "source"), FIELDS)
def test_fields_are_written_and_read(path: str, name: str, source: str) -> None:
    assert {"a -> self.kept", "other -> g(0)"} <= moves(path, source, name)


@pytest.mark.parametrize(
    ("body", "there", "not_there"),
    [
        ("x = a\nx = b\ng(x)", "b -> g(0)", "a -> g(0)"),
        ("if a == b:\n    x = a\nelse:\n    x = b\ng(x)", "a -> g(0)", "a -> return"),
        ("x, y = a, b\ng(y)", "b -> g(0)", "a -> g(0)"),
        ("g(a == b)", "", "a -> g(0)"),
        ("g(key=a, *b)", "a -> g(key)", "b -> g(key)"),
        ("g(*b)", "b -> g(*)", "a -> g(*)"),
        ("items = []\nitems.append(a)\ng(items)", "a -> g(0)", "b -> g(0)"),
        ("with o(a) as x:\n    g(x.y['k'])", "o -> g(0)", "a -> g(0)"),
        ("return [g(q) for q in a if b]", "a -> g(0)", "b -> return"),
        ("match a:\n    case {'k': t}:\n        g(t)", "a -> g(0)", "b -> g(0)"),
        ("a.map(lambda q: g(q))", "a -> g(0)", "b -> g(0)"),
        ("def inner():\n    return a\ng(b)", "b -> g(0)", "a -> return"),
        ("try:\n    x = a\nexcept E:\n    x = b\ng(x)", "b -> g(0)", "b -> return"),
        ("yield f'{a}' if b else 1", "a -> return", "b -> return"),
        ("x = a\nwhile g(x):\n    x = b", "b -> g(0)", "b -> return"),
    ],
)
def test_the_order_of_statements_and_all_branches_count(
    body: str, there: str, not_there: str
) -> None:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    found = moves("a.py", f"def f(a, b):\n{lines}", "f")
    assert not there or there in found
    assert not_there not in found


def test_a_promise_passes_its_value_to_then() -> None:
    source = "class K { m(a) { return this.load(a).then(r => this.show(r)); } }"
    found = moves("k.js", source, "K.m")
    assert {"a -> this.load(0)", "this.load -> this.show(0)"} <= found


def test_a_component_gets_its_attributes() -> None:
    found = moves("a.tsx", "const F = ({ a, b }) => { return <Card title={a} />; };", "F")
    assert "a -> Card(title)" in found
    assert "b -> Card(title)" not in found


def test_one_variable_can_be_watched() -> None:
    source = "def f(a):\n    x = g()\n    y = k()\n    h(x, y)\n"
    assert "x -> h(0)" in moves("a.py", source, "f", watched="x")
    assert "x -> h(1)" not in moves("a.py", source, "f", watched="x")
