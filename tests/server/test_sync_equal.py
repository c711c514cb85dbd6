"""What once left laptops different: each case in its shortest form, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.laptops import Laptop, team_server
from wellkept.core.changes import IndexEntry, Insert, Replace
from wellkept.core.records import replace
from wellkept.core.team.records import SharedState
from wellkept.testing.fakes import ManualClock
from wellkept_team.sync.state import put_token

pytestmark = pytest.mark.feature("T3")


class People:
    """A reviewer and three writers with their laptops."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.rita = Laptop(folder / "rita", "rita", role="reviewer")
        self.ann, self.bob, self.cleo = (
            Laptop(folder / name, name) for name in ("ann", "bob", "cleo")
        )
        self.all = (self.rita, self.ann, self.bob, self.cleo)
        for one in self.all:
            assert one.join(address).problem is None

    def sync(self, *laptops: Laptop) -> None:
        for one in laptops:
            report = one.sync()
            assert report.problem is None, report.problem

    def settle(self) -> None:
        """Sync, say yes to all that waits, and sync until nobody has anything to tell."""
        for _ in range(6):
            self.sync(*self.all)
            waiting = [one.id for one in self.rita.wk.remote.waiting()]
            if waiting:
                self.rita.wk.remote.decide(waiting, holds=True)
        assert all(one.sync().pushed == 0 for one in self.all), "somebody never comes to rest"

    def check_equal(self) -> None:
        self.settle()
        for one in self.all[1:]:
            assert one.view() == self.rita.view(), f"{one.name} differs"


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    with ExitStack() as stack:
        served = stack.enter_context(
            team_server(tmp_path / "server.db", tmp_path / "server", ManualClock())
        )
        made = People(served.address, tmp_path)
        for one in made.all:
            stack.callback(one.wk.close)
        yield made


def test_one_who_says_again_what_they_withdrew_holds_it_again(people: People) -> None:
    said = people.rita.teach("Deploy on Mondays.")
    people.sync(*people.all)
    people.ann.wk.forget(said.id, keep_history=True)
    people.sync(people.ann)
    assert people.ann.says() == {}
    people.ann.teach("Deploy on Mondays.")
    people.sync(people.ann)
    assert people.ann.says() == {said.id: said.content}
    assert not people.rita.wk.remote.waiting()
    people.check_equal()


def test_what_was_said_again_is_not_lost_when_the_teams_word_ends_with_it(people: People) -> None:
    old = people.rita.teach("Deploy on Mondays.")
    people.sync(*people.all)
    people.bob.wk.forget(old.id, keep_history=True)
    people.sync(people.bob)
    again = people.ann.teach("Deploy on Mondays.")  # and ends the team's in the same push
    people.ann.wk.forget(old.id, keep_history=True)
    people.sync(people.ann)
    people.check_equal()
    assert people.rita.says() == {again.id: again.content}


def test_the_same_said_twice_on_one_laptop_gives_way_twice(people: People) -> None:
    first = people.bob.teach("Deploy on Mondays.")
    people.sync(people.bob)  # a proposal: ann is not told
    people.ann.teach("Deploy on Mondays.")
    people.ann.teach("deploy on mondays")
    people.sync(people.ann)
    assert people.ann.says() == {first.id: first.content}
    people.check_equal()


def test_what_is_opened_again_says_what_the_team_says_by_then(people: People) -> None:
    said = people.ann.teach("Deploy on Mondays.")
    people.settle()  # the reviewer makes it the team's
    people.ann.wk.forget(said.id, keep_history=True)
    people.sync(people.ann)
    people.bob.wk.edit(said.id, tags=("release",))
    people.sync(people.bob)
    people.settle()  # the reviewer holds on to it
    assert people.ann.wk.get(said.id).tags == ("release",)
    people.check_equal()
    assert people.rita.wk.get(said.id).tags == ("release",)


def test_labels_can_be_set_back_to_what_they_were(people: People) -> None:
    said = people.rita.teach("Deploy on Mondays.", tags=("old",))
    people.sync(*people.all)
    people.rita.wk.edit(said.id, tags=("new",))
    people.sync(*people.all)
    people.bob.wk.edit(said.id, tags=("old",))
    people.sync(people.bob)
    people.check_equal()
    assert people.rita.wk.get(said.id).tags == ("old",)


def test_an_owner_who_was_away_hears_that_the_team_took_it_and_ended_it(people: People) -> None:
    said = people.ann.teach("Deploy on Mondays.")
    people.sync(people.ann)
    people.bob.teach("Deploy on Mondays.")  # now it is the team's
    people.sync(people.bob, people.cleo)
    for one in (people.bob, people.cleo):
        one.wk.forget(said.id, keep_history=True)
        people.sync(one)
    people.check_equal()
    assert people.ann.says() == {}


def test_a_reviewers_yes_after_a_no_reaches_the_owner(people: People) -> None:
    said = people.ann.teach("Deploy on Mondays.")
    people.sync(people.ann)
    people.rita.wk.remote.decide([said.id], holds=False)
    people.sync(*people.all)
    people.rita.wk.remote.decide([said.id], holds=True)
    people.sync(*people.all)
    people.bob.wk.edit(said.id, tags=("release",))
    people.sync(people.bob)
    people.check_equal()
    assert people.ann.wk.get(said.id).tags == ("release",)


def test_what_changed_while_it_was_deleted_here_comes_when_it_is_brought_back(
    people: People,
) -> None:
    said = people.rita.teach("Deploy on Mondays.")
    people.sync(*people.all)
    ann = people.ann
    kept = ann.wk.get(said.id)
    people.bob.wk.edit(said.id, tags=("release",))
    people.sync(people.bob)
    ann.wk.forget(said.id)
    put_token(ann.home, people.address, "reader:ann")  # pulls, and cannot tell of the deletion
    people.sync(ann)
    put_token(ann.home, people.address, ann.token)
    ann.wk.engine.store.apply([Insert(kept, IndexEntry())])
    people.check_equal()
    assert ann.wk.get(said.id).tags == ("release",)


def ended_while_cleo_was_away(people: People) -> str:
    """Ann brings back what the team ended; Cleo has heard of neither."""
    said = people.rita.teach("Deploy on Mondays.")
    people.sync(*people.all)
    people.rita.wk.forget(said.id, keep_history=True)
    people.sync(people.rita, people.ann, people.bob)
    bring_back(people.ann, said.id)
    people.sync(people.ann)
    return said.id


def bring_back(laptop: Laptop, memory_id: str) -> None:
    closed = laptop.wk.get(memory_id)
    opened = replace(closed, valid_to=None, superseded_by=None, updated_at=laptop.clock())
    laptop.wk.engine.store.apply([Replace(opened, IndexEntry())])


def test_what_is_brought_back_is_over_for_one_who_was_away_until_a_reviewer_decides(
    people: People,
) -> None:
    said = ended_while_cleo_was_away(people)
    people.cleo.wk.edit(said, tags=("mine",))  # is no word for it: she had not heard
    people.sync(people.cleo, people.bob, people.rita)
    assert people.cleo.says() == people.bob.says() == people.rita.says() == {}
    assert [*people.ann.says()] == [said]
    state = people.ann.wk.remote.state()
    assert state is not None
    assert state.proposed == 1
    (waiting,) = people.rita.wk.remote.waiting()
    assert (waiting.state, waiting.owner) == (SharedState.PROPOSED, "ann")
    assert waiting.entry.ended_by == "rita"
    people.check_equal()  # the reviewer says yes
    assert [*people.cleo.says()] == [said]


def test_a_reviewers_no_leaves_what_was_brought_back_to_who_did(people: People) -> None:
    said = ended_while_cleo_was_away(people)
    people.rita.wk.remote.decide([said], holds=False)
    people.sync(*people.all)
    assert people.cleo.says() == people.bob.says() == people.rita.says() == {}
    assert [*people.ann.says()] == [said]
    assert people.ann.wk.get(said).needs_review
    assert people.ann.sync().pushed == 0


def test_a_second_person_who_brings_it_back_makes_it_the_teams_again(people: People) -> None:
    said = ended_while_cleo_was_away(people)
    people.sync(people.bob)
    bring_back(people.bob, said)
    people.sync(people.bob, *people.all)
    assert not people.rita.wk.remote.waiting()
    people.check_equal()
    assert [*people.cleo.says()] == [said]


def test_what_was_brought_back_and_said_anew_by_another_is_one_statement(people: People) -> None:
    said = ended_while_cleo_was_away(people)
    people.sync(people.cleo)
    people.cleo.teach("Deploy on Mondays.")
    people.sync(people.cleo)
    people.check_equal()
    assert [*people.bob.says()] == [said]
