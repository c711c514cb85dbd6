"""`wk.skills.commands`: the whole pipeline over an open project."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import pytest

import wellkept
from tests.skills.reading import document, put
from wellkept.context.moments import ContextRequest, Moment
from wellkept.context.packing import render_context
from wellkept.context.skill_lines import SkillContextSource
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.session.activity import ActivityKind
from wellkept.core.settings.model import Settings
from wellkept.skills.commands.table import CommandKind
from wellkept.skills.library.commands import RunLock
from wellkept.testing.fakes import ManualClock

if TYPE_CHECKING:
    from wellkept.skills.library.api import Skills

QUESTION = "deploy the billing service to the staging cluster"
_DEPLOY = """---
name: deploy
description: Deploys the billing service to the staging cluster
---
Deploy $1 to $2.
"""
_HOLD = """
import sys
from pathlib import Path
from wellkept.skills.library.commands import RunLock
with RunLock(Path(sys.argv[1])).held(sys.argv[2], name="deploy"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def wk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> Iterator[wellkept.Wellkept]:
    root = tmp_path / "work"
    root.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    put(root / ".skills", "deploy", _DEPLOY)
    with wellkept.open(project="demo", cwd=root, embedder="none", clock=clock) as opened:
        yield opened


# -- The pipeline ---------------------------------------------------------------------------------


@pytest.mark.feature("F5")
def test_a_typed_line_becomes_a_prompt(wk: wellkept.Wellkept) -> None:
    done = wk.skills.commands.run('/deploy "the app" staging')
    assert done.kind is CommandKind.PROMPT
    assert done.text.endswith("Deploy the app to staging.")
    assert done.prompt is not None
    assert not done.prompt.is_cut
    assert wk.skills.commands.run("deploy", ["the app", "$1"]).text.endswith("the app to $1.")
    assert wk.skills.commands.run("deploy", "a b").text.endswith("Deploy a to b.")


@pytest.mark.feature("F5")
@pytest.mark.parametrize("typed", ["", "/", "   ", "/ deploy"])
def test_what_is_no_command_is_refused(wk: wellkept.Wellkept, typed: str) -> None:
    with pytest.raises((UsageError, NotFoundError)):
        wk.skills.commands.run(typed)


@pytest.mark.feature("F5")
@pytest.mark.feature("H6")
def test_remember_recall_and_forget_take_the_path_of_plain_words(wk: wellkept.Wellkept) -> None:
    kept = wk.skills.commands.run("/remember Deploys go through the 'staging' cluster")
    assert kept.kind is CommandKind.LOCAL
    (memory,) = wk.list().items
    assert memory.content == "Deploys go through the 'staging' cluster"
    assert memory.source.value == "user_taught"
    assert f"[m:{memory.short}]" in kept.text
    assert memory.short in wk.skills.commands.run("/recall deploys").text
    assert memory.short in wk.skills.commands.run("/memories deploys").text
    assert "closed" in wk.skills.commands.run("/forget deploys staging cluster").text
    assert wk.list().items == ()
    with pytest.raises(UsageError, match="needs a text"):
        wk.skills.commands.run("/remember  ")


@pytest.mark.feature("F5")
def test_a_model_cannot_speak_for_the_person(wk: wellkept.Wellkept) -> None:
    for line in ("/remember x", "/forget x"):
        with pytest.raises(UsageError, match="by the user"):
            wk.skills.commands.run(line, by="model")
    assert "remember" not in {one.name for one in wk.skills.commands.list(by="model")}
    assert wk.list().items == ()


@pytest.mark.feature("F5")
def test_the_other_own_commands_answer(wk: wellkept.Wellkept) -> None:
    wk.remember("Deploys need two approvals", type="convention", source="user_taught")
    run = wk.skills.commands.run
    assert "/deploy: Deploys the billing" in run("/help").text
    assert "From: project:.skills" in run("/help deploy").text
    assert "1 memories" in run("/memory").text
    assert "two approvals" in run("/plan deploy the new service").text
    assert run("/skills deploy").text.startswith("/deploy")
    assert "/deploy" in run("/skills").text
    with pytest.raises(UsageError):
        run("/plan")
    with pytest.raises(NotFoundError):
        run("/help nosuch")


@pytest.mark.feature("F5")
def test_an_edited_skill_is_run_as_it_is_now(wk: wellkept.Wellkept) -> None:
    wk.skills.commands.run("/deploy a b")
    wk.skills.edit("deploy", {"aliases": ("ship",)}, body="Ship $ARGUMENTS!")
    assert wk.skills.commands.run("/ship it all").text.endswith("Ship it all!")
    wk.skills.disable("deploy")
    with pytest.raises(UsageError, match="switched off"):
        wk.skills.commands.run("/deploy")


# -- One at a time --------------------------------------------------------------------------------


@pytest.mark.feature("F7")
def test_a_skill_does_not_run_twice_at_once(wk: wellkept.Wellkept) -> None:
    commands = wk.skills.commands
    with commands.running("/deploy a b") as first:
        assert first.text.endswith("a to b.")
        assert commands.is_running("deploy")
        with pytest.raises(ConflictError, match="already running"):
            commands.run("/deploy c d")
        assert commands.run("/help").text  # another command is free
    assert not commands.is_running("deploy")
    assert commands.run("/deploy c d").text.endswith("c to d.")


@pytest.mark.feature("F7")
def test_another_process_keeps_a_skill_until_it_ends_and_a_dead_one_does_not(
    tmp_path: Path,
) -> None:
    guard, key = RunLock(tmp_path / "runs"), "demo\nproject:.skills:deploy"
    command = [sys.executable, "-c", _HOLD, str(tmp_path / "runs"), key]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"held"
        with (
            pytest.raises(ConflictError, match=f"in process {other.pid}"),
            guard.held(key, name="deploy"),
        ):
            pass
        other.kill()
        other.wait()
        with guard.held(key, name="deploy"):
            assert guard.is_held(key)
    assert not guard.is_held(key)


@pytest.mark.feature("F7")
def test_a_block_that_fails_lets_go(wk: wellkept.Wellkept) -> None:
    def fail() -> None:
        with wk.skills.commands.running("/deploy"):
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        fail()
    assert not wk.skills.commands.is_running("deploy")


# -- Use ------------------------------------------------------------------------------------------


@pytest.mark.feature("F7")
def test_what_is_used_most_comes_first_and_fades(wk: wellkept.Wellkept, clock: ManualClock) -> None:
    for _ in range(3):
        wk.skills.commands.run("/deploy")
    clock.advance(days=14)
    wk.skills.commands.run("/memory")
    assert [one.name for one in wk.skills.commands.list()][:2] == ["memory", "deploy"]
    assert wk.skills.commands.scores()["project:.skills:deploy"] == pytest.approx(0.75)


@pytest.mark.feature("F7")
def test_a_refused_command_does_not_count_as_used(wk: wellkept.Wellkept) -> None:
    with pytest.raises(UsageError):
        wk.skills.commands.run("/remember")
    assert wk.skills.commands.scores() == {}


# -- Hooks and reminders --------------------------------------------------------------------------


@pytest.mark.feature("F8")
@pytest.mark.skipif(sys.platform == "win32", reason="the command is for a POSIX shell")
def test_running_a_skill_in_a_session_brings_its_hooks_in(
    wk: wellkept.Wellkept, tmp_path: Path
) -> None:
    hook = "hooks:\n  Stop:\n    - command: touch stopped\n      once: true\n"
    put(wk.root / ".skills", "deploy", document("deploy", more=hook))
    wk.skills.commands.run("/deploy", session="s1")
    assert not wk.skills.hooks.run("Stop", session="s1").results[0].exit_code
    assert not (wk.root / "stopped").exists()
    wk.skills.hooks.trust("deploy")
    assert len(wk.skills.hooks.run("Stop", session="s1").results) == 1
    assert (wk.root / "stopped").exists()
    with wellkept.open(project="demo", cwd=wk.root, embedder="none") as later:
        again = later.skills.hooks.run("Stop", session="s1", skills=["deploy"])
        assert again.results == ()  # once for the session, in whichever process


@pytest.mark.feature("F10")
def test_reminders_of_skills_in_use(wk: wellkept.Wellkept) -> None:
    said = "sparse-reminder: Two approvals.\n"
    put(wk.root / ".skills", "deploy", document("deploy", more=said))
    assert "- deploy: Two approvals." in wk.skills.reminders("deploy", level="sparse")
    with pytest.raises(UsageError):
        wk.skills.reminders("deploy", level="loud")


# -- Context and news -----------------------------------------------------------------------------


@pytest.mark.feature("B9")
def test_the_context_pack_names_skills_that_fit_inside_its_budget(wk: wellkept.Wellkept) -> None:
    wk.remember("Deploy the billing service to staging before noon", type="convention")
    pack = wk.context(QUESTION, budget_tokens=200)
    text = render_context(pack)
    assert [extra.name for extra in pack.extras] == ["deploy"]
    assert "- skill deploy: Deploys the billing" in text
    assert "before noon" in text
    assert pack.used_tokens <= 200
    again = wk.context(QUESTION, shown=[pack.extras[0].id])
    assert "deploy" not in [extra.name for extra in again.extras]
    tiny = wk.context(QUESTION, budget_tokens=20)
    assert tiny.extras == ()


@pytest.mark.feature("B9")
@pytest.mark.parametrize("choice", ["off", "names"])
def test_skills_in_the_context_can_be_switched_off(
    wk: wellkept.Wellkept, choice: Literal["off", "names"]
) -> None:
    settings = Settings(context_skills=choice)
    with wellkept.open(
        wk.path, project="demo", cwd=wk.root, embedder="none", settings=settings
    ) as other:
        pack = other.context(QUESTION)
        assert bool(pack.extras) is (choice == "names")


@pytest.mark.feature("B9")
def test_a_file_and_a_broken_place_of_skills_leave_the_context_alone(
    wk: wellkept.Wellkept,
) -> None:
    assert wk.context(files=["a.py"]).extras == ()
    put(wk.root / ".skills", "deploy", b"\xff\xfe---\nname: [")
    assert wk.context("deploy the app").moment == "prompt"


class SlowSkills:
    """Skills that take until they are let go."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.asked = 0

    def forced(self, _session: str | None = None) -> tuple[()]:
        return ()

    def hint(self, *_: object, **__: object) -> None:
        self.asked += 1
        self.go_on.wait()


@pytest.mark.feature("B9")
def test_skills_that_take_too_long_hold_nobody_up() -> None:
    slow = SlowSkills()
    offers = SkillContextSource(cast("Skills", slow))
    request = ContextRequest(project="demo", moment=Moment.PROMPT, query="x")
    assert offers.offers_within(0.0, request) == ()
    assert offers.offers_within(60.0, request) == ()  # somebody is still at it
    assert slow.asked <= 1
    slow.go_on.set()
    assert offers.offers(request) == ()


@pytest.mark.feature("F3")
def test_skills_that_a_project_calls_for_are_news_once(wk: wellkept.Wellkept) -> None:
    rule = "detect:\n  files: [deploy.toml]\n"
    put(wk.root / ".skills", "deploy", document("deploy", more=rule))
    (wk.root / "deploy.toml").write_text("x")
    for _ in range(2):
        wk.skills.detect(refresh=True)
    told = wk.engine.store.activity(after=0, project=wk.project, limit=9)
    assert [(news.kind, news.subject) for news in told] == [
        (ActivityKind.SKILLS_DETECTED, "deploy")
    ]
    (wk.root / "deploy.toml").unlink()
    wk.skills.detect(refresh=True)
    assert len(wk.engine.store.activity(after=0, project=wk.project, limit=9)) == 1


@pytest.mark.feature("F7")
def test_many_threads_run_commands_of_one_project_while_it_is_edited(
    wk: wellkept.Wellkept,
) -> None:
    failed: list[Exception] = []

    def run(number: int) -> None:
        try:
            for turn in range(5):
                assert "/deploy" in wk.skills.commands.run("/help").text
                if number == 0:
                    wk.skills.edit("deploy", {"version": f"1.{turn}"})
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shall say it
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
