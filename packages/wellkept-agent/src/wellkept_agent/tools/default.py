"""The built-in tools of an agent, as a profile and settings choose them.

Tools that need something from outside (a memory, a code graph, skills, a search engine) are there
when it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept_agent.settings import ToolSettings
from wellkept_agent.tools.files.edit import Edit, Write
from wellkept_agent.tools.files.notebooks import NotebookEdit
from wellkept_agent.tools.files.read import Read
from wellkept_agent.tools.memory import MemoryForget, MemoryRecall, MemoryStore
from wellkept_agent.tools.search.analyze import Analyze, CodebaseSearch
from wellkept_agent.tools.search.glob import Cwd, Glob, Ls
from wellkept_agent.tools.search.grep import Grep
from wellkept_agent.tools.shell.bash import Bash, BashOutput, KillShell
from wellkept_agent.tools.task import AgentType, Task
from wellkept_agent.tools.todo import AskUserQuestion, Skill, TodoWrite
from wellkept_agent.tools.web.fetch import SearxEngine, WebFetch, WebSearch

if TYPE_CHECKING:
    from wellkept_agent.plan_mode import PlanModeSettings
    from wellkept_agent.tools.base import Tool
    from wellkept_agent.tools.memory import KeyedMemory
    from wellkept_agent.tools.search.analyze import CodeGraph, FileFinder
    from wellkept_agent.tools.todo import SkillUse
    from wellkept_agent.tools.web.client import WebClient
    from wellkept_agent.tools.web.fetch import SearchEngine


# -- Settings of the built-in tools ---------------------------------------------------------------


class _ToolProfile(StrEnum):
    """Which tools to begin with."""

    LEAN = "lean"
    ALL = "all"
    READ_ONLY = "read_only"


_LEAN = frozenset(
    {"Read", "Write", "Edit", "Bash", "BashOutput", "KillShell", "Glob", "Grep", "Task",
     "TodoWrite", "AskUserQuestion", "Skill", "memory_recall", "remember_this",
     "analyze_impact", "get_workflow_recipe"}
)  # fmt: skip
_READ_ONLY = frozenset(
    {"Read", "Glob", "Grep", "LS", "Cwd", "Analyze", "CodebaseSearch", "Task", "WebFetch",
     "WebSearch", "memory_recall", "AskUserQuestion", "TodoWrite", "Skill", "analyze_impact",
     "get_dependencies", "get_workflow_recipe"}
)  # fmt: skip


_NAMES = {_ToolProfile.LEAN: _LEAN, _ToolProfile.READ_ONLY: _READ_ONLY}


def default_tools(
    *,
    settings: ToolSettings | None = None,
    memory: KeyedMemory | None = None,
    knowledge: Iterable[Tool] = (),
    graph: CodeGraph | None = None,
    code_search: FileFinder | None = None,
    skills: SkillUse | None = None,
    web: WebClient | None = None,
    search_engine: SearchEngine | None = None,
    agent_types: Iterable[AgentType] = (),
    plan_settings: PlanModeSettings | None = None,
) -> list[Tool]:
    """The tools in the order in which a model is told about them."""
    chosen = settings or ToolSettings(profile=_ToolProfile.ALL.value)
    task = Task(agent_types, plan_settings=plan_settings)
    if search_engine is None and chosen.web_search_address:
        search_engine = SearxEngine(chosen.web_search_address)
    every: list[Tool] = [
        *_built_in(chosen, task),
        WebFetch(chosen, client=web),
        *([WebSearch(search_engine)] if search_engine is not None else []),
        *([Analyze(graph)] if graph is not None else []),
        *([CodebaseSearch(code_search)] if code_search is not None else []),
        *([Skill(skills)] if skills is not None else []),
        *_memory_tools(memory),
        *knowledge,
    ]
    return list(_selected(every, chosen))


def _built_in(settings: ToolSettings, task: Task) -> list[Tool]:
    return [
        Read(settings),
        Write(),
        Edit(),
        NotebookEdit(),
        Bash(settings),
        BashOutput(),
        KillShell(),
        Glob(settings),
        Grep(settings),
        Ls(),
        Cwd(),
        task,
        TodoWrite(),
        AskUserQuestion(),
    ]


def _memory_tools(memory: KeyedMemory | None) -> list[Tool]:
    if memory is None:
        return []
    return [MemoryStore(memory), MemoryRecall(memory), MemoryForget(memory)]


def _selected(tools: list[Tool], settings: ToolSettings) -> Iterator[Tool]:
    """The tools of the profile, narrowed by the settings; an unknown profile is refused."""
    try:
        profile = _ToolProfile(settings.profile)
    except ValueError:
        choices = ", ".join(_ToolProfile)
        raise UsageError(
            f"There is no tool profile {settings.profile!r}.", hint=f"Choose one of {choices}."
        ) from None
    for one in tools:
        if settings.enabled:
            is_chosen = one.name in settings.enabled
        else:
            is_chosen = profile is _ToolProfile.ALL or one.name in _NAMES[profile]
        if is_chosen and one.name not in settings.disabled:
            yield one
