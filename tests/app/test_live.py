"""The live process: what it drains, when it looks again, and what it does afterwards."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

import pytest

import wellkept
from wellkept.api.background import BackgroundWorker, WorkerIntervals
from wellkept.clients.registry import translate
from wellkept.core.errors import StoreError, UsageError
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import SpoolEntry
from wellkept.core.settings.model import Settings
from wellkept.observe.observer.drain import drain_spool, summarize_and_learn
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.store import spool

pytestmark = pytest.mark.feature("C2")


def events_of(entry: SpoolEntry, redact: object) -> Sequence[Event]:
    return translate(entry.client, entry.event, entry.payload, event_id=entry.event_id, at=entry.at)


class Scene:
    """A home, a project folder, and a live process that is driven by hand or runs."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.work.mkdir()
        self.environment = {"WELLKEPT_HOME": str(self.home)}
        self.errors: list[Exception] = []
        self.heard = threading.Event()

    def open_in(self, folder: Path) -> wellkept.Wellkept:
        return wellkept.open(
            cwd=folder, embedder="none", settings=Settings(), environment=self.environment
        )

    def live(
        self, *, drain_every_s: float = 3600.0, look_every_s: float = 0.01
    ) -> BackgroundWorker:
        return BackgroundWorker(
            self.open_in,
            folder=self.work,
            translate=events_of,
            environment=self.environment,
            pace=WorkerIntervals(look_every_s=look_every_s, drain_every_s=drain_every_s),
            on_error=self.note,
        )

    def note(self, error: Exception) -> None:
        self.errors.append(error)
        self.heard.set()

    def catch(self, event: str, *, session: str = "session-1", **payload: object) -> None:
        whole = {"session_id": session, "cwd": str(self.work), "hook_event_name": event, **payload}
        spool.append(
            str(self.home / spool.FOLDER_NAME),
            client="claude-code",
            session=session,
            event=event,
            payload=json.dumps(whole).encode(),
            now_ms=1_790_000_000_000,
        )


def _told(wk: wellkept.Wellkept) -> list[str]:
    return [news.kind.value for news in wk.engine.store.activity(after=0, project=None, limit=999)]


def _until(done: Callable[[], bool]) -> None:
    """Wait for another thread; one that never comes fails the test instead of hanging it."""
    deadline_s = monotonic() + 60
    while not done():
        assert monotonic() < deadline_s
        threading.Event().wait(0.01)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_it_drains_when_something_came_and_not_otherwise(scene: Scene) -> None:
    live = scene.live()
    scene.catch("UserPromptSubmit", prompt="First of all")
    with scene.open_in(scene.work) as wk:
        first = live.drain_if_needed(wk)
        assert first is not None
        assert first.prompts == 1
        assert live.drain_if_needed(wk) is None
        scene.catch("UserPromptSubmit", prompt="And then")
        again = live.drain_if_needed(wk)
        assert again is not None
        assert again.prompts == 1


def test_it_tries_again_when_another_process_was_at_it(scene: Scene) -> None:
    scene.catch("UserPromptSubmit", prompt="Somebody else is draining")
    live = scene.live()
    with scene.open_in(scene.work) as wk:
        with SpoolFolder.of(scene.environment).draining() as mine:
            assert mine
            assert live.drain_if_needed(wk) is None
        report = live.drain_if_needed(wk)
        assert report is not None
        assert report.prompts == 1


def test_the_spool_is_free_while_a_model_sums_up(scene: Scene) -> None:
    scene.catch("UserPromptSubmit", prompt="Add discount codes")
    scene.catch("SessionEnd", reason="exit")
    with scene.open_in(scene.work) as wk:
        report = drain_spool(
            wk.engine, wk.settings, translate=events_of, environment=scene.environment
        )
        assert report.due == ("session-1",)
        with SpoolFolder.of(scene.environment).draining() as mine:
            assert mine
            summarize_and_learn(wk, report)


def test_a_project_that_was_worked_in_is_kept_up_once(scene: Scene) -> None:
    scene.catch("UserPromptSubmit", prompt="Work in this project")
    live = scene.live()
    with scene.open_in(scene.work) as wk:
        report = live.drain_if_needed(wk)
        assert report is not None
        with scene.open_in(scene.work) as project:
            assert project.maintenance_is_due()
            live.follow_up(wk, report)
            assert not project.maintenance_is_due()


def test_it_runs_in_threads_and_stops(scene: Scene) -> None:
    with scene.live(), scene.open_in(scene.work) as wk:
        scene.catch("UserPromptSubmit", prompt="Seen by the thread")
        scene.catch("SessionEnd", reason="exit")
        _until(lambda: wk.engine.store.activity_range().newest > 0)
        (session,) = wk.engine.store.sessions(project=None)
        assert session.prompt_count == 1
    assert scene.errors == []


def test_two_at_once_take_each_event_once(scene: Scene) -> None:
    with scene.live(), scene.live(), scene.open_in(scene.work) as wk:
        for number in range(40):
            scene.catch("UserPromptSubmit", prompt=f"Look at part {number} of it")
        scene.catch("SessionEnd", reason="exit")
        _until(lambda: "session_ended" in _told(wk))
        (session,) = wk.engine.store.sessions(project=None)
        assert session.prompt_count == 40
    assert scene.errors == []


def test_a_broken_store_is_told_and_keeps_the_events(scene: Scene) -> None:
    scene.catch("UserPromptSubmit", prompt="Kept for later")
    with scene.open_in(scene.work) as wk:
        wk.remember("Makes the database")
    live = scene.live()
    with scene.open_in(scene.work) as wk:
        wk.close()
        with pytest.raises(StoreError):
            live.drain_if_needed(wk)
    assert SpoolFolder.of(scene.environment).sources()


def test_nothing_is_made_while_there_is_nothing_to_take(scene: Scene) -> None:
    live = scene.live()
    with scene.open_in(scene.work) as wk:
        assert live.drain_if_needed(wk) is None
        assert not wk.path.exists()


def test_settings_that_cannot_be_used_are_told_and_end_it(scene: Scene) -> None:
    def refuse(folder: Path) -> wellkept.Wellkept:
        raise UsageError("A setting is wrong.")

    scene.open_in = refuse  # type: ignore[method-assign]
    with scene.live():
        assert scene.heard.wait(60)
    assert isinstance(scene.errors[0], UsageError)
