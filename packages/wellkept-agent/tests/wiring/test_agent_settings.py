"""The table `[agent]`: from the user's file and the environment, never from a project's file."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from wellkept.core.errors import UsageError
from wellkept.core.settings.sources import unknown_variables
from wellkept.testing.scripted_model import ScriptedModel
from wellkept_agent.settings import LoopSettings, ToolSettings
from wellkept_agent.wiring.settings import AgentSettings, ModelChoice, documented, retired

pytestmark = pytest.mark.feature("G1")


def opened(project: Path, **environment: str) -> wellkept.Wellkept:
    home = project.parent / "own-home"
    home.mkdir(exist_ok=True)
    return wellkept.open(
        cwd=project, embedder="none", environment={"WELLKEPT_HOME": str(home), **environment}
    )


def write_table(project: Path, text: str) -> None:
    home = project.parent / "own-home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text, "utf-8")


def test_the_users_file_and_the_environment_are_read(project: Path) -> None:
    write_table(project, "[agent]\nmax_steps = 7\n[agent.tools]\nbash_timeout_ms = 900\n")
    with opened(project, WELLKEPT_AGENT_BASH_TIMEOUT_MS="300") as wk:
        settings = AgentSettings.of(wk.settings, wk.services.environment)
        assert settings.read(LoopSettings).max_steps == 7
        assert settings.read(ToolSettings).bash_timeout_ms == 300
        agent = wk.agent(ScriptedModel([]))
        assert agent.settings.max_steps == 7
        assert wk.agent(ScriptedModel([]), max_steps=2).settings.max_steps == 2


def test_a_projects_file_sets_nothing_of_the_agent(project: Path) -> None:
    (project / ".wellkept.toml").write_text('[agent]\npermission_mode = "bypass"\n', "utf-8")
    with opened(project) as wk:
        assert wk.agent(ScriptedModel([])).settings.permission_mode == "default"
        assert any("permission_mode" in one for one in wk.settings.warnings)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("max_step = 3", "agent.max_steps"),
        ("max_steps = 0", "below 1"),
        ('max_steps = "many"', "max_steps"),
        ('permission_mode = "yolo"', "permission mode"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(project: Path, table: str, said: str) -> None:
    write_table(project, f"[agent]\n{table}\n")
    with opened(project) as wk, pytest.raises(UsageError) as caught:
        wk.agent(ScriptedModel([]))
    assert said in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("name", sorted(retired()))
def test_what_was_a_setting_once_is_said_and_breaks_nothing(
    project: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    table, _, key = name.rpartition(".")
    write_table(project, f"[agent{'.' if table else ''}{table}]\n{key} = 3\n")
    with opened(project) as wk:
        assert wk.agent(ScriptedModel([])).settings == LoopSettings()
    (said,) = caplog.messages
    assert said.startswith(f"Ignored: agent.{name} is no longer a setting; fixed at ")
    gone = retired()[name].variable
    assert unknown_variables({gone: "3"}) == []
    assert AgentSettings({}, {gone: "3"}).notes


def test_a_wrong_table_stops_nothing_but_the_agent(project: Path) -> None:
    write_table(project, "[agent]\nnonsense = 3\n")
    with opened(project) as wk:
        assert wk.remember("Deploys go through staging").memory.content


def test_without_a_model_the_error_says_how_to_name_one(project: Path) -> None:
    with opened(project) as wk, pytest.raises(UsageError, match="No model is chosen") as caught:
        wk.agent()
    assert "WELLKEPT_AGENT_MODEL" in (caught.value.hint or "")


def test_a_model_is_opened_by_its_name(project: Path) -> None:
    named = "anthropic:claude-sonnet-4-5"
    with opened(project, WELLKEPT_AGENT_MODEL=named, ANTHROPIC_API_KEY="k" * 12) as wk:
        settings = AgentSettings.of(wk.settings, wk.services.environment)
        assert settings.read(ModelChoice).model == named
        assert wk.agent().model.info.provider == "anthropic"
        with pytest.raises(UsageError):
            wk.agent("nobody:nothing")


def test_every_setting_is_documented_once_and_its_variables_are_known() -> None:
    names = [name for name, *_ in documented()]
    assert len(names) == len(set(names))
    variables = [one for _, _, doc in documented() for one in doc.variables]
    assert len(variables) == len(set(variables))
    assert unknown_variables({"WELLKEPT_AGENT_MAX_STEPS": "3", "WELLKEPT_AGENT_NO": "1"}) == [
        "WELLKEPT_AGENT_NO"
    ]


def test_a_read_only_memory_gives_an_agent_that_writes_nothing(project: Path) -> None:
    with opened(project) as wk:
        wk.remember("Deploys go through staging")
    home = project.parent / "own-home"
    with wellkept.open(
        cwd=project, embedder="none", environment={"WELLKEPT_HOME": str(home)}, read_only=True
    ) as wk:
        agent = wk.agent(ScriptedModel(["Yes."]))
        session = agent.session()
        assert {"observer feed", "counters"}.isdisjoint(one.name for one in session.capabilities)
        assert "memory_store" not in [tool.name for tool in agent.tools]
