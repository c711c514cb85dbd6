"""`wk.agent(...)`: an agent with memory, put together from the settings.

Capabilities come in this order: the observer feed first, so that it sees calls and prompts as they
were; then what adds to them; those of the caller last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.types import parse_choice
from wellkept.memory.state import StateScope
from wellkept.text.secrets.redaction import redact_json
from wellkept_agent.agent import Agent
from wellkept_agent.budgets import PromptBudgets
from wellkept_agent.capability import Capability
from wellkept_agent.counters import Counters, CountUsage
from wellkept_agent.file_cache import FileCacheSettings
from wellkept_agent.flags import FeatureFlags
from wellkept_agent.permissions import PermissionMode
from wellkept_agent.plan_mode.capability import PlanMode
from wellkept_agent.plan_mode.settings import PlanModeSettings
from wellkept_agent.settings import LoopSettings
from wellkept_agent.thinking.capability import Thinking
from wellkept_agent.thinking.settings import ThinkingSettings
from wellkept_agent.wiring.instructions import instructions as system_prompt
from wellkept_agent.wiring.mcp_servers import server_capability
from wellkept_agent.wiring.settings import AgentSettings, ModelChoice
from wellkept_agent.wiring.spool import FOLDER_NAME, state_folder

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.ports.agent_model import AgentModel
    from wellkept.core.ports.transcripts import Transcripts
    from wellkept_agent.compaction.timeline import TimelineEntry
    from wellkept_agent.session import AgentSession
    from wellkept_agent.tools.base import Tool
    from wellkept_agent.user import Person
    from wellkept_agent.wiring.memory import AgentMemory


@record(kw_only=True)
class AgentOptions:
    """What a caller may say beside the settings; None is what the settings say."""

    tools: Sequence[Tool] | None = None
    capabilities: tuple[Callable[[], Capability], ...] = ()
    permission_mode: str | None = None
    person: Person | None = None
    instructions: str = ""
    max_steps: int | None = None
    memory: bool | None = None
    phase: str | None = None
    stage: str | None = None
    complexity: str | None = None
    mcp_config: tuple[Path, ...] = ()


def build_agent(wk: AgentMemory, model: AgentModel | str | None, options: AgentOptions) -> Agent:
    """An agent over an open memory."""
    settings = AgentSettings.of(wk.settings, wk.services.environment)
    chosen = open_agent_model(wk, model, settings)
    if not wk.services.read_only:
        # Before the first message is written.
        wk.services.know_secrets()
    return Agent(
        chosen,
        instructions=system_prompt(wk.root, extra=options.instructions),
        tools=_tools(wk, settings, options),
        capabilities=_capabilities(wk, chosen, settings, options),
        settings=_loop(settings, options),
        file_cache=settings.read(FileCacheSettings),
        person=options.person,
        root=wk.root,
        sessions=sessions_folder(wk),
        persist=None if wk.services.read_only else ProjectState(wk).keep,
        transcripts=None if wk.services.read_only else transcripts_of(wk),
        project_state=ProjectState(wk).values,
    )


def open_agent_model(
    wk: AgentMemory, model: AgentModel | str | None, settings: AgentSettings
) -> AgentModel:
    """The model that was given or named, or the one in the settings."""
    if model is not None and not isinstance(model, str):
        return model
    choice = settings.read(ModelChoice)
    name = model or choice.model
    if not name:
        raise UsageError(
            "No model is chosen.",
            hint="Name one, such as anthropic:claude-sonnet-4-5, openai:gpt-5 or ollama:qwen3: with"
            ' --model, in wk.agent("NAME"), or for good by `wellkept config set agent.model NAME`'
            " (variable WELLKEPT_AGENT_MODEL).",
        )
    from wellkept.models.chat.open import open_model
    from wellkept.models.chat.settings import AgentModelSettings

    return open_model(
        name,
        environment=wk.services.environment,
        settings=AgentModelSettings(
            base_url=choice.base_url or None,
            api_key=choice.api_key or None,
            context_tokens=choice.context_tokens or None,
            small=choice.small,
            models_file=Path(choice.models_file).expanduser() if choice.models_file else None,
        ),
    )


def sessions_folder(wk: AgentMemory) -> Path:
    """The folder with the files of this project's agent sessions."""
    project = sha256(wk.project.encode("utf-8", "replace")).hexdigest()[:16]
    return state_folder(wk) / FOLDER_NAME / project


def transcripts_of(wk: AgentMemory) -> Transcripts:
    """The kept agent sessions of this project."""
    from wellkept.store import open_transcripts
    from wellkept.text.secrets.redaction import redact_json

    return open_transcripts(sessions_folder(wk), redact=redact_json, clock=wk.services.clock)


def _loop(settings: AgentSettings, options: AgentOptions) -> LoopSettings:
    loop = settings.read(LoopSettings)
    mode = options.permission_mode or loop.permission_mode
    mode = parse_choice(PermissionMode, mode, what="permission mode").value
    return replace(loop, permission_mode=mode, max_steps=options.max_steps or loop.max_steps)


def _tools(wk: AgentMemory, settings: AgentSettings, options: AgentOptions) -> Iterable[Tool]:
    if options.tools is not None:
        return options.tools
    from wellkept_agent.wiring.tools import usual_tools

    flags = settings.read(FeatureFlags)
    return usual_tools(
        wk, settings, with_memory=_has_memory(flags, options), with_skills=flags.skills_enabled
    )


def _has_memory(flags: FeatureFlags, options: AgentOptions) -> bool:
    return flags.memory_enabled if options.memory is None else options.memory


def _capabilities(
    wk: AgentMemory, model: AgentModel, settings: AgentSettings, options: AgentOptions
) -> list[Callable[[], Capability]]:
    flags = settings.read(FeatureFlags)
    made: list[Callable[[], Capability]] = []
    recall: list[Callable[[], Capability]] = []
    is_learning = flags.memory_auto_extract and not wk.services.read_only
    if _has_memory(flags, options):
        feed, recall = _memory(wk, model, settings, options, is_learning=is_learning)
        made += feed
    if flags.skills_enabled:
        from wellkept_agent.skill_use.capability import SkillUse
        from wellkept_agent.skill_use.matched import MatchSkills
        from wellkept_agent.wiring.skill_matches import ProjectSkillMatches
        from wellkept_agent.wiring.skills import ProjectSkills

        made.append(lambda: SkillUse(ProjectSkills(wk.skills)))
        made.append(
            partial(
                MatchSkills,
                ProjectSkillMatches(wk.skills),
                budgets=settings.read(PromptBudgets).for_model(model.info),
                flags=flags,
            )
        )
    # After skills: what is recalled is no argument of a command.
    made += recall
    made.append(partial(Thinking, settings.read(ThinkingSettings)))
    made.append(PlanMode.configured(settings.read(PlanModeSettings)))
    if (servers := server_capability(wk, settings, options.mcp_config)) is not None:
        made.append(servers)
    made += _compaction(wk, settings)
    if not wk.services.read_only:
        made.append(lambda: CountUsage(Counters(wk.services.store)))
    return [*made, *options.capabilities]


def _compaction(wk: AgentMemory, settings: AgentSettings) -> list[Callable[[], Capability]]:
    from wellkept_agent.compaction.capability import Compaction
    from wellkept_agent.compaction.settings import CompactionSettings
    from wellkept_agent.session_memory import SessionMemory
    from wellkept_agent.session_memory.settings import SessionMemorySettings

    def keep(entry: TimelineEntry) -> None:
        wk.remember(
            entry.content,
            merge_similar=False,
            type="timeline",
            key=entry.key,
            importance=entry.importance,
            session=entry.session,
            source="observer_inferred",
        )

    compaction = settings.read(CompactionSettings)
    summary = settings.read(SessionMemorySettings)
    return [
        partial(SessionMemory, summary, clock=wk.services.clock),
        partial(
            Compaction,
            compaction,
            timeline=None if wk.services.read_only else keep,
            environment=wk.services.environment,
        ),
    ]


def _memory(
    wk: AgentMemory,
    model: AgentModel,
    settings: AgentSettings,
    options: AgentOptions,
    *,
    is_learning: bool,
) -> tuple[list[Callable[[], Capability]], list[Callable[[], Capability]]]:
    """The observer feed; then recall and learning. What is not learned from is not fed either."""
    from wellkept.context.moment import ContextLimits
    from wellkept_agent.observer_feed import ObserverFeed
    from wellkept_agent.recall.capability import Recall
    from wellkept_agent.recall.learning import Learning
    from wellkept_agent.recall.settings import RecallSettings
    from wellkept_agent.wiring.context import MemoryContext
    from wellkept_agent.wiring.learner import SessionLearner
    from wellkept_agent.wiring.spool import AgentSpool
    from wellkept_agent.wiring.task_context import TaskContext, WorkSituation

    flags = settings.read(FeatureFlags)
    budgets = settings.read(PromptBudgets).for_model(model.info)
    task = TaskContext(
        wk,
        WorkSituation(
            phase=options.phase,
            stage=options.stage,
            complexity=options.complexity,
            is_small=model.info.small,
        ),
    )
    limits = ContextLimits(
        start_tokens=budgets.memories_tokens,
        start_chars=budgets.memories_chars,
        max_items=flags.memory_max_injected,
        prompt_items=budgets.matched_memories,
        phase=None if task.phase is None else task.phase.value,
        complexity=options.complexity,
        skills=flags.skills_enabled,
        skills_by="the Skill tool",
    )
    clock = wk.services.clock
    source = MemoryContext(wk, limits)
    warns = settings.read(RecallSettings).warn_before_run
    recall = partial(
        Recall,
        source,
        task=task,
        clock=clock,
        warns_before_run=wk.settings.capture_before_tools == "on" if warns is None else warns,
    )
    if not is_learning:
        return [], [recall]

    def sink(session: AgentSession) -> AgentSpool:
        return AgentSpool(wk, session.id, report=session.report)

    def learner(session: AgentSession) -> SessionLearner:
        return SessionLearner(
            wk,
            session.id,
            report=session.report,
            switches_skills_on=flags.skills_auto_generate,
        )

    return [partial(ObserverFeed, sink, clock=clock)], [
        partial(Learning, learner),
        partial(recall, open_log=sink),
    ]


# -- `project:` values of a session: kept at once, as a value and as a memory ---------------------


_MAX_VALUE_CHARS = 400


class ProjectState:
    """The `project:` values of one memory."""

    def __init__(self, wk: AgentMemory) -> None:
        self._wk = wk

    def values(self) -> dict[str, Json]:
        """What earlier sessions left, by full key."""
        return self._wk.state().items(StateScope.PROJECT)

    def keep(self, key: str, value: Json) -> None:
        """Keep a value; None and empty texts remove it, and its memory is closed."""
        # Before it is cut and written as text, where a part of a secret could hide.
        value = redact_json(value)
        self._wk.state().put(f"{StateScope.PROJECT.prefix}{key}", value)
        name = f"state:{key}"
        if value is None or value == "" or value is False:
            self._forget(name)
            return
        self._wk.remember(
            statement(key, value), type="convention", key=name, source="agent_explicit"
        )

    def _forget(self, name: str) -> None:
        from wellkept.core.errors import NotFoundError

        try:
            self._wk.forget(name, keep_history=True)
        except NotFoundError:
            return


def statement(key: str, value: Json) -> str:
    """A value as a sentence: `user_prefers: "pnpm"` is "user prefers: pnpm"."""
    words = " ".join(key.replace("_", " ").replace("-", " ").replace(".", " ").split())
    if value is True:
        return words
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"
    return f"{words}: {shown}"
