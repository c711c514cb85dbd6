"""PostgreSQL and SQLite give the same hits with the same scores for the same memories."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.postgres.tenants import open_tenant
from tests.support.samples import Samples
from wellkept.core.changes import Close, Delete, IndexEntry, Replace
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, RetrieverHit
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Scope
from wellkept.store import open_store
from wellkept_team.postgres.search.vector_index import LARGE_PROJECT
from wellkept_team.postgres.store import PostgresStore

pytestmark = pytest.mark.feature("T1")
HERE = Filter(project="example")
WORDS = (
    "deploy", "deploys", "deployed", "build", "cache", "token", "parser", "café", "naïve", "Test",
    "tests", "getUserName", "models.py", "foo_bar", "部署前先运行测试", "データベース", "über", "x1",
)  # fmt: skip


def _text(chance: random.Random, *, most: int = 14) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, most)))


@pytest.fixture(params=[LARGE_PROJECT, 100], ids=["few memories", "many memories"])
def pair(
    postgres_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Store, PostgresStore]]:
    """Both engines with the same 300 memories, some of them changed, closed and deleted.

    To one store of PostgreSQL they are few and looked at one by one, to the other they are many.
    """
    sqlite = open_store(tmp_path / "s.db")
    postgres = open_tenant(postgres_url, tmp_path, large_project=request.param)
    samples, chance = Samples(), random.Random(16)
    inserts = [
        samples.insert(
            _text(chance),
            extra=_text(chance, most=4) if n % 3 else "",
            type=(MemoryType.FACT, MemoryType.GOTCHA)[n % 2],
            scope=Scope.USER if n % 10 == 0 else Scope.GLOBAL,
            project=("example", "elsewhere")[n % 7 == 0],
            files=("src/a.py",) if n % 4 == 0 else (),
            model_id="m",
            vector=samples.vector(),
        )
        for n in range(300)
    ]
    memories = [change.memory for change in inserts]
    changes = [
        *(Replace(replace(m, content=_text(chance))) for m in memories[5:40:5]),
        *(Replace(m, IndexEntry("fresh words")) for m in memories[41:60:6]),
        *(Close(m.id, m.valid_from) for m in memories[70:90:3]),
        *(Delete(m.id) for m in memories[100:140:4]),
    ]
    for store in (sqlite, postgres):
        store.apply(inserts)
        store.apply(changes)
    yield sqlite, postgres
    sqlite.close()
    postgres.close()


def _same(left: Sequence[RetrieverHit], right: Sequence[RetrieverHit], *, within: float) -> None:
    assert [hit.candidate for hit in left] == [hit.candidate for hit in right]
    assert [hit.score for hit in left] == pytest.approx([hit.score for hit in right], rel=within)


@pytest.mark.feature("B1")
@pytest.mark.parametrize(
    "terms",
    [
        ["deploy"],
        ["deploying", "cache"],
        ["models.py"],
        ["foo_bar", "token", "TESTS"],
        ["build cache", "cafe"],
        ["部署前先运行测试", "uber"],
        ["fresh", "words", "nothing"],
        ["deploy", "deploys", "deploy"],
    ],
)
def test_words_have_the_same_score_in_both(
    pair: tuple[Store, PostgresStore], terms: list[str]
) -> None:
    sqlite, postgres = pair
    for where in (HERE, Filter(project="elsewhere"), replace(HERE, types=(MemoryType.FACT,))):
        left = sqlite.search_fulltext(terms, where, limit=1_000)
        assert left or terms == ["fresh", "words", "nothing"]
        _same(left, postgres.search_fulltext(terms, where, limit=1_000), within=1e-9)
        _same(left[:7], postgres.search_fulltext(terms, where, limit=7), within=1e-9)


@pytest.mark.feature("B1")
def test_fragments_links_and_vectors_are_the_same_in_both(
    pair: tuple[Store, PostgresStore],
) -> None:
    sqlite, postgres = pair
    for fragments in (["epl"], ["运行", "odels.p"], ["デ"], ["er", "X1"], ["ÜB"], ["zzz"]):
        left = sqlite.search_substrings(fragments, HERE, limit=500)
        _same(left, postgres.search_substrings(fragments, HERE, limit=500), within=0)
    left = sqlite.search_links(files=["src/a.py"], modules=["m"], where=HERE, limit=500)
    right = postgres.search_links(files=["src/a.py"], modules=["m"], where=HERE, limit=500)
    _same(left, right, within=0)
    query = Samples().vector()
    left = sqlite.search_vectors(query, model_id="m", where=HERE, limit=40)
    right = postgres.search_vectors(query, model_id="m", where=HERE, limit=40)
    assert [hit.score for hit in left] == pytest.approx([h.score for h in right], abs=1e-3)
    assert len({hit.id for hit in left} & {hit.id for hit in right}) >= 39


@pytest.mark.feature("B1")
def test_with_more_matches_than_are_scored_the_rare_words_decide(
    postgres_url: str, tmp_path: Path
) -> None:
    from wellkept.store.queries import SearchEffort
    from wellkept_team.postgres.search.fulltext import search_fulltext

    samples = Samples()
    with_rare = [samples.insert(f"common rare{n % 2} word {n}") for n in range(12)]
    store = open_tenant(postgres_url, tmp_path)
    store.apply([*with_rare, *(samples.insert(f"common word {n}") for n in range(90))])
    little = SearchEffort(scored_rows=20, ubiquitous_rows=1_000)
    with store._database.snapshot() as db:  # pyright: ignore[reportPrivateUsage]
        exact = search_fulltext(db, ["common", "rare1"], HERE, limit=5)
        cheap = search_fulltext(db, ["common", "rare1"], HERE, limit=5, effort=little)
        wide = search_fulltext(db, ["common", "rare1"], HERE, limit=50, effort=little)
    assert cheap == exact
    assert len(wide) == 50
    store.close()


@pytest.mark.feature("B1")
def test_scoring_the_rare_words_first_leaves_the_answer_as_it_is(
    pair: tuple[Store, PostgresStore],
) -> None:
    """Memories with common words only are scored where they could still be among the best."""
    from wellkept.store.queries import SearchEffort
    from wellkept_team.postgres.search.fulltext import search_fulltext

    sqlite, postgres = pair
    little = SearchEffort(scored_rows=10, ubiquitous_rows=60, first_pass=20)
    chance = random.Random(93)
    with postgres._database.snapshot() as db:  # pyright: ignore[reportPrivateUsage]
        for _ in range(25):
            terms = chance.sample(WORDS, k=chance.randint(2, 6))
            for limit in (3, 10, 40):
                exact = sqlite.search_fulltext(terms, HERE, limit=limit)
                cheap = search_fulltext(db, terms, HERE, limit=limit, effort=little)
                _same(exact, cheap, within=1e-9)
