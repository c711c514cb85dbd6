"""The library as a person uses it: keep, find, change, forget; with or without vectors."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.opening import FailingEmbedder, open_in
from wellkept.core.errors import ConflictError, NotFoundError, ProviderError, StoreError, UsageError
from wellkept.core.payloads import Decision
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.remember import RememberOutcome
from wellkept.testing.fakes import ManualClock, WordEmbedder


@pytest.mark.feature("A3")
def test_opening_touches_nothing_until_memory_is_used(tmp_path: Path) -> None:
    with open_in(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.feature("A3")
def test_the_database_and_its_folder_belong_to_their_owner_alone(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("private")
        assert stat.S_IMODE(wk.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(wk.path.parent.stat().st_mode) == 0o700
        copy = wk.backup(tmp_path / "copy.db")
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600


@pytest.mark.feature("A1")
def test_everything_said_about_a_memory_is_kept(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        kept = wk.remember(
            "We chose SQLite",
            type="decision",
            key="engine",
            tags=["storage"],
            files="src/store.py",
            modules=("store",),
            importance=0.7,
            confidence=0.6,
            scope="module",
            source="user_taught",
            author="Ada",
            session="s1",
            seq=3,
            at="2025-12-24",
            pinned=True,
            payload={"rationale": "no server", "alternatives": ["files"]},
        )
        found = wk.get("engine")
    assert kept.outcome is RememberOutcome.INSERTED
    assert found == kept.memory
    assert (found.type, found.scope, found.source) == (
        MemoryType.DECISION,
        Scope.MODULE,
        Source.USER_TAUGHT,
    )
    assert found.payload == Decision("no server", ("files",))
    assert found.files == ("src/store.py",)
    assert found.valid_from == datetime(2025, 12, 24, tzinfo=UTC)


@pytest.mark.feature("A3")
@pytest.mark.parametrize(
    ("details", "said"),
    [
        ({"type": "hunch"}, "Unknown memory type 'hunch'"),
        ({"scope": "galaxy"}, "Unknown scope 'galaxy'"),
        ({"source": "rumour"}, "Unknown source 'rumour'"),
        ({"importance": float("nan")}, "importance nan is out of range"),
        ({"type": "convention", "payload": {"x": 1}}, "takes no payload"),
        ({"type": "decision", "payload": {"x": 1}}, "Decision has no field 'x'"),
        ({"at": "tomorrowish"}, "is not a date or time"),
        ({"files": ["../../outside"]}, "outside the project"),
    ],
)
def test_a_bad_word_is_refused_with_what_would_fit(
    tmp_path: Path, details: dict[str, object], said: str
) -> None:
    with open_in(tmp_path) as wk, pytest.raises(UsageError, match=said):
        wk.remember("x", **details)  # type: ignore[arg-type]


@pytest.mark.feature("A3")
def test_files_are_named_from_the_root_wherever_the_caller_stands(tmp_path: Path) -> None:
    GitRepository.create(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    with wellkept.open(tmp_path / "m.db", cwd=tmp_path / "src", embedder="none") as wk:
        kept = wk.remember("x", files=["a.py", str(tmp_path / "src" / "a.py"), "docs/b.md"])
    assert kept.memory.files == ("src/a.py", "docs/b.md")


@pytest.mark.feature("A3")
def test_a_folder_that_gets_a_remote_takes_its_memories_along(tmp_path: Path) -> None:
    repository = GitRepository.create(tmp_path / "repo")
    with open_in(repository.root, project=None) as wk:
        wk.remember("from before")
        assert wk.project.startswith("path:")
    repository.git("remote", "add", "origin", "https://example.com/team/tool.git")
    with open_in(repository.root, project=None) as wk:
        assert [m.content for m in wk.list().items] == ["from before"]
        assert wk.projects() == [("git:example.com/team/tool", 1)]


@pytest.mark.feature("B1")
def test_recall_finds_by_words_and_respects_every_filter(tmp_path: Path) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        wk.remember("Deploys go through staging", tags=["ops"], author="Ada")
        clock.advance(days=10)
        wk.remember("Deploys are on Tuesdays", type="convention", author="Bob")
        assert len(wk.recall("deploys")) == 2
        assert [h.memory.author for h in wk.recall("deploys", types="convention")] == ["Bob"]
        assert [h.memory.author for h in wk.recall("deploys", tags="ops")] == ["Ada"]
        assert [h.memory.author for h in wk.recall("deploys", since="5d")] == ["Bob"]
        assert [h.memory.author for h in wk.recall("deploys", authors=["Ada"])] == ["Ada"]
        assert len(wk.recall("deploys", limit=1)) == 1
        assert len(wk.recall("deploys", min_importance=0.9)) == 0


@pytest.mark.feature("A4")
def test_a_new_value_for_a_key_takes_the_place_of_the_old_one_and_history_stays(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        wk.remember("port 8080", key="port")
        clock.advance(days=30)
        kept = wk.remember("port 9090", key="port")
        assert kept.outcome is RememberOutcome.SUPERSEDED
        assert [m.content for m in wk.list().items] == ["port 9090"]
        assert [m.content for m in wk.list(as_of="20d").items] == ["port 8080"]


@pytest.mark.feature("A3")
def test_a_project_sees_its_own_memories_and_those_about_the_person(tmp_path: Path) -> None:
    with open_in(tmp_path, project="one") as wk:
        wk.remember("only here")
        wk.remember("likes tabs", scope="user", type="preference")
    with open_in(tmp_path, project="two") as wk:
        assert [m.content for m in wk.list().items] == ["likes tabs"]
        assert wk.list(all_projects=True).total == 2
        assert wk.projects() == [("name:one", 2)]


@pytest.mark.feature("A3")
def test_an_identity_as_listed_names_a_project_too(tmp_path: Path) -> None:
    with open_in(tmp_path, project="One") as wk:
        wk.remember("x")
        (identity, _), *_ = wk.projects()
    with open_in(tmp_path, project=identity) as wk:
        assert wk.list().total == 1


@pytest.mark.feature("A3")
def test_editing_content_opens_a_successor_and_anything_else_is_changed_in_place(
    tmp_path: Path,
) -> None:
    with open_in(tmp_path) as wk:
        first = wk.remember("port 8080").memory
        tagged = wk.edit(
            first.short, tags=["net"], pinned=True, scope="module", files="a.py"
        ).memory
        assert (tagged.id, tagged.tags, tagged.pinned) == (first.id, ("net",), True)
        second = wk.edit(first.short, content="port 9090", type="gotcha", modules="net").memory
        assert second.id != first.id
        assert wk.get(first.id).superseded_by == second.id


@pytest.mark.feature("A3")
def test_forgetting_deletes_or_only_closes_and_can_be_previewed(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        one, two = (wk.remember(text).memory for text in ("alpha", "omega"))
        assert list(wk.forget(one.short, dry_run=True)) == [one]
        assert wk.list().total == 2
        wk.forget(one.short)
        wk.forget(two.short, keep_history=True)
        assert wk.list().total == 0
        assert [m.id for m in wk.list(validity="any").items] == [two.id]
        with pytest.raises(NotFoundError):
            wk.get(one.id)


@pytest.mark.feature("A3")
def test_clearing_a_project_leaves_other_projects_alone(tmp_path: Path) -> None:
    with open_in(tmp_path, project="other") as wk:
        wk.remember("stays")
    with open_in(tmp_path) as wk:
        wk.remember("goes")
        assert wk.forget(everything=True, dry_run=True).count == 1
        assert wk.forget(everything=True).count == 1
        assert wk.projects() == [("name:other", 1)]


@pytest.mark.feature("A3")
def test_clearing_a_project_leaves_what_is_about_the_person(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("I prefer tabs", scope="user", type="preference")
        wk.remember("goes")
        assert wk.forget(everything=True).count == 1
        assert [m.content for m in wk.list().items] == ["I prefer tabs"]


@pytest.mark.feature("A3")
def test_an_ambiguous_name_lists_what_it_fits(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        ids = [wk.remember(f"number {n}", merge_similar=False).memory.short for n in range(3)]
        assert len({wk.get(short).id for short in ids}) == 3
        with pytest.raises((ConflictError, NotFoundError)):
            wk.get("zz")


@pytest.mark.feature("B5")
def test_three_layers_go_from_rows_to_the_time_around_to_the_record(tmp_path: Path) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        for day in range(5):
            wk.remember(f"Day {day}: worked on the parser", merge_similar=False)
            clock.advance(days=1)
        found = wk.recall("parser", limit=2)
        assert len(found.as_text(brief=True).splitlines()) == 2
        middle = next(m for m in wk.list().items if m.content.startswith("Day 2"))
        around = wk.list(around=middle.short, before=1, after=1)
        assert [one.content[:5] for one in around] == [
            "Day 1",
            "Day 2",
            "Day 3",
        ]


@pytest.mark.feature("B5")
def test_what_happened_is_as_good_an_anchor_as_what_is_known(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("Rounding is half up on every invoice", type="convention")
        done = wk.remember("fixed the double credit of a cancelled stay", type="prompt").memory
        assert wk.list(around="?double credit of a cancelled stay").anchor == done.id
        rule = wk.list(around="?rounding half up invoice").anchor
        assert rule == wk.list(types="rule").items[0].id
        with pytest.raises(NotFoundError, match="Nothing matches"):
            wk.list(around="?zeppelin")


@pytest.mark.feature("B9")
def test_context_tells_its_moment_from_what_is_given_and_keeps_to_its_budget(
    tmp_path: Path,
) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("Always run the linter", type="convention", source="user_taught")
        wk.remember("The linter needs node", type="gotcha", source="user_taught")
        assert wk.context().moment == "session"
        assert wk.context("why does the linter fail?").moment == "prompt"
        assert wk.context(files=["a.py"]).moment == "file"
        pack = wk.context(budget_tokens=60)
        assert 0 < pack.used_tokens <= 60


@pytest.mark.feature("A8")
def test_a_persons_message_is_obeyed(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        (done,) = wk.apply("Remember that the demo database is called kiwi")
        assert done.kept is not None
        assert not wk.apply("What is a database?")
        assert wk.list().total == 1


@pytest.mark.feature("A9")
def test_project_state_is_there_for_the_next_process(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.state().put("project:branch", "main")
    with open_in(tmp_path) as wk:
        assert wk.state().get("project:branch") == "main"


@pytest.mark.feature("A5")
def test_upkeep_can_be_previewed_and_run(tmp_path: Path) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        wk.remember("fades", importance=0.5, files=["gone.py"])
        clock.advance(days=70)
        for run in (wk.decay, wk.prune, wk.refresh, wk.compact, wk.maintain):
            assert run(dry_run=True).dry_run
        assert wk.get(wk.list().items[0].id).importance == 0.5
        assert wk.decay().changed == 1
        assert wk.list().items[0].importance < 0.5


@pytest.mark.feature("A6")
def test_the_job_of_opening_a_project_runs_once_a_day(tmp_path: Path) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        wk.remember("x")
        assert wk.maintain_if_due() is not None
        assert wk.maintain_if_due() is None
        clock.advance(days=1)
        assert wk.maintain_if_due() is not None


@pytest.mark.feature("A11")
def test_an_export_comes_back_as_it_was(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("port 8080", key="port")
        wk.remember("port 9090", key="port")
        assert wk.export(tmp_path / "out.jsonl") == 2
        before = list(wk.iterate(validity="any"))
    with wellkept.open(tmp_path / "other.db", project="demo", cwd=tmp_path, embedder="none") as wk:
        assert wk.import_jsonl(tmp_path / "out.jsonl").new == 2
        assert list(wk.iterate(validity="any")) == before
        assert wk.export_markdown(tmp_path / "notes") == 2
        assert wk.import_markdown(tmp_path / "notes").new == 0


# -- Models ---------------------------------------------------------------------------------------


@pytest.mark.feature("B4")
def test_what_is_said_is_kept_even_when_the_embedder_fails(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=FailingEmbedder(texts=0)) as wk:
        kept = wk.remember("still kept")
        assert kept.outcome is RememberOutcome.INSERTED
        assert wk.embedding_problem == "The server went away."
        assert [hit.memory.content for hit in wk.recall("kept")] == ["still kept"]


@pytest.mark.feature("B4")
def test_another_model_than_the_stores_is_said_in_the_notes(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=WordEmbedder(model_id="old")) as wk:
        wk.remember("The deploy key is in the vault")
        assert wk.recall("deploy").notes == ()
    with open_in(tmp_path, embedder=WordEmbedder(model_id="new")) as wk:
        found = wk.recall("deploy")
        assert len(found) == 1
        assert any("old" in note and "new" in note for note in found.notes)
        wk.reindex()
        assert wk.recall("deploy").notes == ()


@pytest.mark.feature("B4")
def test_a_callers_own_wish_for_an_unknown_embedder_is_an_error(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder="abacus") as wk, pytest.raises(UsageError, match="abacus"):
        wk.remember("x")


@pytest.mark.feature("B4")
def test_the_settings_choose_the_embedder_and_none_means_words_only(tmp_path: Path) -> None:
    settings = Settings(embedding_provider="none")
    with open_in(tmp_path, embedder=None, settings=settings) as wk:
        wk.remember("by words")
        assert wk.engine.embedder() is None
        assert wk.engine.store.vector_models() == []


@pytest.mark.feature("B4")
def test_the_bundled_model_works_offline_and_its_cut_offs_are_calibrated(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder="static") as wk:
        wk.remember("We deploy to the staging cluster before production")
        (share,) = wk.engine.store.vector_models()
        assert share.count == 1
        found = wk.recall("rolling out a release", mode="vectors", min_score=0)
        assert len(found) == 1
        assert wk.engine.thresholds().duplicate < 0.85


@pytest.mark.feature("B4")
def test_a_model_without_shipped_figures_is_measured_once_and_remembered(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=WordEmbedder(model_id="homemade")) as wk:
        first = wk.engine.thresholds()
        assert wk.engine.store.get_value("calibration", "homemade") is not None
    failing = FailingEmbedder(texts=0, model_id="homemade")
    with open_in(tmp_path, embedder=failing) as wk:
        assert wk.engine.thresholds() == first


@pytest.mark.feature("A3")
def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    wk = open_in(tmp_path)
    wk.close()
    with pytest.raises(StoreError, match="closed"):
        wk.list()


@pytest.mark.feature("A3")
def test_a_database_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        wellkept.open(tmp_path / "file" / "m.db", project="x", cwd=tmp_path) as wk,
        pytest.raises((UsageError, StoreError), match="cannot be made"),
    ):
        wk.list()


@pytest.mark.feature("B4")
def test_a_failing_embedder_in_a_vector_search_is_an_error_not_an_empty_answer(
    tmp_path: Path,
) -> None:
    class Mute(WordEmbedder):
        def embed_query(self, text: str) -> bytes:
            raise ProviderError("No answer.")

    with open_in(tmp_path, embedder=WordEmbedder()) as wk:
        wk.remember("something")
    with (
        open_in(tmp_path, embedder=Mute()) as wk,
        pytest.raises(ProviderError, match="No answer"),
    ):
        wk.recall("something", mode="vectors")


@pytest.mark.feature("A6")
def test_upkeep_from_another_folder_takes_no_file_for_gone(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    (home / "a.py").touch()

    def opened(folder: Path, clock: ManualClock) -> wellkept.Wellkept:
        return wellkept.open(
            tmp_path / "m.db", project="demo", cwd=folder, embedder="none", clock=clock
        )

    clock = ManualClock()
    with opened(home, clock) as wk:
        wk.remember("about a", files=["a.py"])
        wk.remember("about b, which is gone", files=["b.py"])
    with opened(elsewhere, clock) as wk:
        assert wk.maintain_if_due() is not None
        assert wk.stats().stale == 0
    clock.advance(days=2)
    with opened(home, clock) as wk:
        wk.maintain_if_due()
        assert [m.content for m in wk.iterate() if m.stale_at] == ["about b, which is gone"]
