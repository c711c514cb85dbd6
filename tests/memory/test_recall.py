"""Recall as a whole: what is found, what is never found, paging, time, and honest notes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wellkept.core.changes import Close, Mark
from wellkept.core.errors import NotFoundError, ProviderError, UsageError
from wellkept.core.memory import MemoryDraft
from wellkept.core.ports.models import Vector
from wellkept.core.query import FileLink, Filter, Validity
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import (
    CLEAR_SCORE,
    RecallRequest,
    RecallResult,
    SearchMode,
)
from wellkept.memory.remember import remember
from wellkept.store import open_store
from wellkept.testing.fakes import ManualClock, WordEmbedder

pytestmark = pytest.mark.feature("B1")
HERE = "name:here"
EVERYTHING = Filter(project=HERE)


def keep(engine: Engine, content: str, *, project: str = HERE, **more: object) -> str:
    draft = replace(MemoryDraft(content=content), **more)  # type: ignore[arg-type]
    return remember(engine, draft, project=project, merge_similar=False).memory.id


def ask(engine: Engine, query: str, **more: object) -> RecallResult:
    plain = RecallRequest(query=query, where=EVERYTHING)
    return recall(engine, replace(plain, **more))  # type: ignore[arg-type]


def found(engine: Engine, query: str, **more: object) -> list[str]:
    return [hit.memory.id for hit in ask(engine, query, **more)]


# -- Finding --------------------------------------------------------------------------------------


def test_the_memory_that_answers_comes_first(engine: Engine) -> None:
    keep(engine, "The build runs on every push")
    wanted = keep(engine, "The staging database listens on port 5433")
    keep(engine, "The logo is drawn in Inkscape")
    assert found(engine, "which port does the staging database use?")[0] == wanted


def test_an_empty_store_answers_with_nothing(engine: Engine) -> None:
    answer = ask(engine, "anything at all")
    assert (len(answer), answer.considered, answer.next_offset) == (0, 0, None)


@pytest.mark.parametrize("mode", list(SearchMode))
def test_every_mode_finds_a_plain_match(engine: Engine, mode: SearchMode) -> None:
    keep(engine, "Icons live in assets")
    wanted = keep(engine, "Deploys go through the blue cluster")
    assert found(engine, "deploys blue cluster", mode=mode)[0] == wanted


def test_without_an_embedder_words_do(wordless: Engine) -> None:
    wanted = keep(wordless, "Deploys go through the blue cluster")
    answer = ask(wordless, "blue cluster")
    assert [hit.memory.id for hit in answer] == [wanted]
    assert answer[0].retrievers == ("words",)


def test_vectors_alone_without_an_embedder_is_refused(wordless: Engine) -> None:
    with pytest.raises(UsageError, match="No embedding model"):
        ask(wordless, "blue cluster", mode=SearchMode.VECTORS)


def test_a_part_of_an_identifier_is_found(wordless: Engine) -> None:
    wanted = keep(wordless, "xparse_config_filex must stay pure")
    keep(wordless, "Something else entirely")
    assert found(wordless, "parse_config_file")[0] == wanted


def test_a_word_of_a_sentence_is_not_found_inside_another_word(wordless: Engine) -> None:
    keep(wordless, "Webhooks are signed with a shared key")
    inside = keep(wordless, "Call useHooksRegistry before rendering")
    assert found(wordless, "convert this class to hooks") == [inside]


def test_a_guessed_piece_scores_too_low_to_be_injected(wordless: Engine) -> None:
    keep(wordless, "Webhooks are signed with a shared key")
    hits = ask(wordless, "hooks").hits
    assert len(hits) == 1
    assert hits[0].score < CLEAR_SCORE


def test_a_piece_of_a_word_is_found_when_no_whole_word_is(wordless: Engine) -> None:
    wanted = keep(wordless, "Kubernetes needs two replicas")
    assert found(wordless, "ubernete") == [wanted]


def test_chinese_is_found(wordless: Engine) -> None:
    wanted = keep(wordless, "部署前必须先运行数据库迁移")
    keep(wordless, "图标放在资源文件夹")
    assert found(wordless, "数据库迁移")[0] == wanted


@pytest.mark.parametrize(
    "query",
    ['"', "AND OR NOT", "a*b:c^2 (", "'; DROP TABLE memories; --", "NEAR(x y)", "\x00", "?"],
)
def test_query_syntax_is_only_text(engine: Engine, query: str) -> None:
    keep(engine, "A harmless fact")
    ask(engine, query)
    assert found(engine, "harmless fact")


def test_a_megabyte_of_text_does_not_stand_in_the_way(engine: Engine) -> None:
    keep(engine, "[ boat " * 140_000)
    wanted = keep(engine, "The boat is moored at pier nine")
    assert wanted in found(engine, "when was the boat moored?", limit=2)


def test_a_megabyte_of_question_is_read_from_its_beginning(engine: Engine) -> None:
    wanted = keep(engine, "The boat is moored at pier nine")
    assert found(engine, "boat moored pier " + "x_y.z " * 170_000) == [wanted]


def test_a_file_at_hand_brings_what_is_tied_to_it(engine: Engine) -> None:
    keep(engine, "Unrelated thing about colours")
    tied = keep(engine, "Amounts are kept in cents", files=("src/ledger.py",))
    answer = ask(engine, "rounding trouble", files=("src/ledger.py",))
    assert answer[0].memory.id == tied
    assert "links" in answer[0].retrievers


def test_speaking_of_a_person_prefers_what_that_person_said(engine: Engine) -> None:
    keep(engine, "I adopted a puppy", author="Gina", session_id="s", seq=0)
    theirs = keep(engine, "I adopted a puppy too", author="Jonas", session_id="s", seq=1)
    assert found(engine, "Who adopted a puppy, Jonas?")[0] == theirs


def test_the_answer_to_a_matching_question_is_lifted(engine: Engine) -> None:
    keep(engine, "What is the name of your sailing boat?", author="A", session_id="s", seq=4)
    reply = keep(engine, "She is called Albatross", author="B", session_id="s", seq=5)
    for number in range(6):
        keep(engine, f"Filler talk number {number}", author="A", session_id="t", seq=number)
    assert reply in found(engine, "name of the sailing boat", limit=2)


# -- Never leaving the scope ----------------------------------------------------------------------


def test_other_projects_are_never_seen_except_what_is_about_the_person(engine: Engine) -> None:
    mine = keep(engine, "Tests run with pytest")
    keep(engine, "Tests run with unittest", project="name:elsewhere")
    about_me = keep(
        engine, "Tests come before code, always", project="name:elsewhere", scope=Scope.USER
    )
    assert set(found(engine, "tests")) == {mine, about_me}


_WORDS = st.sampled_from(["cache", "port", "queue", "login", "retry", "index"])
_TEXT = st.lists(_WORDS, min_size=1, max_size=4).map(" ".join)


@given(
    rows=st.lists(
        st.tuples(_TEXT, st.sampled_from(["name:a", "name:b"]), st.sampled_from(list(Scope))),
        max_size=8,
    ),
    query=_TEXT,
    type_wanted=st.sampled_from([MemoryType.FACT, MemoryType.GOTCHA]),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_recall_stays_inside_its_filter(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, Scope]],
    query: str,
    type_wanted: MemoryType,
) -> None:
    store = open_store(tmp_path_factory.mktemp("scope") / "memory.db")
    embedder = WordEmbedder()
    engine = Engine(store=store, embedder=lambda: embedder, clock=ManualClock())
    for number, (text, project, scope) in enumerate(rows):
        kind = MemoryType.FACT if number % 2 else MemoryType.GOTCHA
        keep(engine, text, project=project, scope=scope, type=kind, session_id="s", seq=number)
    where = Filter(project="name:a", types=(type_wanted,))
    request = RecallRequest(query=query, where=where, limit=50, neighbours=2)
    first, second = recall(engine, request), recall(engine, request)
    for hit in first:
        for memory in (hit.memory, *hit.before, *hit.after):
            assert memory.project == "name:a" or memory.scope is Scope.USER
            assert memory.type is type_wanted
        assert 0.0 <= hit.score <= 1.0
    assert [(h.memory.id, h.score) for h in first] == [(h.memory.id, h.score) for h in second]
    assert [h.score for h in first] == sorted((h.score for h in first), reverse=True)
    store.close()


# -- Pages, neighbours, access --------------------------------------------------------------------


def test_pages_follow_each_other_without_gap_or_repeat(engine: Engine) -> None:
    for number in range(23):
        keep(engine, f"Release note {number}: " + "detail " * number)
    everything = found(engine, "release note", limit=23)
    pages: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = ask(engine, "release note", limit=5, offset=offset)
        pages += [hit.memory.id for hit in page]
        offset = page.next_offset
    assert pages == everything
    assert len(set(pages)) == 23


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 10**30},
        {"offset": -1},
        {"offset": 10**30},
        {"neighbours": -2},
    ],
)
def test_numbers_that_make_no_sense_are_refused(engine: Engine, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        ask(engine, "x", **wrong)


@pytest.mark.parametrize("name", ["min_importance", "min_confidence"])
def test_a_least_score_that_is_no_number_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not NaN"):
        Filter(project="p", **{name: float("nan")})  # pyright: ignore[reportArgumentType]


def test_an_unknown_profile_is_refused_with_the_choices(engine: Engine) -> None:
    with pytest.raises(UsageError, match="balanced"):
        ask(engine, "x", profile="magic")


def test_neighbours_travel_with_a_hit_in_order(engine: Engine) -> None:
    ids = [keep(engine, t, session_id="s", seq=i) for i, t in enumerate("abcde")]
    middle = keep(engine, "zanzibar", session_id="s", seq=5)
    last = keep(engine, "f", session_id="s", seq=6)
    hit = ask(engine, "zanzibar", neighbours=2, limit=1)[0]
    assert hit.memory.id == middle
    assert [m.id for m in hit.before] == ids[3:]
    assert [m.id for m in hit.after] == [last]


def test_looking_counts_as_use_unless_told_otherwise(engine: Engine, clock: ManualClock) -> None:
    wanted = keep(engine, "Deploys go through the blue cluster")
    ask(engine, "blue cluster", count_access=False)
    engine.store.flush()
    assert engine.store.get([wanted])[0].access_count == 0
    clock.advance(days=1)
    ask(engine, "blue cluster")
    engine.store.flush()
    seen = engine.store.get([wanted])[0]
    assert (seen.access_count, seen.accessed_at) == (1, clock.now)


def test_a_score_explains_itself(engine: Engine) -> None:
    keep(engine, "Deploys go through the blue cluster")
    parts = {part.name: part for part in ask(engine, "blue cluster")[0].parts}
    assert parts["covers_most"].value == 1.0
    assert parts["covers_most"].effect == pytest.approx(parts["covers_most"].weight)
    assert {"clarity", "meaning", "importance", "confidence", "recency"} <= set(parts)


# -- Time -----------------------------------------------------------------------------------------


def day(number: int) -> datetime:
    return datetime(2025, 5, number, 9, tzinfo=UTC)


@pytest.mark.feature("B6")
def test_a_date_in_the_question_lifts_what_happened_then_and_hides_nothing(engine: Engine) -> None:
    early = keep(engine, "We talked about the pottery class", valid_from=day(3))
    late = keep(engine, "We talked about the pottery class again", valid_from=day(21))
    answer = ask(engine, "what did we say about pottery on 3 May 2025?")
    assert [hit.memory.id for hit in answer] == [early, late]
    assert answer.since == datetime(2025, 5, 3, tzinfo=UTC)
    assert any("time into the question" in note for note in answer.notes)
    assert ask(engine, "pottery on 3 May 2025", read_dates=False).since is None


@pytest.mark.feature("B6")
def test_a_time_window_is_a_hard_bound(engine: Engine) -> None:
    keep(engine, "pottery class", valid_from=day(3))
    inside = keep(engine, "pottery class", valid_from=day(10))
    where = replace(EVERYTHING, since=day(9), until=day(11))
    assert found(engine, "pottery", where=where) == [inside]


@pytest.mark.feature("B6")
def test_recent_sessions_are_those_in_which_something_happened_last(engine: Engine) -> None:
    for number in (1, 2, 3):
        keep(engine, f"pottery {number}", valid_from=day(number), session_id=f"s{number}", seq=0)
    answer = ask(engine, "pottery", recent_sessions=2)
    assert {hit.memory.session_id for hit in answer} == {"s2", "s3"}
    with pytest.raises(UsageError):
        ask(engine, "pottery", recent_sessions=0)


@pytest.mark.feature("B6")
def test_recent_sessions_without_any_session_says_so(engine: Engine) -> None:
    keep(engine, "pottery")
    answer = ask(engine, "pottery", recent_sessions=3)
    assert not len(answer)
    assert answer.notes


@pytest.mark.feature("B6")
def test_around_an_event_means_its_session_and_the_days_beside_it(engine: Engine) -> None:
    anchor = keep(engine, "pottery a", valid_from=day(10), session_id="s", seq=0)
    near = keep(engine, "pottery b", valid_from=day(11))
    keep(engine, "pottery c", valid_from=day(14))
    assert set(found(engine, "pottery", around=anchor)) == {anchor, near}
    with pytest.raises(NotFoundError):
        ask(engine, "pottery", around="nothing")


@pytest.mark.feature("B6")
def test_without_words_the_latest_comes_first(engine: Engine) -> None:
    old = keep(engine, "first", valid_from=day(1))
    new = keep(engine, "second", valid_from=day(2))
    assert found(engine, "  ") == [new, old]
    assert ask(engine, "", limit=1).next_offset == 1
    assert found(engine, "", limit=1, offset=1) == [old]


def test_what_was_believed_then_is_found_as_of_then(engine: Engine, clock: ManualClock) -> None:
    old = keep(engine, "The port is 5432")
    clock.advance(days=10)
    engine.store.apply([Close(old, clock.now)])
    new = keep(engine, "The port is 5433")
    assert found(engine, "port") == [new]
    then = replace(EVERYTHING, as_of=clock.now - timedelta(days=5))
    assert found(engine, "port", where=then) == [old]
    both = replace(EVERYTHING, validity=Validity.ANY)
    assert found(engine, "port", where=both) == [new, old]


# -- Staleness ------------------------------------------------------------------------------------


@pytest.mark.feature("B8")
def test_a_stale_memory_is_found_on_request_marked_and_behind_its_fresh_twin(
    engine: Engine, clock: ManualClock
) -> None:
    stale = keep(engine, "The cache lives in redis")
    fresh = keep(engine, "The cache lives in redis")
    engine.store.apply([Mark(stale, "stale", clock.now)])
    answer = ask(engine, "where does the cache live")
    assert [(h.memory.id, h.stale) for h in answer] == [(fresh, False), (stale, True)]
    assert "stale" in {part.name for part in answer[1].parts}
    assert found(engine, "cache", where=replace(EVERYTHING, stale=False)) == [fresh]


# -- Models ---------------------------------------------------------------------------------------


class Storyteller:
    """A text model that always says the same."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.prompts: list[str] = []

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        self.prompts.append(prompt)
        if self.answer == "fail":
            raise ProviderError("The model is away.")
        return self.answer[: max_tokens * 4]


@pytest.mark.feature("B7")
def test_a_thin_answer_is_looked_for_again_with_a_hypothetical_one(engine: Engine) -> None:
    wanted = keep(engine, "redis eviction drops sessions under memory pressure")
    keep(engine, "The logo is drawn in Inkscape")
    teller = Storyteller("redis eviction drops sessions")
    asked = replace(engine, query_model=lambda: teller)
    query = "people get logged out at night"
    assert not ask(engine, query)[0].score > 0.5
    answer = ask(asked, query)
    assert answer[0].memory.id == wanted
    assert "vectors" in answer[0].retrievers
    assert query in teller.prompts[0]
    assert any("hypothetical" in note for note in answer.notes)


@pytest.mark.feature("B7")
def test_enough_clear_hits_need_no_hypothetical_answer(engine: Engine) -> None:
    for number in range(3):
        keep(engine, f"redis eviction drops sessions {number}")
    teller = Storyteller("x")
    ask(replace(engine, query_model=lambda: teller), "redis eviction drops sessions")
    assert teller.prompts == []


@pytest.mark.feature("B7")
@pytest.mark.parametrize("answer", ["fail", "  "])
def test_a_text_model_that_fails_or_says_nothing_changes_nothing(
    engine: Engine, answer: str
) -> None:
    keep(engine, "redis eviction")
    asked = replace(engine, query_model=lambda: Storyteller(answer))
    assert found(asked, "people get logged out") == found(engine, "people get logged out")


@pytest.mark.feature("B7")
def test_a_hypothetical_answer_does_not_lift_prompts_above_statements(engine: Engine) -> None:
    wanted = keep(engine, "redis eviction drops sessions under memory pressure")
    prompt = {"type": MemoryType.PROMPT, "source": Source.OBSERVER_INFERRED}
    asked_before = keep(engine, "redis eviction drops sessions", **prompt)
    asked = replace(engine, query_model=lambda: Storyteller("redis eviction drops sessions"))
    ids = found(asked, "people get logged out at night")
    assert ids[0] == wanted
    assert asked_before not in ids


class Contrarian:
    """A reranker that likes texts the better the later they come in the alphabet."""

    def scores(self, query: str, texts: list[str]) -> list[float]:
        if query == "fail":
            raise ProviderError("The reranker is away.")
        return [float(ord(text[0])) for text in texts]


def test_a_reranker_reorders_the_best(engine: Engine) -> None:
    first = keep(engine, "alpha cache note")
    last = keep(engine, "zeta cache note")
    asked = replace(engine, reranker=Contrarian)
    assert found(asked, "cache note") == [last, first]
    assert "reranker" in {part.name for part in ask(asked, "cache note")[0].parts}


def test_a_reranker_that_fails_is_noted(engine: Engine) -> None:
    keep(engine, "fail safe defaults")
    answer = ask(replace(engine, reranker=Contrarian), "fail")
    assert len(answer) == 1
    assert any("Not reranked" in note for note in answer.notes)


def test_a_reranker_changes_the_order_and_not_how_sure_an_answer_is(engine: Engine) -> None:
    for text in ("alpha cache note", "beta cache note", "beta", "zeta cache"):
        keep(engine, text)
    plain = ask(engine, "cache note")
    changed = ask(replace(engine, reranker=Contrarian), "cache note")
    assert [hit.score for hit in changed] == [hit.score for hit in plain]
    assert [hit.memory.id for hit in changed] != [hit.memory.id for hit in plain]
    alone = ask(engine, "beta", min_score=0.01)
    assert [h.score for h in ask(replace(engine, reranker=Contrarian), "beta", min_score=0.01)] == [
        hit.score for hit in alone
    ]


class Broken:
    """A reranker whose scores are no numbers, or too few."""

    def scores(self, query: str, texts: list[str]) -> list[float]:
        return [] if query == "cache" else [float("nan") for _ in texts]


@pytest.mark.parametrize("query", ["cache", "cache note"])
def test_a_reranker_with_senseless_scores_is_noted(engine: Engine, query: str) -> None:
    keep(engine, "alpha cache note")
    keep(engine, "zeta cache note")
    answer = ask(replace(engine, reranker=Broken), query)
    assert [hit.memory.id for hit in answer] == found(engine, query)
    assert any("Not reranked" in note for note in answer.notes)


class Unreachable(WordEmbedder):
    """An embedder whose server went away after the texts were embedded."""

    def embed_query(self, text: str) -> Vector:
        raise ProviderError("The embedding server does not answer.")


def test_an_embedder_that_fails_leaves_words_and_a_note(engine: Engine) -> None:
    wanted = keep(engine, "Deploys go through the blue cluster")
    away = replace(engine, embedder=Unreachable)
    answer = ask(away, "blue cluster")
    assert answer[0].memory.id == wanted
    assert any("words only" in note for note in answer.notes)
    with pytest.raises(ProviderError):
        ask(away, "blue cluster", mode=SearchMode.VECTORS)


@pytest.mark.feature("B4")
def test_vectors_of_another_model_are_not_compared_and_that_is_said(engine: Engine) -> None:
    wanted = keep(engine, "Deploys go through the blue cluster")
    other = replace(engine, embedder=lambda: WordEmbedder(model_id="another"))
    answer = ask(other, "blue cluster")
    assert answer[0].memory.id == wanted
    assert answer[0].retrievers == ("words",)
    assert any("another" in note for note in answer.notes)


def test_searching_by_words_never_asks_for_an_embedder(tmp_path: Path) -> None:
    def never() -> WordEmbedder:
        raise AssertionError("a search by words loads no model")

    store = open_store(tmp_path / "memory.db")
    writer = Engine(store=store)
    wanted = keep(writer, "Deploys go through the blue cluster")
    assert found(replace(writer, embedder=never), "blue", mode=SearchMode.WORDS) == [wanted]
    store.close()


# -- Causal expansion -----------------------------------------------------------------------------


@pytest.mark.feature("B7")
def test_warnings_of_files_that_change_together_come_along(engine: Engine) -> None:
    warning = keep(engine, "Tokens expire early", type=MemoryType.GOTCHA, files=("src/token.py",))
    plain = keep(engine, "Written in 2019", files=("src/token.py",))
    weak = keep(engine, "Slow import", type=MemoryType.GOTCHA, files=("src/slow.py",))
    links = [
        FileLink("src/login.py", "src/token.py", 0.8),
        FileLink("src/login.py", "src/slow.py", 0.6),
    ]
    engine.store.put_file_links(HERE, links)
    answer = ask(replace(engine, embedder=lambda: None), "zebra", files=("src/login.py",))
    ids = [hit.memory.id for hit in answer]
    assert ids == [warning]
    assert plain not in ids
    assert weak not in ids
    assert answer[0].retrievers == ("causal",)
