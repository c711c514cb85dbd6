"""Conformance: finding memories by words, fragments and links, always inside the filter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from tests.support.conformance.fixtures import EVERYTHING, HERE, ConformanceFixture
from tests.support.model_store.filter import passes
from tests.support.samples import START, Samples
from wellkept.core.changes import Close, Delete, IndexEntry, Insert, Mark, Replace, Rescore
from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.core.query import Candidate, Filter, RetrieverHit, SessionPosition, Validity
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Scope, Source

HOSTILE = (
    '"', '""', '" OR "', "* ", "alpha*", "^alpha", "NEAR(alpha beta)", "content:alpha",
    "alpha AND", "NOT", "(", ")", "{content}:x", "-alpha", "+", "a\0b", "\ud800", "'", "\\", "%",
    "_", "--", ";", "\U0001f600", "\n", "",
)  # fmt: skip


def ids(hits: Sequence[RetrieverHit]) -> set[str]:
    """Which memories were hit."""
    return {hit.id for hit in hits}


class SearchConformance(ConformanceFixture):
    """Contract of the `SearchIndex` port, but for vectors."""

    @pytest.mark.feature("B1")
    def test_any_of_the_words_finds_a_memory_in_content_or_extra_text(
        self, store: Store, samples: Samples
    ) -> None:
        a = samples.insert("alpha beta", extra="hidden gem")
        b = samples.insert("beta gamma")
        c = samples.insert("delta")
        store.apply([a, b, c])
        assert ids(store.search_fulltext(["beta"], HERE, limit=9)) == {a.memory.id, b.memory.id}
        assert ids(store.search_fulltext(["gem", "delta"], HERE, limit=9)) == {
            a.memory.id,
            c.memory.id,
        }
        assert store.search_fulltext(["omega"], HERE, limit=9) == []
        assert store.search_fulltext([], HERE, limit=9) == []

    @pytest.mark.feature("B1")
    def test_case_accents_and_endings_do_not_matter(self, store: Store, samples: Samples) -> None:
        memory = samples.insert("The café Deploys nightly")
        store.apply([memory])
        for term in ("CAFE", "Café", "deploy", "deploying", "deployed"):
            assert ids(store.search_fulltext([term], HERE, limit=3)) == {memory.memory.id}

    @pytest.mark.feature("B1")
    def test_a_term_with_a_space_is_a_phrase(self, store: Store, samples: Samples) -> None:
        near = samples.insert("the blue whale sings")
        far = samples.insert("a whale that is blue")
        split = samples.insert("ends with blue", extra="whale begins")
        store.apply([near, far, split])
        assert ids(store.search_fulltext(["blue whale"], HERE, limit=9)) == {near.memory.id}

    @pytest.mark.feature("B1")
    def test_better_matches_come_first_with_larger_scores(
        self, store: Store, samples: Samples
    ) -> None:
        store.apply([samples.insert(f"filler text number {i}") for i in range(20)])
        one = samples.insert("alpha something")
        both = samples.insert("alpha beta")
        store.apply([one, both])
        hits = store.search_fulltext(["alpha", "beta"], HERE, limit=9)
        assert [h.id for h in hits] == [both.memory.id, one.memory.id]
        assert hits[0].score > hits[1].score > 0
        assert store.search_fulltext(["alpha", "beta"], HERE, limit=1) == hits[:1]

    @pytest.mark.feature("B1")
    @pytest.mark.parametrize("term", HOSTILE)
    def test_terms_are_data_and_never_syntax(
        self, store: Store, samples: Samples, term: str
    ) -> None:
        alpha, other = samples.insert("alpha"), samples.insert("beta content near not and or")
        store.apply([alpha, other])
        found = ids(store.search_fulltext([term, "alpha"], HERE, limit=9))
        assert alpha.memory.id in found
        assert alpha.memory.id in ids(store.search_substrings([term, "alp"], HERE, limit=9))
        assert alpha.memory.id not in ids(
            store.search_fulltext(["beta", "NOT alpha"], HERE, limit=9)
        )
        store.search_links(files=[term], modules=[term], where=HERE, limit=9)

    @pytest.mark.feature("B1")
    def test_fragments_are_found_inside_words_whatever_their_case(
        self, store: Store, samples: Samples
    ) -> None:
        code = samples.insert("call getUserName() in app/models.py")
        cjk = samples.insert("部署前先运行测试 です")
        percent = samples.insert("100% sure_thing")
        store.apply([code, cjk, percent])

        def found(*fragments: str) -> set[str]:
            return ids(store.search_substrings(fragments, HERE, limit=9))

        assert found("username") == found("MODELS.PY") == found("()") == {code.memory.id}
        assert found("运行测试") == found("先运") == found("测") == {cjk.memory.id}
        assert found("0%") == found("e_t") == found("%") == found("100%") == {percent.memory.id}
        assert found("name(", "测试") == {code.memory.id, cjk.memory.id}
        assert found("zzz", "q") == found("") == found() == set()

    @pytest.mark.feature("B1")
    def test_who_holds_more_and_longer_fragments_comes_first(
        self, store: Store, samples: Samples
    ) -> None:
        texts = ("only parse here", "parse_config and tokens", "config alone", "parse it again")
        added = [samples.insert(text) for text in texts]
        store.apply(added)
        hits = store.search_substrings(["parse", "config", "parse"], HERE, limit=9)
        wanted = [(1, 11.0), (2, 6.0), (3, 5.0), (0, 5.0)]
        assert [(hit.id, hit.score) for hit in hits] == [
            (added[number].memory.id, score) for number, score in wanted
        ]
        assert store.search_substrings(["parse", "config"], HERE, limit=2) == hits[:2]

    @pytest.mark.feature("B1")
    def test_fragments_look_at_content_only(self, store: Store, samples: Samples) -> None:
        store.apply([samples.insert("plain", extra="hidden")])
        assert store.search_substrings(["hidden", "id"], HERE, limit=9) == []

    @pytest.mark.feature("B1")
    def test_indexes_follow_every_edit(self, store: Store, other: Store, samples: Samples) -> None:
        before = samples.insert("oldword", extra="oldextra", files=("old.py",))
        store.apply([before])
        after = replace(before.memory, content="newword", files=("new.py",))
        other.apply([Replace(after)])
        assert ids(store.search_fulltext(["newword"], HERE, limit=3)) == {after.id}
        assert ids(store.search_fulltext(["oldextra"], HERE, limit=3)) == {after.id}
        assert store.search_fulltext(["oldword"], HERE, limit=3) == []
        assert store.search_substrings(["oldw"], HERE, limit=3) == []
        assert store.search_links(files=["old.py"], modules=[], where=HERE, limit=3) == []
        other.apply([Replace(after, IndexEntry(extra="fresh"))])
        assert store.search_fulltext(["oldextra"], HERE, limit=3) == []
        assert ids(store.search_fulltext(["fresh"], HERE, limit=3)) == {after.id}

    @pytest.mark.feature("B1")
    def test_links_count_the_ties(self, store: Store, samples: Samples) -> None:
        two = samples.insert("two", files=("a.py", "b.py"), modules=("core",))
        one = samples.insert("one", files=("b.py",))
        store.apply([two, one, samples.insert("none", files=("a.pyc",))])
        hits = store.search_links(files=["a.py", "b.py"], modules=["core"], where=HERE, limit=9)
        assert [(h.id, h.score) for h in hits] == [(two.memory.id, 3.0), (one.memory.id, 1.0)]
        assert store.search_links(files=[], modules=[], where=HERE, limit=9) == []
        assert store.search_links(files=["a.py"], modules=[], where=HERE, limit=0) == []

    @pytest.mark.feature("B1")
    def test_a_negative_limit_is_refused_and_none_finds_nothing(
        self, store: Store, samples: Samples
    ) -> None:
        store.apply([samples.insert("alpha")])
        assert store.search_fulltext(["alpha"], HERE, limit=0) == []
        assert store.search_substrings(["alp"], HERE, limit=0) == []
        with pytest.raises(UsageError):
            store.search_fulltext(["alpha"], HERE, limit=-1)
        with pytest.raises(UsageError):
            store.search_substrings(["alpha"], HERE, limit=-1)
        with pytest.raises(UsageError):
            store.search_links(files=["a"], modules=[], where=HERE, limit=-1)
        with pytest.raises(UsageError):
            store.session_neighbours([], HERE, span=-1)

    @pytest.mark.feature("B1")
    def test_every_filter_means_the_same_in_every_arm(self, store: Store, samples: Samples) -> None:
        vector = samples.vector()
        memories = varied_memories(samples)
        store.apply([Insert(m, IndexEntry("", "m", vector)) for m in memories])
        for where in varied_filters():
            expected = {m.id for m in memories if passes(m, where)}
            assert {m.id for m in store.list(where, limit=500).items} == expected, where
            assert {m.id for m in store.iterate(where)} == expected
            assert ids(store.search_fulltext(["shared"], where, limit=500)) == expected
            assert ids(store.search_substrings(["hared"], where, limit=500)) == expected
            assert ids(store.search_substrings(["sh"], where, limit=500)) == expected
            near = store.search_vectors(vector, model_id="m", where=where, limit=500)
            assert ids(near) == expected
            linked = store.search_links(files=["all.py"], modules=[], where=where, limit=500)
            assert ids(linked) == expected
            slim = store.session_neighbours(
                [SessionPosition("s1", 0), SessionPosition("s2", 47)], where, span=47
            )
            assert {c.id for c in slim} == {m.id for m in memories if m.session_id} & expected
            assert {i for i, _ in store.vectors(model_id="m", where=where)} == expected
            assert store.stats(where).total == len(expected)

    @pytest.mark.feature("B1")
    def test_a_narrow_filter_still_gets_its_best_hits(self, store: Store, samples: Samples) -> None:
        crowd = [samples.insert("needle needle needle", project="crowd") for _ in range(1_500)]
        mine = [samples.insert(f"needle in a long and winding hay {i}") for i in range(3)]
        store.apply([*crowd, *mine])
        expected = {change.memory.id for change in mine}
        assert ids(store.search_fulltext(["needle"], HERE, limit=5)) == expected
        assert ids(store.search_substrings(["eedl"], HERE, limit=5)) == expected

    @pytest.mark.feature("B5")
    def test_every_arm_tells_what_ranking_needs_to_know(
        self, store: Store, samples: Samples
    ) -> None:
        memory = samples.memory(
            "four", session_id="s", seq=3, author="robin", stale_at=START, files=("f.py",)
        )
        vector = samples.vector()
        store.apply([Insert(memory, IndexEntry("", "m", vector))])
        (slim,) = store.session_neighbours([SessionPosition("s", 3)], HERE, span=0)
        assert (slim.id, slim.type, slim.place) == (memory.id, "fact", ("s", 3))
        assert (slim.author, slim.content_chars, slim.access_count) == ("robin", 4, 0)
        assert (slim.stale, slim.closed, slim.needs_review) == (True, False, False)
        assert slim.valid_from_ms == slim.accessed_ms
        for hits in (
            store.search_fulltext(["four"], HERE, limit=1),
            store.search_substrings(["ou"], HERE, limit=1),
            store.search_vectors(vector, model_id="m", where=HERE, limit=1),
            store.search_links(files=["f.py"], modules=[], where=HERE, limit=1),
        ):
            assert [hit.candidate for hit in hits] == [slim]

    @pytest.mark.feature("B1", "B5")
    def test_every_arm_tells_of_a_memory_as_it_stands_whoever_changed_it(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        vector = samples.vector()
        memory = samples.memory("alpha", session_id="s", seq=1, files=("f.py",))
        store.apply([Insert(memory, IndexEntry("", "m", vector))])

        def told() -> list[Candidate]:
            """What all arms say of the one memory, if they agree."""
            near = store.search_vectors(vector, model_id="m", where=HERE, limit=9)
            answers = [
                [hit.candidate for hit in store.search_fulltext(["alpha"], HERE, limit=9)],
                [hit.candidate for hit in store.search_substrings(["lph"], HERE, limit=9)],
                [hit.candidate for hit in near],
                store.session_neighbours(
                    [SessionPosition("s", 1), SessionPosition("t", 1)], HERE, span=1
                ),
                [
                    hit.candidate
                    for hit in store.search_links(files=["f.py"], modules=[], where=HERE, limit=9)
                ],
            ]
            assert answers[1:] == answers[:-1]
            cosines = store.similarities(vector, model_id="m", ids=[memory.id])
            assert len(answers[0]) <= len(cosines) == len(store.contents([memory.id]))
            return answers[0]

        (slim,) = told()
        other.apply([Rescore(memory.id, importance=0.125, confidence=0.75)])
        slim = slim._replace(importance=0.125, confidence=0.75)
        assert told() == [slim]
        other.record_access([memory.id], at=START + timedelta(days=400))
        other.flush()
        at_ms = to_ms(START + timedelta(days=400))
        slim = slim._replace(access_count=1, accessed_ms=at_ms)
        assert told() == [slim]
        other.apply([Mark(memory.id, "stale", START)])
        slim = slim._replace(stale=True)
        assert told() == [slim]
        other.apply([Mark(memory.id, "archived", START)])
        assert told() == []
        other.apply([Mark(memory.id, "archived", None)])
        assert told() == [slim]
        (stored,) = other.get([memory.id])
        other.apply([Replace(replace(stored, session_id="t", author="robin", needs_review=True))])
        slim = slim._replace(session_id="t", author="robin", needs_review=True)
        assert told() == [slim]
        other.apply([Close(memory.id, stored.valid_from)])
        assert told() == []
        other.apply([Delete(memory.id)])
        assert told() == []
        other.apply([Insert(memory, IndexEntry("", "m", vector))])
        assert [c.id for c in told()] == [memory.id]
        other.merge_projects("example", into="elsewhere")
        assert told() == []

    @pytest.mark.feature("B6")
    def test_what_stands_around_a_place_is_of_the_same_session(
        self, store: Store, samples: Samples
    ) -> None:
        turns = [samples.memory(f"turn {i}", session_id="s", seq=i) for i in range(10)]
        turns[4] = replace(turns[4], project="elsewhere")
        other = [samples.memory("x", session_id="t", seq=5), samples.memory("no session", seq=5)]
        store.apply([Insert(m, IndexEntry()) for m in (*turns, *other)])

        def around(*seqs: int, span: int) -> list[int]:
            found = store.session_neighbours(
                [SessionPosition("s", seq) for seq in seqs], HERE, span=span
            )
            assert all(c.session_id == "s" for c in found)
            return sorted(c.seq for c in found if c.seq is not None)

        assert around(5, span=0) == [5]
        assert around(5, span=2) == [3, 5, 6, 7]
        assert around(0, 9, span=1) == [0, 1, 8, 9]
        assert around(7, 5, 5, 2, span=1) == [1, 2, 3, 5, 6, 7, 8]
        assert around(2**63 - 1, -(2**63), span=2) == around(span=3) == []

    @pytest.mark.feature("B6")
    def test_several_memories_may_stand_at_one_place(self, store: Store, samples: Samples) -> None:
        pair = [samples.memory(f"said {i}", session_id="o'\u00e9\"s", seq=1) for i in range(2)]
        store.apply([Insert(m, IndexEntry()) for m in pair])
        found = store.session_neighbours(
            [SessionPosition(pair[0].session_id or "", 2)], HERE, span=1
        )
        assert sorted(c.id for c in found) == sorted(m.id for m in pair)


_VARIED_TYPES = (
    MemoryType.FACT,
    MemoryType.GOTCHA,
    MemoryType.WORKFLOW,
    MemoryType.OBSERVATION,
)


def varied_memories(samples: Samples) -> list[Memory]:
    """Memories that differ in everything a filter can ask for."""
    made: list[Memory] = []
    for i in range(48):
        made.append(
            samples.memory(
                f"shared word {i}",
                project=("example", "elsewhere")[i % 2],
                type=_VARIED_TYPES[i // 4 % 4],
                scope=(Scope.GLOBAL, Scope.USER, Scope.SESSION, Scope.MODULE)[i % 4],
                source=(Source.USER_TAUGHT, Source.MCP_AUTO, Source.OBSERVER_INFERRED)[i // 2 % 3],
                tags=(
                    "all",
                    *(("even",) if i % 4 == 0 else ()),
                    *(("five",) if i % 5 == 0 else ()),
                ),
                files=("all.py", f"f{i % 6}.py"),
                modules=(f"mod{i % 4}",),
                session_id=(None, "s1", "s2")[i % 3],
                seq=i,
                author=(None, "robin", "sam")[i // 3 % 3],
                importance=i / 47,
                confidence=1 - i / 47,
                valid_from=START + timedelta(hours=i),
                valid_to=START + timedelta(hours=i + 10) if i % 5 == 2 else None,
                stale_at=START if i % 7 == 0 else None,
                archived_at=START if i % 11 == 0 else None,
                needs_review=i % 3 == 0,
                user_verified=i % 4 == 1,
                pinned=i % 6 == 0,
            )
        )
    return made


def varied_filters() -> list[Filter]:
    """One filter for each thing that can be asked, and some together."""
    noon = START + timedelta(hours=20)
    wide = replace(EVERYTHING, project="example")
    return [
        EVERYTHING, wide, HERE, Filter(project="nowhere"),
        replace(wide, include_user=False),
        replace(wide, types=(MemoryType.FACT, MemoryType.WORKFLOW)),
        replace(wide, scopes=(Scope.USER,)),
        replace(wide, sources=(Source.MCP_AUTO,)),
        replace(wide, tags=("even",)), replace(wide, tags=("even", "five")),
        replace(wide, tags=("all", "none")),
        replace(wide, files=("f1.py", "f2.py")), replace(wide, files=("%",)),
        replace(wide, modules=("mod1",)),
        replace(wide, sessions=("s1", "s2")), replace(wide, authors=("robin",)),
        replace(wide, min_confidence=0.5), replace(wide, min_importance=0.25),
        replace(wide, since=noon), replace(wide, until=noon),
        replace(wide, since=noon, until=noon + timedelta(hours=5)),
        replace(wide, as_of=noon), replace(wide, as_of=noon, validity=Validity.CLOSED),
        replace(wide, validity=Validity.CLOSED), replace(wide, validity=Validity.OPEN),
        replace(wide, stale=True), replace(wide, stale=False),
        replace(wide, archived=True), replace(wide, archived=False),
        replace(wide, needs_review=True), replace(wide, needs_review=False),
        replace(wide, user_verified=True), replace(wide, pinned=True),
        replace(wide, raw=True), replace(wide, raw=False),
        replace(EVERYTHING, types=(MemoryType.GOTCHA,), pinned=False, authors=("sam", "x")),
    ]  # fmt: skip
