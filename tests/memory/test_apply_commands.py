from __future__ import annotations

import pytest

from wellkept.core.memory import MemoryDraft
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType, Source
from wellkept.memory.commands import Speaker, apply_commands
from wellkept.memory.edit import get_memory
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("A8")
HERE = "name:here"


def total(engine: Engine) -> int:
    return engine.store.stats(Filter(project=HERE)).total


def teach(engine: Engine, content: str) -> str:
    draft = MemoryDraft(content=content, source=Source.USER_TAUGHT)
    return remember(engine, draft, project=HERE).memory.id


def test_what_a_person_asks_to_remember_is_kept_at_full_weight(engine: Engine) -> None:
    (done,) = apply_commands(
        engine, "Always use pnpm. Now fix the build", project=HERE, speaker=Speaker(session_id="s1")
    )
    assert done.kept is not None
    memory = done.kept.memory
    assert memory.content == "Always use pnpm"
    assert memory.type is MemoryType.CONVENTION
    assert (memory.importance, memory.user_verified) == (0.95, True)
    assert memory.provenance_sessions == ("s1",)


@pytest.mark.parametrize(
    "message",
    ["never mind", "remember to buy milk?", "> always use pnpm\n\nwhat is this?", "hello"],
)
def test_a_message_without_a_command_changes_nothing(engine: Engine, message: str) -> None:
    assert apply_commands(engine, message, project=HERE) == []
    assert total(engine) == 0


def test_a_command_in_another_language_is_carried_out(engine: Engine) -> None:
    (done,) = apply_commands(engine, "记住：测试数据库是 staging-db", project=HERE)
    assert done.kept is not None
    assert "staging-db" in done.kept.memory.content


def test_forgetting_closes_the_one_memory_that_clearly_matches(
    engine: Engine, clock: ManualClock
) -> None:
    wanted = teach(engine, "The staging server is called heron")
    teach(engine, "The build server is called crane")
    clock.advance(days=1)
    (done,) = apply_commands(engine, "forget that the staging server is called heron", project=HERE)
    assert [m.id for m in done.forgotten] == [wanted]
    assert not get_memory(engine, wanted).is_open
    assert total(engine) == 1


def test_forgetting_something_vague_asks_which_one_instead(engine: Engine) -> None:
    teach(engine, "The staging server is called heron")
    teach(engine, "The build server is called crane")
    (done,) = apply_commands(engine, "forget that the server is called", project=HERE)
    assert done.forgotten == ()
    assert len(done.choices) == 2
    assert total(engine) == 2


def test_asking_recalls(engine: Engine) -> None:
    wanted = teach(engine, "The staging server is called heron")
    teach(engine, "Icons are drawn by hand")
    (done,) = apply_commands(engine, "what do you remember about the staging server?", project=HERE)
    assert done.choices[0].id == wanted
    assert done.kept is None


def test_asking_for_preferences_lists_what_stands_and_asking_about_a_thing_only_that(
    engine: Engine,
) -> None:
    apply_commands(engine, "Always use pnpm", project=HERE)
    teach(engine, "The staging server is slow")
    (preferences,) = apply_commands(engine, "What are my preferences?", project=HERE)
    assert [m.content for m in preferences.choices] == ["Always use pnpm"]
    (staging,) = apply_commands(
        engine, "What do you remember about the staging server?", project=HERE
    )
    assert [m.content for m in staging.choices] == ["The staging server is slow"]
    (everything,) = apply_commands(engine, "What do you remember?", project=HERE)
    assert len(everything.choices) == 2
