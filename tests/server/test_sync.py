"""Sharing through a server: proposals, decisions, conflicts and faults, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.laptops import Laptop, TeamServer, team_server
from wellkept.context.packing import render_context
from wellkept.context.start.handoff import Handoff
from wellkept.core.changes import IndexEntry, Replace
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import replace
from wellkept.core.team.records import SharedState
from wellkept.core.types import EvidenceKind, Scope
from wellkept.testing.fakes import ManualClock
from wellkept_team.sharing.git_tier import handed_over_to

pytestmark = pytest.mark.feature("T3")


class Team:
    """A server and laptops."""

    def __init__(self, served: TeamServer, folder: Path, clock: ManualClock) -> None:
        self.served = served
        self.clock = clock
        self._folder = folder
        self.laptops: list[Laptop] = []

    def laptop(self, name: str, role: str = "writer", *, joined: bool = True) -> Laptop:
        made = Laptop(self._folder / name, name, role=role)
        self.laptops.append(made)
        if joined:
            made.join(self.served.address)
        return made

    def sync(self, *laptops: Laptop) -> None:
        for one in laptops or self.laptops:
            report = one.sync()
            assert report.problem is None, report.problem


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    clock = ManualClock()
    with ExitStack() as stack:
        known = stack.enter_context(team_server(tmp_path / "server.db", tmp_path / "server", clock))
        made = Team(known, tmp_path, clock)
        yield made
        for one in made.laptops:
            one.wk.close()


def test_what_a_reviewer_taught_is_known_to_all_with_the_reviewers_name(team: Team) -> None:
    ann, bob = team.laptop("ann", "reviewer"), team.laptop("bob")
    said = ann.teach("Money is counted in cents.", tags=("money",), files=("src/money.py",))
    team.sync(ann, bob)
    there = bob.wk.get(said.id)
    assert (there.content, there.tags, there.files) == (said.content, ("money",), said.files)
    people = [(one.ref, one.note) for one in there.evidence if one.kind is EvidenceKind.PERSON]
    assert ("ann", "Reviewed for the team") in people
    assert not there.user_verified
    assert not there.pinned
    team.sync()
    assert ann.view() == bob.view()


def test_a_proposal_waits_for_a_second_person_who_says_the_same(team: Team) -> None:
    ann, bob, cleo = team.laptop("ann"), team.laptop("bob"), team.laptop("cleo")
    mine = ann.teach("Tests run with make check.")
    team.sync()
    assert bob.says() == {}
    state = ann.wk.remote.state()
    assert state is not None
    assert (state.proposed, state.shared) == (1, 0)
    assert [one.id for one in cleo.wk.remote.waiting()] == [mine.id]
    bob.teach("tests run with make check")
    team.sync(bob, ann, cleo)
    for one in (ann, bob, cleo):
        assert one.says() == {mine.id: mine.content}, one.name
    (reviewed,) = (
        one for one in cleo.wk.get(mine.id).evidence if one.note == "Reviewed for the team"
    )
    assert reviewed.ref == "ann and bob"


def test_a_reviewers_yes_makes_it_the_teams_and_a_no_leaves_it_personal(team: Team) -> None:
    ann, rita, bob = team.laptop("ann"), team.laptop("rita", "reviewer"), team.laptop("bob")
    good, bad = ann.teach("Use uv to install."), ann.teach("Skip the linter.")
    team.sync(ann)
    (yes,) = rita.wk.remote.decide([good.short], holds=True)
    (no,) = rita.wk.remote.decide([bad.id], holds=False)
    assert (yes.state, no.state) == (SharedState.TEAM, SharedState.CLOSED)
    team.sync()
    assert bob.says() == rita.says() == {good.id: good.content}
    assert set(ann.says()) == {good.id, bad.id}
    assert ann.wk.get(bad.id).needs_review
    assert any(one.ref == "rita" for one in bob.wk.get(good.id).evidence)
    team.sync()
    assert bob.says() == {good.id: good.content}


def test_a_writer_may_not_decide_and_a_reader_pushes_nothing(team: Team) -> None:
    rita, ann = team.laptop("rita", "reviewer"), team.laptop("ann")
    guest = team.laptop("guest", "reader")
    mine = ann.teach("Use uv to install.")
    guest.teach("I only read.")
    ruled = rita.teach("Cents only.")
    team.sync()
    with pytest.raises(ProviderError, match="403"):
        ann.wk.remote.decide([mine.id], holds=True)
    assert ruled.id in guest.says()
    assert [one.id for one in rita.wk.remote.waiting()] == [mine.id]


def test_two_people_who_replace_the_same_belief_leave_both_up_for_review(team: Team) -> None:
    ann, bea = team.laptop("ann", "reviewer"), team.laptop("bea", "reviewer")
    cleo = team.laptop("cleo")
    old = ann.teach("Deploy on Mondays.")
    team.sync()
    one, other = ann.correct(old.id, "Deploy on Tuesdays."), bea.correct(old.id, "Deploy daily.")
    team.sync(bea, ann, cleo, bea)
    for laptop in (ann, bea, cleo):
        found = {m.id: m for m in laptop.open()}
        assert set(found) == {one.id, other.id}, laptop.name
        assert all(m.needs_review for m in found.values())
        assert not laptop.wk.get(old.id).is_open
    state = cleo.wk.remote.state()
    assert state is not None
    assert set(state.conflicts) == {one.id, other.id}
    ann.wk.remote.decide([other.id], holds=False)
    team.sync()
    for laptop in (ann, bea, cleo):
        assert set(laptop.says()) == {one.id}
        assert not laptop.wk.get(one.id).needs_review


def test_a_writers_correction_of_the_teams_word_waits_and_is_given_back_after_a_no(
    team: Team,
) -> None:
    rita, ann, bob = team.laptop("rita", "reviewer"), team.laptop("ann"), team.laptop("bob")
    old = rita.teach("Deploy on Mondays.")
    team.sync()
    new = ann.correct(old.id, "Deploy at midnight.")
    team.sync()
    assert set(bob.says()) == {old.id}
    assert set(ann.says()) == {new.id}
    waiting = {one.id: one for one in rita.wk.remote.waiting()}
    assert set(waiting) == {old.id, new.id}
    assert waiting[old.id].entry.withdrawn_by == ("ann",)
    rita.wk.remote.decide([new.id], holds=False)
    team.sync()
    assert set(bob.says()) == {old.id}
    assert set(ann.says()) == {old.id, new.id}
    assert ann.wk.get(new.id).needs_review


def test_ends_deletions_and_labels_travel(team: Team) -> None:
    rita, bob = team.laptop("rita", "reviewer"), team.laptop("bob")
    ended, gone, tagged = (rita.teach(f"Rule {n}.", tags=("a",)) for n in range(3))
    team.sync()
    rita.wk.forget(ended.id, keep_history=True)
    rita.wk.forget(gone.id)
    rita.wk.edit(tagged.id, tags=("a", "r"))
    bob.wk.edit(tagged.id, tags=("a", "b"))
    team.sync(rita, bob, rita)
    assert set(bob.says()) == set(rita.says()) == {tagged.id}
    assert not bob.wk.get(ended.id).is_open
    assert bob.wk.engine.store.get([gone.id]) == []
    assert set(rita.wk.get(tagged.id).tags) == {"a", "r", "b"}
    assert rita.view() == bob.view()


def test_what_is_personal_or_secret_never_leaves(team: Team) -> None:
    rita = team.laptop("rita", "reviewer")
    rita.teach("I like short answers.", scope="user", type="preference")
    rita.teach("Only in this session.", scope="session")
    kept = rita.teach("The module rule.", scope="module", modules=("shop",))
    held = rita.teach("A plain sentence.")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    rita.wk.engine.store.apply([_with_content(rita, held.id, f"The key is {secret}")])
    report = rita.sync()
    assert [*report.refused] == [held.short]
    bob = team.laptop("bob")
    team.sync(bob)
    assert bob.says() == {kept.id: kept.content}
    assert bob.wk.get(kept.id).scope is Scope.MODULE
    with pytest.raises(UsageError, match="not shared"):
        bob.wk.remote.add(team.served.address, token=bob.token, scopes=[Scope.USER])


def test_a_new_member_needs_one_command_and_begins_with_what_the_team_knows(team: Team) -> None:
    rita = team.laptop("rita", "reviewer")
    rita.teach("Every endpoint has a rate limit.")
    rita.sync()
    newcomer = team.laptop("newcomer", joined=False)
    report = newcomer.join(team.served.address)
    assert (report.problem, report.new) == (None, 1)
    told = render_context(newcomer.wk.context(moment="session"))
    assert "Every endpoint has a rate limit." in told


def test_a_branch_is_handed_over_through_the_server(team: Team) -> None:
    ann, bob = team.laptop("ann"), team.laptop("bob")
    ann.wk.remote.hand_over(
        Handoff(
            branch="feature/refunds",
            author="somebody else",
            at=ann.clock(),
            sections=(("Open ends", ("`make check-refunds` failed last.",)),),
        )
    )
    for one in (ann, bob):
        assert one.sync().problem is None
    engine, project, root = bob.wk.engine, bob.wk.project, bob.wk.root
    told = handed_over_to(engine, project, root, "feature/refunds", seen_until=None)
    assert told is not None
    assert "by ann" in (told.title or "")
    assert "check-refunds" in told.lines[0].text
    start = render_context(bob.wk.context(moment="session", branch="feature/refunds"))
    assert "check-refunds" in start
    assert handed_over_to(engine, project, root, "main", seen_until=None) is None
    mine = (ann.wk.engine, ann.wk.project, ann.wk.root)
    assert handed_over_to(*mine, "feature/refunds", seen_until=None) is None
    guest = team.laptop("guest", "reader")
    with pytest.raises(ProviderError, match="403"):
        guest.wk.remote.hand_over(bob.wk.handoff("main"))


def _with_content(laptop: Laptop, memory_id: str, content: str) -> Replace:
    return Replace(replace(laptop.wk.get(memory_id), content=content), IndexEntry())
