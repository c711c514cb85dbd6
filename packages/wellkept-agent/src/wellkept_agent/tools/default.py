"""The built-in tools of an agent, as a profile and settings choose them.

Tools that need something from outside (a memory, a code graph, skills, a search engine) are there
when it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept_agent.tools.ask_user import AskUserQuestion
from wellkept_agent.tools.files.edit import Edit
from wellkept_agent.tools.files.notebook_edit import NotebookEdit
from wellkept_agent.tools.files.read import Read
from wellkept_agent.tools.files.write import Write
from wellkept_agent.tools.memory import MemoryForget, MemoryRecall, MemoryStore
from wellkept_agent.tools.search.analyze import Analyze
from wellkept_agent.tools.search.codebase_search import CodebaseSearch
from wellkept_agent.tools.search.glob import Glob
from wellkept_agent.tools.search.grep import Grep
from wellkept_agent.tools.search.ls import Cwd, Ls
from wellkept_agent.tools.settings import ToolSettings
from wellkept_agent.tools.shell.bash import Bash, BashOutput, KillShell
from wellkept_agent.tools.skill import Skill
from wellkept_agent.tools.task import AgentType, Task
from wellkept_agent.tools.todo import TodoWrite
from wellkept_agent.tools.web.fetch import WebFetch
from wellkept_agent.tools.web.search import SearxEngine, WebSearch

if TYPE_CHECKING:
    from wellkept_agent.plan_mode.settings import PlanModeSettings
    from wellkept_agent.tools.base import Tool
    from wellkept_agent.tools.memory import KeyedMemory
    from wellkept_agent.tools.search.analyze import CodeGraph
    from wellkept_agent.tools.search.codebase_search import FileFinder
    from wellkept_agent.tools.skill import SkillUse
    from wellkept_agent.tools.web.client import WebClient
    from wellkept_agent.tools.web.search import SearchEngine


class ToolProfile(StrEnum):
    """Which tools to begin with."""

    ALL = "all"
    READ_ONLY = "read_only"


_READ_ONLY = frozenset(
    {"Read", "Glob", "Grep", "LS", "Cwd", "Analyze", "CodebaseSearch", "Task", "WebFetch",
     "WebSearch", "memory_recall", "AskUserQuestion", "TodoWrite", "Skill"}
)  # fmt: skip


def default_tools(
    *,
    settings: ToolSettings | None = None,
    memory: KeyedMemory | None = None,
    graph: CodeGraph | None = None,
    code_search: FileFinder | None = None,
    skills: SkillUse | None = None,
    web: WebClient | None = None,
    search_engine: SearchEngine | None = None,
    agent_types: Iterable[AgentType] = (),
    plan_settings: PlanModeSettings | None = None,
) -> list[Tool]:
    """The tools in the order in which a model is told about them."""
    chosen = settings or ToolSettings()
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
        profile = ToolProfile(settings.profile)
    except ValueError:
        choices = ", ".join(ToolProfile)
        raise UsageError(
            f"There is no tool profile {settings.profile!r}.", hint=f"Choose one of {choices}."
        ) from None
    for one in tools:
        if profile is ToolProfile.READ_ONLY and one.name not in _READ_ONLY:
            continue
        if settings.enabled and one.name not in settings.enabled:
            continue
        if one.name not in settings.disabled:
            yield one
