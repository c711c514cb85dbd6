"""What modules are for and how code is written, kept as memories once and only on request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.codegraph.trees import write
from tests.support.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from wellkept.api import Wellkept
from wellkept.core.errors import NotFoundError
from wellkept.core.settings.model import Settings
from wellkept.core.types import Source

pytestmark = pytest.mark.feature("E4")

FILES = {
    "shop/__init__.py": '"""Sells things by mail."""\n',
    "shop/cart.py": "class Cart:\n    pass\n",
    "app.py": '"""Starts the shop."""\nfrom shop.cart import Cart\n\nCart()\n',
    "pyproject.toml": "[tool.ruff]\nline-length = 88\n",
    ".gitignore": "data/\n",
}
SPLIT = "".join(f"x{n} = {n}\n" for n in range(600))


def opened(tmp_path: Path, settings: Settings | None = None) -> Wellkept:
    write(tmp_path, {**FILES, "shop/big.py": SPLIT})
    wk = open_in(tmp_path, settings=settings)
    wk.graph.build(workers=1)
    return wk


def texts(wk: Wellkept) -> dict[str, str]:
    return {memory.key or "": memory.content for memory in wk.list(tags=["code-map"]).items}


def test_modules_and_conventions_are_stored_with_source_and_evidence(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        report = wk.graph.summarise()
        kept = {m.key: m for m in wk.list(tags=["code-map"]).items}
    shop = kept["module:shop/"]
    assert shop.content.startswith("shop/ - Sells things by mail. Gives Cart.")
    assert shop.source is Source.OBSERVER_INFERRED
    assert [e.ref for e in shop.evidence] == ["shop/__init__.py"]
    assert shop.graph_node == "shop/"
    assert kept["convention:line length python"].evidence[0].ref == "pyproject.toml"
    assert report.count("new") == len(kept)


def test_summarising_again_adds_no_duplicates_and_follows_changes(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        wk.graph.summarise()
        before = wk.stats().total
        again = wk.graph.summarise()
        assert wk.stats().total == before
        assert {note.outcome for note in again.notes} == {"unchanged"}
        write(tmp_path, {"shop/__init__.py": '"""Sells things in town."""\n'})
        (tmp_path / "pyproject.toml").unlink()
        wk.graph.build(workers=1)
        outcomes = {note.key: note.outcome for note in wk.graph.summarise().notes}
        assert outcomes["module:shop/"] == "changed"
        assert outcomes["convention:line length python"] == "closed"
        assert "in town" in texts(wk)["module:shop/"]
        assert "convention:line length python" not in texts(wk)


def test_what_a_user_forgot_or_confirmed_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        wk.graph.summarise()
        by_key = {m.key: m for m in wk.list(tags=["code-map"]).items}
        wk.forget(by_key["convention:line length python"].id)
        wk.edit(by_key["module:shop/"].id, pinned=True)
        write(tmp_path, {"shop/__init__.py": '"""Something quite different."""\n'})
        wk.graph.build(workers=1)
        report = wk.graph.summarise()
        assert {n.key: n.outcome for n in report.notes}["module:shop/"] == "left"
        assert "by mail" in texts(wk)["module:shop/"]
        assert "convention:line length python" not in texts(wk)
        wk.graph.summarise(again=True)
        assert "convention:line length python" in texts(wk)


def test_a_dry_run_stores_nothing_and_reports(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        report = wk.graph.summarise(dry_run=True)
        assert report.count("new") > 0
        assert texts(wk) == {}
        assert wk.graph.summarise().count("new") == report.count("new")


def test_without_a_graph_it_says_what_to_do(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with open_in(tmp_path) as wk, pytest.raises(NotFoundError, match="no code graph"):
        wk.graph.summarise()


# -- With a model ---------------------------------------------------------------------------------

ANSWER = json.dumps(
    {"summary": "This module sells things by mail.", "conventions": ["Carts are never shared."]}
)


def asking(server: FakeEmbeddingServer, *, tokens: int = 1_000_000) -> Settings:
    return Settings(
        text_model_base_url=server.openai_url,
        text_model_name="small",
        capture_daily_model_tokens=tokens,
    )


def test_a_model_words_it_once_for_the_same_files(tmp_path: Path) -> None:
    server = FakeEmbeddingServer(Behaviour(completion=ANSWER))
    with server, opened(tmp_path, asking(server)) as wk:
        report = wk.graph.summarise()
        asked = len(server.seen)
        assert texts(wk)["module:shop/"] == "shop/ - This module sells things by mail."
        assert "Carts are never shared." in texts(wk).values()
        assert {n.made_by for n in report.notes if n.key == "module:shop/"} == {"model"}
        assert {n.outcome for n in wk.graph.summarise().notes} == {"unchanged"}
        assert len(server.seen) == asked
        wk.graph.summarise(model=False)
        assert "This module sells" in texts(wk)["module:shop/"]


def test_bad_answers_a_used_up_budget_and_a_dead_server_fall_back_to_rules(tmp_path: Path) -> None:
    with FakeEmbeddingServer(Behaviour(completion="I cannot say.")) as server:
        with opened(tmp_path, asking(server)) as wk:
            report = wk.graph.summarise()
            assert report.model_problem is not None
            assert "Sells things by mail." in texts(wk)["module:shop/"]
        with open_in(tmp_path, settings=asking(server, tokens=10)) as wk:
            asked = len(server.seen)
            report = wk.graph.summarise(again=True)
            assert report.model_problem == "The daily token budget of the model is used up."
            assert len(server.seen) == asked
        server.fail_next(*[Fault(drop=True)] * 10)
        with open_in(tmp_path, settings=asking(server)) as wk:
            report = wk.graph.summarise(again=True)
            assert report.model_problem
            assert "Sells things by mail." in texts(wk)["module:shop/"]
