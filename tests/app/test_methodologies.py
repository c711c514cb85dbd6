"""Ways of working: the four that are shipped, one of a stranger's package, and switching."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path
from venv import create
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wellkept
from tests.app.opening import open_in
from wellkept.core.errors import NotFoundError, PluginError, UsageError
from wellkept.core.memory import WorkUnitRef
from wellkept.core.payloads import WorkUnitOutcome
from wellkept.core.settings.model import Settings
from wellkept.core.types import Phase
from wellkept.observe.methodology.builtin import NATIVE
from wellkept.observe.methodology.plugins import forgiving, installed_plugins, load_plugins
from wellkept.observe.methodology.protocol import (
    CompletesWorkUnits,
    Methodology,
    WorkContext,
)
from wellkept_plugins.methodologies import AGILE, BMAD, TDD

pytestmark = pytest.mark.feature("D9")

STRANGERS = Path(__file__).parent / "plugin_package"
BROKEN = Path(__file__).parent / "broken_plugin"
BUILTIN = (NATIVE, BMAD, TDD, AGILE)


def run(home: Path, *arguments: str, plugins: Path = STRANGERS) -> subprocess.CompletedProcess[str]:
    """A command in a process where a stranger's package is installed."""
    environment = {
        "WELLKEPT_HOME": str(home),
        "WELLKEPT_EMBEDDING_PROVIDER": "none",
        "PYTHONPATH": str(plugins),
    }
    command = [sys.executable, "-m", "wellkept.cli", *arguments]
    return subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, check=False
    )


def test_the_four_that_are_shipped_come_in_through_the_plugin_door() -> None:
    plugins = load_plugins()
    assert list(plugins.methodologies) == ["native", "bmad", "tdd", "agile"]
    assert plugins.problems == ()


@pytest.mark.parametrize(
    ("methodology", "name", "phase"),
    [
        (NATIVE, "planning", Phase.DEFINE),
        (NATIVE, "coding", Phase.IMPLEMENT),
        (NATIVE, "qa_review", Phase.VALIDATE),
        (NATIVE, "debugging", Phase.REFINE),
        (NATIVE, "insights", Phase.EXPLORE),
        (BMAD, "story_creation", Phase.DEFINE),
        (BMAD, "story_development", Phase.IMPLEMENT),
        (BMAD, "story_acceptance", Phase.VALIDATE),
        (BMAD, "research", Phase.EXPLORE),
        (BMAD, "sm", Phase.REFLECT),
        (TDD, "red", Phase.DEFINE),
        (TDD, "green", Phase.IMPLEMENT),
        (TDD, "assertion", Phase.VALIDATE),
        (TDD, "refactor", Phase.REFINE),
        (AGILE, "tech_debt", Phase.REFINE),
        (AGILE, "sprint_planning", Phase.DEFINE),
    ],
)
def test_each_maps_its_phases_to_the_six(methodology: Methodology, name: str, phase: Phase) -> None:
    assert methodology.phases[name] is phase


@pytest.mark.parametrize("methodology", BUILTIN, ids=lambda one: one.id)
def test_the_ends_of_every_relay_are_named_stages(methodology: Methodology) -> None:
    for relay in methodology.relays:
        assert {relay.source, relay.target} <= set(methodology.phases)


@pytest.mark.parametrize(
    ("methodology", "branch", "hierarchy", "label"),
    [
        (NATIVE, "spec-042/subtask-3", ("spec_042", "subtask_3"), "Spec 042 / Subtask 3"),
        (NATIVE, "spec_042", ("spec_042",), "Spec 042"),
        (BMAD, "epic-3/story-3.2", ("epic_3", "story_3.2"), "Epic 3 / Story 3.2"),
        (TDD, "feature/auth-login", ("feature_auth-login",), "Feature auth-login"),
        (AGILE, "sprint-12/story-US47", ("sprint_12", "story_US47"), "Sprint 12 / Story US47"),
    ],
)
def test_a_branch_names_the_unit_of_work(
    methodology: Methodology, branch: str, hierarchy: tuple[str, ...], label: str
) -> None:
    unit = methodology.work_unit(WorkContext(branch=branch))
    assert unit == WorkUnitRef(methodology.id, hierarchy, label)


def test_ids_that_were_given_count_more_than_the_branch_and_the_request() -> None:
    at = WorkContext(branch="spec-1", request="Go on with spec 2", named={"spec": "7"})
    unit = NATIVE.work_unit(at)
    assert unit is not None
    assert unit.hierarchy == ("spec_7",)
    assert NATIVE.work_unit(WorkContext(request="Go on with Spec 2, task 5")) == WorkUnitRef(
        "native", ("spec_2", "subtask_5"), "Spec 2 / Subtask 5"
    )


@pytest.mark.parametrize("text", ["main", "", "fix the specification", "a new feature that counts"])
def test_ordinary_words_name_no_unit_of_work(text: str) -> None:
    for methodology in BUILTIN:
        assert methodology.work_unit(WorkContext(branch=text or None, request=text)) is None


@given(st.text(max_size=300))
def test_no_text_breaks_a_methodology(text: str) -> None:
    for methodology in BUILTIN:
        unit = methodology.work_unit(WorkContext(branch=text, request=text))
        assert unit is None or all(unit.hierarchy)
        methodology.state_text(methodology.work_state(text))


def test_the_native_state_tells_what_is_done_and_what_is_next() -> None:
    said = "Plan:\n- [x] Parse the header\n- [x] Parse the body\n- [ ] Check the sum\n- [ ] Ship\n\nDecided: keep the old format"
    state = NATIVE.work_state(said)
    assert state == {
        "completed_subtasks": ["Parse the header", "Parse the body"],
        "in_progress_subtask": "Check the sum",
        "key_decisions": ["keep the old format"],
    }
    assert "Next: Check the sum" in NATIVE.state_text(state)


def test_the_tdd_state_counts_tests() -> None:
    said = "RED: a test for empty carts\n1 failed, 11 passed\nGREEN\n12 passed\nRefactor:\n- split the cart\n"
    assert TDD.work_state(said) == {
        "tests_green": 12,
        "tests_red": 1,
        "refactors_pending": ["split the cart"],
        "cycle_count": 1,
    }


def test_the_states_of_bmad_and_agile_speak_their_own_words() -> None:
    said = "Current story: 3.2 Export\nStory completed: 3.1\n- [x] Exports CSV\n- [ ] Exports JSON"
    assert BMAD.work_state(said)["current_story"] == ["3.2 Export"]
    assert BMAD.work_state(said)["criteria_open"] == ["Exports JSON"]
    assert AGILE.work_state("Blocked by: the vendor\n")["blocked"] == ["the vendor"]
    assert BMAD.work_state("Nothing of note.") == {}


def test_a_state_of_another_methodology_is_shown_as_it_is() -> None:
    assert NATIVE.state_text({"tests_red": 2}) == "tests_red: 2"


def test_a_phase_can_be_asked_for_by_the_name_of_the_methodology(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("Run the linter before a review", type="gotcha")
        assert wk.recall("linter", phase="coding").hits
        assert wk.methodology.phase("Coding") is Phase.IMPLEMENT
        with pytest.raises(UsageError, match="qa_review"):
            wk.recall("linter", phase="stargazing")


def test_switching_keeps_every_memory_and_ranks_them_the_same(tmp_path: Path) -> None:
    unit = WorkUnitRef("bmad", ("epic_3", "story_3_2"), "Epic 3 / Story 3.2")
    with open_in(tmp_path, settings=Settings(methodology="bmad")) as wk:
        wk.remember("Invoices are numbered by year", work_unit=unit)
        criterion = wk.remember("A paid invoice is locked", type="acceptance_criterion").memory
        before = [(h.memory.id, h.score) for h in wk.recall("invoice", count_access=False)]
    with open_in(tmp_path, settings=Settings(methodology="tdd")) as wk:
        after = [(h.memory.id, h.score) for h in wk.recall("invoice", count_access=False)]
        assert after == before
        assert wk.recall("numbered").hits[0].memory.work_unit == unit
        found = wk.list(types="acceptance_criterion").items
        assert [memory.id for memory in found] == [criterion.id]
        assert wk.list(types=["requirement"]).total == 1


def test_a_type_of_a_methodology_is_kept_as_a_known_one_under_a_tag(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        kept = wk.remember("A paid invoice is locked", type="acceptance_criterion").memory
        assert kept.type.value == "requirement"
        assert kept.tags == ("bmad:acceptance_criterion",)
        with pytest.raises(UsageError, match="cannot be combined"):
            wk.list(types=["acceptance_criterion", "gotcha"])
        with pytest.raises(UsageError, match="Unknown memory type"):
            wk.list(types=["acceptance_kriterion"])


def test_a_stage_is_handed_what_its_relay_lets_through(tmp_path: Path) -> None:
    unit = WorkUnitRef("native", ("spec_1", "subtask_2"), "Spec 1 / Subtask 2")
    other = WorkUnitRef("native", ("spec_9",), "Spec 9")
    with open_in(tmp_path) as wk:
        wk.remember("The parser chokes on tabs", type="error_pattern", work_unit=unit)
        wk.remember("We chose a hand-written parser", type="decision", work_unit=unit)
        wk.remember("Sums must match to the cent", type="requirement", work_unit=other)
        memories, text = wk.methodology.relay("qa_fixer")
        assert {m.type.value for m in memories} == {"error_pattern", "requirement"}
        assert all(m.short in text for m in memories)
        within = WorkUnitRef("native", ("spec_1",), "Spec 1")
        assert [m.content for m in wk.methodology.relay("coder", unit=within)[0]] == [
            "We chose a hand-written parser",
            "The parser chokes on tabs",
        ]
        with pytest.raises(UsageError, match="coder, qa_reviewer, qa_fixer"):
            wk.methodology.relay("gardener")


def test_a_methodology_that_is_not_installed_is_named_and_the_usual_one_stands_in(
    tmp_path: Path,
) -> None:
    with open_in(tmp_path, settings=Settings(methodology="kanban")) as wk:
        with pytest.raises(NotFoundError, match="native"):
            _ = wk.methodology.active
        assert wk.methodology.usable is NATIVE
        (finding,) = wk.doctor().findings
        assert "'kanban' is not installed" in finding.message
        assert wk.recall("anything", phase="define").hits == ()


def test_a_package_brings_its_own_way_of_working(tmp_path: Path) -> None:
    listed = json.loads(run(tmp_path, "methodology", "list", "--json").stdout)
    assert {"id": "kanban", "title": "Kanban (cards)", "from": "kanban", "in_use": False} in listed[
        "items"
    ]
    used = run(tmp_path, "methodology", "use", "kanban")
    assert used.returncode == 0, used.stderr
    kept = run(tmp_path, "remember", "--type", "wip_limit", "Three cards at once", "--json")
    assert json.loads(kept.stdout)["memory"]["tags"] == ["kanban:wip_limit"]
    found = run(tmp_path, "recall", "--phase", "doing", "cards")
    assert "Three cards at once" in found.stdout
    shown = json.loads(run(tmp_path, "methodology", "show", "--json").stdout)
    assert shown["phases"]["doing"] == "implement"
    # The package is gone: what was kept with it is still found.
    without = run(tmp_path, "recall", "cards", plugins=tmp_path)
    assert "Three cards at once" in without.stdout
    assert "not installed" in run(tmp_path, "methodology", plugins=tmp_path).stderr


def test_only_what_is_installed_can_be_set(tmp_path: Path) -> None:
    refused = run(tmp_path, "config", "set", "methodology", "kanbam")
    assert refused.returncode == 2
    assert "must be one of native, bmad, tdd, agile, kanban, not 'kanbam'" in refused.stderr
    assert run(tmp_path, "config", "set", "methodology", "kanban").returncode == 0
    assert run(tmp_path, "config", "get", "methodology").stdout == "kanban\n"
    without = run(tmp_path, "config", "set", "methodology", "kanban", plugins=tmp_path)
    assert without.returncode == 2
    assert run(tmp_path, "config", "set", "methodology", "tdd", plugins=tmp_path).returncode == 0


def test_a_plugin_that_cannot_be_loaded_is_told_about_and_left_out(tmp_path: Path) -> None:
    listed = run(tmp_path, "methodology", "list", plugins=BROKEN)
    assert listed.returncode == 0
    assert "made for another version" in listed.stderr
    assert "native" in listed.stdout


def test_a_plugin_that_breaks_its_promise_is_told_about_and_left_out() -> None:
    plugins = load_plugins(
        [
            EntryPoint("twice", "tests.app.promise_breakers:twice", "wellkept"),
            EntryPoint("odd", "tests.app.promise_breakers:odd", "wellkept"),
            EntryPoint("failing", "tests.app.promise_breakers:failing", "wellkept"),
        ]
    )
    assert list(plugins.methodologies) == ["native", "bmad", "tdd", "agile"]
    told = "\n".join(plugins.problems)
    assert "which wellkept has brought already" in told
    assert "brings something that is no methodology" in told
    assert "The plugin failing failed: ZeroDivisionError" in told


def test_a_plugin_that_fails_at_an_event_is_named_and_the_others_are_asked() -> None:
    plugins = load_plugins([EntryPoint("deaf", "tests.app.promise_breakers:deaf", "wellkept")])
    names = {name for name, _ in plugins.manager.list_name_plugin()}
    assert {"deaf", "wellkept-browser", "wellkept-methodologies"} <= names
    answers, problems = plugins.call("wellkept_session_events", store=None, session=None, events=())
    assert (answers, problems) == ([], ["The plugin deaf failed: RuntimeError: too late"])


def _completed(methodology: Methodology) -> object:
    assert isinstance(methodology, CompletesWorkUnits)
    return methodology.on_work_unit_complete(None, WorkUnitOutcome(succeeded=True))


def test_a_methodology_that_fails_in_use_is_named_and_keeps_nothing_from_being_learned() -> None:
    plugins = load_plugins([EntryPoint("moody", "tests.app.promise_breakers:moody", "wellkept")])
    moody = plugins.methodology("moody")
    for ask in (
        lambda: moody.work_unit(WorkContext()),
        lambda: moody.relay_text([], to="mood"),
        lambda: moody.work_state("said"),
        lambda: moody.state_text({"a": 1}),
        lambda: _completed(moody),
    ):
        with pytest.raises(PluginError, match="'moody' failed at"):
            ask()
    patient = forgiving(moody)
    assert patient.work_unit(WorkContext(branch="spec-3")) is None
    assert patient.relay_text([], to="mood") == ""
    assert patient.work_state("said") == {}
    assert patient.state_text({"a": 1}) == "a: 1"
    assert _completed(patient) == {}
    assert patient.phases == moody.phases


def test_nothing_on_the_way_of_a_recall_or_a_context_loads_plugins(tmp_path: Path) -> None:
    script = (
        "import sys, wellkept\n"
        "with wellkept.open(project='p', embedder='none') as wk:\n"
        "    wk.remember('Deploys are on Friday', type='fact')\n"
        "    wk.recall('deploys', phase='define'); wk.context('deploys')\n"
        "print('pluggy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"WELLKEPT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_the_installed_plugins_are_looked_for_once() -> None:
    assert installed_plugins() is installed_plugins()


# -- As a person would install it ------------------------------------------------------------------


def _wheel(folder: Path) -> Path:
    """The stranger's package as it would lie on an index."""
    info = "wellkept_kanban-1.0.dist-info"
    made = folder / "wellkept_kanban-1.0-py3-none-any.whl"
    tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with ZipFile(made, "w") as wheel:
        wheel.write(STRANGERS / "wellkept_kanban.py", "wellkept_kanban.py")
        for name in ("METADATA", "entry_points.txt"):
            wheel.write(STRANGERS / info / name, f"{info}/{name}")
        wheel.writestr(f"{info}/WHEEL", tag)
        wheel.writestr(f"{info}/RECORD", "")
    return made


@dataclass(frozen=True, slots=True)
class Venv:
    """An environment of its own that sees Wellkept and what that needs."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Venv:
        create(folder, symlinks=True)
        made = cls(folder)
        (site,) = folder.glob("**/site-packages")
        # Where this interpreter found them: packages of its own, and whatever it was told of.
        here = (Path(wellkept.__file__), Path(pytest.__file__))
        seen = dict.fromkeys([*(str(path.parents[1]) for path in here), get_path("platlib")])
        (site / "here.pth").write_text("\n".join(seen) + "\n", "utf-8")
        return made

    @property
    def python(self) -> str:
        return str(next(self.folder.glob("*/python")))

    def pip(self, *words: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.python, "-q"]
        subprocess.run([*pip, *words], check=True, capture_output=True)

    def wellkept(self, *words: str) -> subprocess.CompletedProcess[str]:
        home = {"WELLKEPT_HOME": str(self.folder / "home"), "WELLKEPT_EMBEDDING_PROVIDER": "none"}
        return subprocess.run(
            [self.python, "-m", "wellkept.cli", *words],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **home},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.skipif(find_spec("pip") is None, reason="pip is not installed")
def test_a_package_that_pip_installs_is_there_and_one_that_pip_removes_loses_nothing(
    tmp_path: Path,
) -> None:
    venv = Venv.create(tmp_path / "venv")
    assert "kanban" not in venv.wellkept("methodology", "list").stdout
    venv.pip("install", "--no-index", "--no-deps", str(_wheel(tmp_path)))
    listed = json.loads(venv.wellkept("methodology", "list", "--json").stdout)["items"]
    assert [one["id"] for one in listed] == ["native", "bmad", "tdd", "agile", "kanban"]
    assert venv.wellkept("methodology", "use", "kanban").returncode == 0
    assert venv.wellkept("remember", "--type", "wip_limit", "Three cards").returncode == 0
    venv.pip("uninstall", "-y", "wellkept-kanban")
    assert "not installed" in venv.wellkept("methodology").stderr
    assert "Three cards" in venv.wellkept("recall", "cards").stdout
    assert venv.wellkept("methodology", "use", "tdd").returncode == 0
    assert "Three cards" in venv.wellkept("recall", "--phase", "red", "cards").stdout
