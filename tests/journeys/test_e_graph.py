"""E. The code graph: what depends on what, and where things are."""

from __future__ import annotations

import json

import pytest

from tests.journeys.product import Installation


@pytest.fixture
def shop(here: Installation) -> Installation:
    here.file(
        "src/pay.py", "def pay(amount):\n    return amount\n\n\ndef unused():\n    return 1\n"
    )
    here.file(
        "src/cart.py",
        '"""The cart of a customer."""\n\nfrom src.pay import pay\n\n\n'
        "class Cart:\n    pass\n\n\nclass Basket(Cart):\n    pass\n\n\n"
        "def checkout(x):\n    total = pay(x)\n    return total\n",
    )
    here.file("web/page.ts", "export function draw(x: number) {\n  return x;\n}\n")
    here.file("tests/test_pay.py", "from src.pay import pay\n\n\ndef test_pay():\n    pay(1)\n")
    here.commit("Add a shop")
    return here


def names(answer: object) -> str:
    return json.dumps(answer)


@pytest.mark.feature("E1")
def test_e1_nodes_and_edges_also_those_that_people_draw(shop: Installation) -> None:
    shop.wellkept("graph", "build")
    status = shop.wellkept("graph", "show", "--json").json["status"]
    assert {"file", "function", "class"} <= set(status["nodes"])
    assert {"imports", "calls", "extends", "exports"} <= set(status["edges"])
    shop.wellkept("graph", "note", "invariant", "Amounts are cents")
    shop.wellkept("graph", "link", "src/pay.py", "depends_logically", "web/page.ts")
    shown = shop.wellkept("graph", "show", "web/page.ts", "--json").json
    drawn = [one for one in shown["used_by"] if one["kind"] == "depends_logically"]
    assert [(one["source"], one["auto"]) for one in drawn] == [("src/pay.py", False)]
    assert "Amounts are cents" in names(shop.wellkept("graph", "show", "--json").json)


@pytest.mark.feature("E2")
def test_e2_only_what_changed_is_read_again(shop: Installation) -> None:
    first = shop.wellkept("graph", "build", "--json").json
    assert first["reanalysed"] == 4
    shop.file("src/pay.py", "def pay(amount, tax):\n    return amount + tax\n")
    assert shop.wellkept("graph", "show", "--json").json["status"]["stale"] == ["src/pay.py"]
    again = shop.wellkept("graph", "build", "--json").json
    assert (again["reanalysed"], again["unchanged"]) == (1, 3)
    node = shop.wellkept("graph", "show", "pay", "--json").json["node"]
    assert node["signature"] == "def pay(amount, tax)"
    languages = shop.wellkept("graph", "show", "--json").json["status"]["languages"]
    assert set(languages) == {"python", "typescript"}


@pytest.mark.feature("E3")
def test_e3_impact_dependencies_flow_and_tests(shop: Installation) -> None:
    shop.wellkept("graph", "build")
    shop.remember("pay must not be called twice", "--type", "gotcha", "--file", "src/pay.py")
    impact = shop.wellkept("graph", "impact", "pay", "--json").json
    assert {"src/cart.py::checkout"} <= {one["node"]["id"] for one in impact["direct"]}
    assert impact["score"] > 0
    assert "tests/test_pay.py" in names(impact["tests"])
    assert "must not be called twice" in names(impact["memories"])
    deps = shop.wellkept("graph", "deps", "src/cart.py", "--json").json
    assert deps["files"] == ["src/pay.py"]
    assert "src/pay.py::unused" not in names(deps["transitive"])
    trace = shop.wellkept("graph", "trace", "checkout", "--json").json
    assert trace["paths"][0][0]["node"]["id"] == "src/pay.py::pay"
    cover = shop.wellkept("graph", "show", "src/pay.py", "--coverage", "--json").json["coverage"]
    assert cover["uncovered"] == ["src/pay.py::unused"]


@pytest.mark.feature("E4")
def test_e4_the_first_look_gives_modules_and_what_they_are(shop: Installation) -> None:
    def modules() -> dict[str, dict[str, str]]:
        found = shop.wellkept("graph", "map", "--json").json["modules"]
        return {one["name"]: one for one in found}

    opened = shop.wellkept("init")
    assert "modules" in opened.out
    assert {"src", "tests", "web"} <= set(modules())
    assert "pay" in modules()["src"]["summary"]
    assert any("src/" in text for text in shop.texts("--type", "module_insight"))
    shop.file("billing/tax.py", '"""Reckons the tax."""\n\n\ndef tax(x):\n    return x\n')
    assert "billing" not in modules()
    session = shop.session()
    session.start()
    session.prompt("Add the tax to the shop")
    session.end()
    shop.drain()
    assert "tax" in modules()["billing"]["summary"]


@pytest.mark.feature("E4", "E3")
def test_e4_code_is_read_at_the_first_session_unless_a_person_left_it_out(
    shop: Installation,
) -> None:
    def work(name: str) -> str:
        session = shop.session(name)
        session.start()
        told = session.prompt("Round the sums in src/pay.py to cents")
        session.end("Looked at the sums.")
        return told

    used = "used by src/cart.py; tests: tests/test_pay.py"
    assert used not in work("s-1")
    assert used in work("s-2")
    assert "src/cart.py" in shop.told("analyze_impact", target="src/pay.py")
    shop.wellkept("forget", "--all", "--yes")
    for path in shop.home.glob("*graph.db*"):
        path.unlink()
    shop.wellkept("init", "--no-graph")
    assert used not in work("s-3")
    assert used not in work("s-4")


@pytest.mark.feature("E5")
def test_e5_code_is_found_by_what_it_does(shop: Installation) -> None:
    # More files than are parsed for one question, so that their order decides.
    for number in range(20):
        shop.file(f"src/size_{number}.py", f"SIZE = {number}\n")
    shop.commit("Add sizes")
    found = shop.wellkept("graph", "search", "where does the customer check out", "--json").json
    assert found["files"][0]["path"] == "src/cart.py"
    told = shop.told("search_code", query="draw the page")
    assert "web/page.ts" in told.splitlines()[0]
