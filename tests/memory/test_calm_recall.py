"""Recall is calm: statements before prompts, a least score, several sessions, and past dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bench.model_ways import Way, opened
from bench.notes_data import DEVELOPMENT, load_notes
from tests.memory.candidate_sets import candidate, memory, plan, pool
from tests.memory.test_recall import EVERYTHING, ask, found, keep
from wellkept.core.changes import Close
from wellkept.core.errors import UsageError
from wellkept.core.memory import MemoryDraft
from wellkept.core.payloads import Observation
from wellkept.core.records import replace
from wellkept.core.text import stem
from wellkept.core.types import MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.memory.recall.features import begins_a_word, load_rankings
from wellkept.memory.recall.ranking import (
    SUPPORT,
    Question,
    Ranked,
    margin,
    probability,
    spread_out,
    tells,
)
from wellkept.memory.recall.requests import (
    BESIDE_SHARE,
    CLEAR_SCORE,
    DEFAULT_MIN_SCORE,
    LEAST_OF_NOTES,
)
from wellkept.memory.recall.retrievers import plan_query
from wellkept.testing.fakes import ManualClock

# -- Statements before raw records ----------------------------------------------------------------


def _raw(engine: Engine, content: str, type: MemoryType) -> str:
    """A record as capture writes it."""
    payload = Observation(kind="change", title=content) if type is MemoryType.OBSERVATION else None
    return keep(engine, content, type=type, source=Source.OBSERVER_INFERRED, payload=payload)


@pytest.mark.feature("B1")
def test_a_convention_is_not_buried_by_earlier_prompts(engine: Engine) -> None:
    for number in range(6):
        _raw(engine, f"how do we deploy? ({number})", MemoryType.PROMPT)
    wanted = keep(engine, "We deploy with make ship", type=MemoryType.CONVENTION)
    assert found(engine, "how do we deploy", min_score=DEFAULT_MIN_SCORE) == [wanted]


@pytest.mark.feature("B1")
def test_prompts_are_found_when_asked_for(engine: Engine) -> None:
    prompt = keep(engine, "how do we deploy?", type=MemoryType.PROMPT)
    keep(engine, "We deploy with make ship")
    only = replace(EVERYTHING, types=(MemoryType.PROMPT,))
    assert found(engine, "deploy", where=only) == [prompt]


@pytest.mark.feature("B1")
def test_raw_records_answer_where_no_statement_does_in_one_order(engine: Engine) -> None:
    other = keep(engine, "The logo is drawn in Inkscape")
    seen = _raw(engine, "Edited the retry queue of billing", MemoryType.OBSERVATION)
    calm = found(engine, "what was edited in the retry queue?", min_score=DEFAULT_MIN_SCORE)
    assert calm == [seen]
    assert found(engine, "what was edited in the retry queue?") == [seen, other]


# -- The least score ------------------------------------------------------------------------------


@pytest.mark.feature("B10")
def test_nothing_is_listed_that_has_nothing_to_do_with_the_question(engine: Engine) -> None:
    keep(engine, "The staging database listens on port 5433")
    keep(engine, "Webhooks are retried for 24 hours")
    assert not ask(engine, "zebra unicorn quantum", min_score=DEFAULT_MIN_SCORE).hits
    assert ask(engine, "which port has the staging database?", min_score=0.5).hits


@pytest.mark.feature("B10")
@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan")])
def test_a_least_score_out_of_range_is_refused(engine: Engine, score: float) -> None:
    with pytest.raises(UsageError, match="out of range"):
        ask(engine, "port", min_score=score)


@pytest.mark.feature("B10")
def test_pages_end_where_scores_fall_below_the_least(engine: Engine) -> None:
    for number in range(8):
        keep(engine, f"The importer retries {number} times")
    keep(engine, "Colours come from the theme")
    answer = ask(engine, "how often does the importer retry?", limit=5, min_score=DEFAULT_MIN_SCORE)
    assert all(hit.score >= DEFAULT_MIN_SCORE for hit in answer)
    rest = ask(
        engine, "how often does the importer retry?", limit=5, offset=5, min_score=DEFAULT_MIN_SCORE
    )
    ids = [hit.memory.id for hit in (*answer, *rest)]
    assert len(ids) == len(set(ids))
    assert rest.next_offset is None


@pytest.mark.feature("B10")
def test_beside_an_answer_turns_have_a_lower_bar_unless_more_was_asked_for(engine: Engine) -> None:
    for number in range(30):
        keep(
            engine,
            f"the importer retries rows {number}" if number < 2 else f"then we had lunch {number}",
            session_id="one",
            seq=number,
        )
    every = ask(engine, "how often does the importer retry rows?", limit=30).hits
    assert every[0].score >= DEFAULT_MIN_SCORE
    usual = ask(
        engine, "how often does the importer retry rows?", limit=30, min_score=DEFAULT_MIN_SCORE
    )
    assert len(usual.hits) == sum(h.score >= BESIDE_SHARE * DEFAULT_MIN_SCORE for h in every)
    strict = ask(engine, "how often does the importer retry rows?", limit=30, min_score=0.2)
    assert len(strict.hits) == sum(hit.score >= 0.2 for hit in every)


@pytest.mark.feature("B10")
@pytest.mark.parametrize("name", ["hybrid", "words", "vectors"])
def test_support_makes_an_answer_likelier(name: str) -> None:
    learned = load_rankings()[name]
    for clearness in (learned.note, learned.turn):
        plain = probability([0.2] * len(SUPPORT), clearness)
        for place, kind in enumerate(SUPPORT):
            more = [0.2] * len(SUPPORT)
            more[place] = 1.0
            # `wordless` is a constant of its own, no support.
            assert kind == "wordless" or probability(more, clearness) >= plain
        assert probability([0.0] * len(SUPPORT), clearness) == 0.0


def _support(question: Question, memory_id: str, content: str) -> dict[str, float]:
    values = question.support(memory(memory_id, content), margin=3.0)
    return dict(zip(SUPPORT, values, strict=True))


@pytest.mark.feature("B10")
def test_a_vector_counts_apart_where_no_word_is_shared_and_only_for_who_asks() -> None:
    found = pool(candidate("a"), candidate("b"), candidate("c"), meaning={"a": 0.4, "b": 0.4})
    asked = Question.of(plan("which port has the database?"), found, near=0.8)
    shares = _support(asked, "a", "The database has port 5433")
    assert (shares["lead"], shares["margin"], shares["wordless"]) == (0.25, 1.0, 0.0)
    wordless = _support(asked, "b", "Postgres listens on 5433")
    assert (wordless["lead"], wordless["margin"], wordless["shared"]) == (0, 0, 0)
    assert (wordless["wordless"], wordless["asked_lead"]) == (1, 0.25)
    assert not any(_support(asked, "c", "Colours come from the theme").values())
    order = Question.of(plan("connect to the database"), found, near=0.8, unasked=True)
    assert _support(order, "b", "Postgres listens on 5433")["asked_lead"] == 0
    typed = Question.of(plan("which port has the database?"), found, near=0.8, unasked=True)
    assert _support(typed, "b", "Postgres listens on 5433")["asked_lead"] == 0.25


@pytest.mark.feature("B10")
@pytest.mark.parametrize(
    "name",
    [
        "Planner::replan",
        "pkg.mod.func",
        "--flag-name",
        "src/pay.py",
        "E17",
        "parse_ledger",
        "/admin/x",
    ],
)
def test_names_from_code_are_shared_as_names(name: str) -> None:
    question = Question.of(plan(f"change {name} now"), pool(candidate("a")), near=0.8)
    assert _support(question, "a", f"Careful with {name} there")["named"] > 0
    assert _support(question, "a", "Careful with the other one")["named"] == 0


@pytest.mark.feature("B10")
def test_words_of_everyday_work_tell_little_and_rare_ones_much() -> None:
    assert tells(stem("add")) == 0.0
    assert tells(stem("test")) < 0.3
    assert tells(stem("berth")) > 0.9
    assert tells("7") == tells("x") == 0.0


@pytest.mark.feature("B10")
def test_what_says_the_same_does_not_compete() -> None:
    texts = [frozenset(text.split()) for text in ("a b c d", "a b c e", "x y z")]
    assert margin([5.0, 4.0, 3.0], texts) == 2.0
    assert margin([5.0, 4.0], texts[:2]) == 2.0


@pytest.mark.feature("B10")
@pytest.mark.parametrize("count", [1, 3, 18])
def test_the_bundled_model_keeps_other_words_and_leaves_out_other_subjects(count: int) -> None:
    notes = [text for _, text in load_notes(DEVELOPMENT).notes][:count]
    with opened(Way("static")) as wk:
        wk.remember_many([MemoryDraft(content=text) for text in notes], merge_similar=False)
        assert wk.recall("which command puts a new version into production?").hits
        for far in ("zebra unicorn quantum", "recipe for pancakes", "who painted the Mona Lisa?"):
            assert not wk.recall(far).hits
        for nonsense in ("blorp the snizzle under flumox", "asdf jkl; qwer", "hdjskal fjdksla"):
            assert not wk.recall(nonsense).hits


@pytest.mark.feature("B10")
def test_notes_have_a_lower_bar_only_beside_an_answer_that_is_not_clear() -> None:
    notes = load_notes(DEVELOPMENT)
    unclear = clear = 0
    with opened(Way("static")) as wk:
        wk.remember_many(notes.drafts(), merge_similar=False)
        for asked in notes.questions[::5]:
            every = wk.recall(asked.text, limit=100, min_score=0.0).hits
            best = every[0].score
            is_guess = LEAST_OF_NOTES <= best < CLEAR_SCORE
            least = DEFAULT_MIN_SCORE * (BESIDE_SHARE if is_guess else 1.0)
            listed = wk.recall(asked.text, limit=100).hits
            reach = sum(hit.score >= least for hit in every) if best >= LEAST_OF_NOTES else 0
            assert len(listed) == reach, asked.text
            unclear += is_guess
            clear += best >= CLEAR_SCORE
    assert unclear
    assert clear


@pytest.mark.parametrize(
    ("stem", "text", "held"),
    [
        ("hook", "Webhooks are retried", False),
        ("hook", "see userHooks", True),
        ("hook", "Hooks are cheap", True),
        ("hook", "the web hook", True),
        ("部署", "如何部署服务", True),
        ("hook", "", False),
        ("carry", "Kafka carried events", True),
        ("carry", "carrots", False),
        ("retry", "three retries", True),
        ("retry", "we retry", True),
    ],
)
@pytest.mark.feature("B1")
def test_a_stem_begins_a_word_or_a_part_of_a_name(stem: str, text: str, held: bool) -> None:
    assert begins_a_word(stem, text.casefold(), text) is held


# -- Several sessions -----------------------------------------------------------------------------


def _turns(*sessions: str) -> list[Ranked]:
    return [
        Ranked(candidate(f"{n:02d}", session_id=name, seq=n), 1.0 - n / 100)
        for n, name in enumerate(sessions)
    ]


@pytest.mark.feature("B1")
@pytest.mark.parametrize(("several", "further"), [(False, "b"), (True, "bcdef")])
def test_part_of_a_page_is_for_further_sessions_and_stays_in_order(
    several: bool, further: str
) -> None:
    ranked = _turns(*["a"] * 12, "b", "c", "d", "e", "f")
    page = spread_out(ranked, contents=lambda _: {}, page_size=10, several=several)[:10]
    assert [one.candidate.session_id for one in page] == [*"a" * (10 - len(further)), *further]
    assert page == sorted(page, key=lambda one: -one.score)


@pytest.mark.feature("B1")
@pytest.mark.parametrize(
    ("question", "several"),
    [
        ("How many tests did we skip?", True),
        ("Which services use Redis?", True),
        ("what kinds of errors did the importer throw", True),
        ("What did we try against the flaky login test?", True),
        ("Which database does billing use?", False),
        ("what is the port of the gateway", False),
        ("Where does the address come from?", False),
        ("Why was this class split?", False),
    ],
)
def test_a_question_tells_whether_it_asks_for_several_things(question: str, several: bool) -> None:
    assert plan_query(question, now=datetime(2026, 5, 1, tzinfo=UTC)).asks_several is several


@pytest.mark.feature("B1")
def test_a_session_far_behind_gets_no_place() -> None:
    ranked = [*_turns(*["a"] * 12), Ranked(candidate("z", session_id="b", seq=0), 0.01)]
    page = spread_out(ranked, contents=lambda _: {}, page_size=10)[:10]
    assert {one.candidate.session_id for one in page} == {"a"}


@pytest.mark.feature("B1")
def test_sessions_that_rank_high_take_no_place_from_the_next_hits() -> None:
    ranked = _turns("a", "b", "a", "c", "a", "d", "a", "a", "a", "a", "e", "a")
    page = spread_out(ranked, contents=lambda _: {}, page_size=10)[:10]
    assert [one.candidate.session_id for one in page] == [*"abacadaaa", "e"]


@pytest.mark.feature("B1")
def test_spreading_loses_and_repeats_nothing() -> None:
    ranked = _turns(*(["a", "b", "a", "c"] * 8))
    for size in (1, 3, 10, 100):
        spread = spread_out(ranked, contents=lambda _: {}, page_size=size)
        assert sorted(spread) == sorted(ranked)


@pytest.mark.feature("B1")
def test_notes_that_say_the_same_are_one_subject() -> None:
    texts = {f"{n}": f"The importer retries failed rows {n} times" for n in range(5)}
    texts["x"] = "Colours come from the theme"
    ranked = [Ranked(candidate(each), 1.0 - n / 10) for n, each in enumerate(texts)]
    page = spread_out(ranked, contents=lambda _: texts, page_size=5)[:5]
    assert [one.candidate.id for one in page] == ["0", "1", "2", "3", "x"]


# -- Past dates -----------------------------------------------------------------------------------


@pytest.fixture
def brokers(engine: Engine, clock: ManualClock) -> tuple[str, str]:
    """RabbitMQ until May, Kafka since."""
    old = keep(
        engine,
        "The broker that carries events is RabbitMQ",
        valid_from=datetime(2025, 10, 1, tzinfo=UTC),
    )
    engine.store.apply([Close(old, datetime(2026, 5, 1, tzinfo=UTC))])
    new = keep(
        engine,
        "The broker that carries events is Kafka",
        valid_from=datetime(2026, 5, 1, tzinfo=UTC),
    )
    clock.now = datetime(2026, 8, 1, tzinfo=UTC)
    return old, new


@pytest.mark.feature("B6")
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("which broker carried events in March 2026?", 0),
        ("which broker carried events last winter?", 0),
        ("quel broker pour events en mars 2026 ?", 0),
        ("welcher broker trug events im März 2026?", 0),
        ("¿qué broker carries events en marzo de 2026?", 0),
        ("which broker carried events at the beginning of the year?", 0),
        ("which broker carries events?", 1),
        ("which broker carried events in June 2026?", 1),
        ("which broker carried events before the migration to Kafka?", 0),
        ("which broker carried events before Kafka?", 0),
        ("which broker did carry events prior to Kafka?", 0),
        ("which broker carried events until we moved to Kafka?", 0),
        ("which broker carried events in early 2026?", 0),
        ("which broker carried events back in Q1?", 0),
    ],
)
def test_a_past_date_searches_what_was_valid_then(
    engine: Engine, brokers: tuple[str, str], question: str, first: int
) -> None:
    assert found(engine, question)[0] == brokers[first]


@pytest.mark.feature("B6")
def test_a_time_in_which_things_changed_shows_both(
    engine: Engine, brokers: tuple[str, str]
) -> None:
    trial = keep(
        engine,
        "The broker that carries events is NATS",
        valid_from=datetime(2026, 4, 10, tzinfo=UTC),
    )
    engine.store.apply([Close(trial, datetime(2026, 4, 20, tzinfo=UTC))])
    assert set(found(engine, "which broker carried events last spring?")) == {*brokers, trial}
    assert trial not in found(engine, "which broker carried events in March 2026?")
    assert trial not in found(engine, "which broker carries events?")


@pytest.mark.feature("B6", "B10")
def test_the_words_of_a_date_are_no_words_that_an_answer_must_have(
    engine: Engine, brokers: tuple[str, str]
) -> None:
    dated = ask(engine, "which broker carried events in March 2026?")[0]
    plain = ask(engine, "which broker carries events?")[0]
    assert dated.score > 0.8 * plain.score
    assert "March" not in plan("which broker carried events in March 2026?").meaning


@pytest.mark.feature("B6")
def test_what_was_closed_before_or_opened_after_the_date_stays_behind(
    engine: Engine, brokers: tuple[str, str]
) -> None:
    old, new = brokers
    assert old not in found(engine, "which broker carried events in July 2026?")
    assert old not in found(engine, "which broker carried events in March 2026?", read_dates=False)
    answer = ask(engine, "which broker carried events in March 2026?")
    assert any("valid then" in note for note in answer.notes)
    assert not answer[0].memory.is_open
    assert new == answer[1].memory.id


@pytest.mark.feature("B6")
def test_a_change_that_nothing_tells_of_gives_no_date(
    engine: Engine, brokers: tuple[str, str]
) -> None:
    for question in ("before the migration to Pulsar", "before Pulsar"):
        answer = ask(engine, f"which broker carried events {question}?")
        assert answer[0].memory.id == brokers[1]
        assert not answer.notes


@pytest.mark.feature("B6")
def test_before_a_name_is_a_time_only_in_a_question_about_the_past(
    engine: Engine, brokers: tuple[str, str]
) -> None:
    assert brokers[0] not in found(engine, "which broker carries events before Kafka?")
    assert brokers[0] not in found(engine, "start the broker before Kafka")


@pytest.mark.feature("B6")
def test_a_date_to_come_opens_nothing(engine: Engine, brokers: tuple[str, str]) -> None:
    old, _ = brokers
    soon = datetime(2026, 8, 1, tzinfo=UTC) + timedelta(days=60)
    assert old not in found(engine, f"which broker carries events until {soon:%d %B %Y}?")
