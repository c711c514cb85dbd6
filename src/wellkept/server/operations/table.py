"""The table of operations. MCP tools and HTTP routes are generated from it.

An operation has a name, a description, an input and output model, an effect and a function. An
alias is another name for the same operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pydantic import ValidationError

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.server.operations import (
    code,
    graph,
    inputs,
    memory,
    observer,
    outputs,
    recipes,
    skill_authoring,
    skill_records,
    skills,
)
from wellkept.server.operations.inputs import Input
from wellkept.server.operations.outputs import Output

if TYPE_CHECKING:
    from wellkept.app import Wellkept

MAX_DESCRIPTION_BYTES: Final = 2048
"""Clients cut descriptions after this."""

_In = TypeVar("_In", bound=Input)
_Out = TypeVar("_Out", bound=Output)


class Effect(Enum):
    """What an operation does to the memory."""

    READS = "reads"
    ADDS = "adds"
    REMOVES = "removes"


@record(kw_only=True)
class Operation(Generic[_In, _Out]):
    """One operation on a project."""

    name: str
    title: str
    description: str
    takes: type[_In]
    gives: type[_Out]
    run: Callable[[Wellkept, _In], _Out]
    effect: Effect = Effect.READS
    repeatable: bool = True
    """Whether doing it twice leaves the memory as doing it once does."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Other names, each with its own description."""
    for_agents: bool = True
    """Whether it is an MCP tool too; each costs every session its description."""

    def read(self, arguments: Mapping[str, object]) -> _In:
        """The arguments, checked; a UsageError names each one that does not fit."""
        try:
            return self.takes.model_validate(dict(arguments))
        except ValidationError as error:
            raise UsageError(
                f"{self.name} cannot take these arguments: {_validation_text(error)}.",
                hint=f"It takes: {', '.join(self.takes.model_fields)}.",
            ) from None

    def accepts(self, field: str) -> bool:
        """Whether the input has this field."""
        return field in self.takes.model_fields

    def names(self) -> dict[str, str]:
        """Every name it goes by, with the description under that name."""
        return {self.name: self.description, **dict(self.aliases)}


def _validation_text(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}"
        for e in error.errors(include_url=False)[:5]
    )


OPERATIONS: Final[tuple[Operation[Any, Any], ...]] = (
    Operation(
        name="search",
        title="Search memory",
        description="Step 1 of looking something up. Finds what earlier sessions learned about "
        "this project (decisions, fixes, gotchas, conventions, what was done) and returns one "
        "index line each: id, date, type, tokens to read it, title. Pick the few ids that matter, "
        "then call get_observations. Without a query: the newest.",
        takes=inputs.SearchInput,
        gives=outputs.SearchOutput,
        run=memory.search,
        aliases=(("memory_search", "The same as search."),),
    ),
    Operation(
        name="timeline",
        title="Memory around a moment",
        description="Step 2, when order matters: index lines before and after one memory in time, "
        "to see what led to it and what followed. Give an anchor id from search, or a query.",
        takes=inputs.TimelineInput,
        gives=outputs.TimelineOutput,
        run=memory.timeline,
    ),
    Operation(
        name="get_observations",
        title="Read memories in full",
        description="Step 3: full records by id or key. Ask for the few ids that search or "
        "timeline showed to matter; their token cost is in the index line.",
        takes=inputs.GetInput,
        gives=outputs.MemoriesOutput,
        run=memory.get,
    ),
    Operation(
        name="memory_recall",
        title="Recall",
        description="Quick answer to one question in one step: the few best memories with their "
        "text, long ones shortened. For a broad look use search.",
        takes=inputs.RecallInput,
        gives=outputs.RecallOutput,
        run=memory.recall,
    ),
    Operation(
        name="inject_context",
        title="Context for now",
        description="What memory would say unasked at this moment: at a session's start (no "
        "arguments), for a prompt (query) or for files about to be changed (files), ranked and "
        "inside a token budget, with ids to cite.",
        takes=inputs.ContextInput,
        gives=outputs.ContextOutput,
        run=memory.context,
    ),
    Operation(
        name="memory_store",
        title="Remember",
        description="Keep one statement that will matter in later sessions: a preference, a "
        "convention, a decision with its reason, a gotcha, a fix. Not what the code already says, "
        "no secrets. What repeats is merged; what contradicts replaces the old and keeps history. "
        "Set said_by_person when the person asked for it.",
        takes=inputs.RememberInput,
        gives=outputs.RememberOutput,
        run=memory.store,
        effect=Effect.ADDS,
    ),
    Operation(
        name="remember_this",
        title="Note this",
        description="While working: note something that this session found out (a gotcha, a fix, "
        "how something works). It is told to this session at once and kept for later ones when "
        "the work has held up. What the person said is kept at once: set said_by_person.",
        takes=inputs.RememberInput,
        gives=outputs.RememberOutput,
        run=recipes.remember_this,
        effect=Effect.ADDS,
    ),
    Operation(
        name="get_workflow_recipe",
        title="Recipe for a task",
        description="Before planning: the steps that such a task took here before, with the files "
        "to change at each, how often that worked or failed, and whether it may be out of date.",
        takes=recipes.RecipeInput,
        gives=recipes.RecipesOutput,
        run=recipes.get_workflow_recipe,
    ),
    Operation(
        name="store_observation",
        title="Note what happened",
        description="Log one finished piece of work (decision, bugfix, feature, refactor, "
        "discovery, change) with its facts and files. Hooks do this by themselves where they are "
        "installed; use it where they are not.",
        takes=inputs.ObservationInput,
        gives=outputs.RememberOutput,
        run=memory.store_observation,
        effect=Effect.ADDS,
        repeatable=False,
    ),
    Operation(
        name="memory_forget",
        title="Forget",
        description="Delete memories for good by id or key. Without confirm it only shows what "
        "would go: show that to the person and ask first. keep_history closes them instead.",
        takes=inputs.ForgetInput,
        gives=outputs.ForgetOutput,
        run=memory.forget,
        effect=Effect.REMOVES,
        repeatable=False,
    ),
    Operation(
        name="stats",
        title="How much is known",
        description="Counts of what is known about this project, by type and source.",
        takes=inputs.StatsInput,
        gives=outputs.StatsOutput,
        run=memory.stats,
    ),
    Operation(
        name="analyze_impact",
        title="Impact of a change",
        description="Before changing a file or symbol: what depends on it (callers, importers, "
        "subclasses) to depth 3, the tests that reach it, and memories and end-to-end "
        "observations tied to what is touched.",
        takes=graph.ImpactInput,
        gives=graph.ImpactOutput,
        run=graph.analyze_impact,
    ),
    Operation(
        name="get_dependencies",
        title="Dependencies",
        description="What a file or symbol depends on, direct and transitive; with reverse, what "
        "depends on it.",
        takes=graph.DependenciesInput,
        gives=graph.DependenciesOutput,
        run=graph.get_dependencies,
    ),
    Operation(
        name="trace_data_flow",
        title="Trace data flow",
        description="Where the values of a file or symbol go, through assignments, arguments, "
        "results and fields of functions, each way with how sure it is; with to, only those that "
        "end there; with value, only those of one parameter or variable.",
        takes=graph.DataFlowInput,
        gives=graph.DataFlowOutput,
        run=graph.trace_data_flow,
    ),
    Operation(
        name="search_code",
        title="Find code",
        description="Which files a task, a bug report or a name is about, by paths, symbols and "
        "text, and by the files that similar past commits touched. Ask this before searching by "
        "hand.",
        takes=code.SearchCodeInput,
        gives=code.SearchCodeOutput,
        run=code.search_code,
    ),
    Operation(
        name="skill_search",
        title="Find skills",
        description="Instructions that people and earlier sessions wrote for kinds of work "
        "(release, migration, review, ...). Before such work, ask which fit; then skill_run.",
        takes=skill_records.FindSkillsInput,
        gives=skill_records.SkillRowsOutput,
        run=skills.skill_search,
    ),
    Operation(
        name="skill_run",
        title="Run a skill",
        description="The instructions of one skill in full, with arguments in their places, for "
        "you to follow; or the answer of a command such as help or plan.",
        takes=skill_records.RunSkillInput,
        gives=skill_records.SkillTextOutput,
        run=skills.skill_run,
        effect=Effect.ADDS,
        repeatable=False,
    ),
    Operation(
        name="skill_list",
        title="List skills",
        description="Every skill of the project, highest priority first.",
        takes=skill_records.ListSkillsInput,
        gives=skill_records.SkillRowsOutput,
        run=skills.skill_list,
        for_agents=False,
    ),
    Operation(
        name="skill_show",
        title="Show a skill",
        description="One skill with its text and what is wrong with it.",
        takes=skill_records.SkillNameInput,
        gives=skill_records.SkillOutput,
        run=skills.skill_show,
        for_agents=False,
    ),
    Operation(
        name="skill_detect",
        title="Detect skills",
        description="The skills that the project calls for by its files, with reasons.",
        takes=skill_records.FindSkillsInput,
        gives=skill_records.SkillRowsOutput,
        run=skills.skill_detect,
        for_agents=False,
    ),
    Operation(
        name="skill_commands",
        title="List commands",
        description="What a person can type after a slash, the most used first.",
        takes=skill_records.NoInput,
        gives=skill_records.CommandRowsOutput,
        run=skills.skill_commands,
        for_agents=False,
    ),
    Operation(
        name="skill_command",
        title="Run a command",
        description="Run a skill or an own command as the person.",
        takes=skill_records.RunSkillInput,
        gives=skill_records.SkillTextOutput,
        run=skills.skill_command,
        effect=Effect.ADDS,
        repeatable=False,
        for_agents=False,
    ),
    Operation(
        name="skill_switch",
        title="Switch a skill",
        description="Switch a skill on or off in this project; its file stays as it is.",
        takes=skill_records.SwitchSkillInput,
        gives=skill_records.SkillOutput,
        run=skills.skill_switch,
        effect=Effect.ADDS,
        for_agents=False,
    ),
    Operation(
        name="skill_create",
        title="Make a skill",
        description="Make a skill in one of the project's folders, or in the person's own.",
        takes=skill_records.CreateSkillInput,
        gives=skill_records.SkillOutput,
        run=skills.skill_create,
        effect=Effect.ADDS,
        repeatable=False,
        for_agents=False,
    ),
    Operation(
        name="skill_delete",
        title="Remove a skill",
        description="Remove a skill for good. Without confirm it only shows what would go.",
        takes=skill_records.DeleteSkillInput,
        gives=skill_records.DeleteSkillOutput,
        run=skills.skill_delete,
        effect=Effect.REMOVES,
        repeatable=False,
        for_agents=False,
    ),
    Operation(
        name="skill_refresh",
        title="Read skills anew",
        description="Look through every place again, and say how many skills there are.",
        takes=skill_records.NoInput,
        gives=skill_records.SkillOverviewOutput,
        run=skills.skill_refresh,
        for_agents=False,
    ),
    Operation(
        name="skill_edit",
        title="Edit a skill",
        description="Set fields or the text of a skill's document; the rest stays as it is.",
        takes=skill_authoring.EditSkillInput,
        gives=skill_records.SkillOutput,
        run=skill_authoring.skill_edit,
        effect=Effect.ADDS,
        for_agents=False,
    ),
    Operation(
        name="skill_validate",
        title="Look skills over",
        description="Every finding about one skill, or about all, with line numbers.",
        takes=skill_authoring.CheckSkillsInput,
        gives=skill_authoring.SkillChecksOutput,
        run=skill_authoring.skill_validate,
        for_agents=False,
    ),
    Operation(
        name="skill_generate",
        title="Make skills of sessions",
        description="Make skills of sessions that went well; they wait for review.",
        takes=skill_authoring.GenerateSkillsInput,
        gives=skill_authoring.GeneratedSkillsOutput,
        run=skill_authoring.skill_generate,
        effect=Effect.ADDS,
        for_agents=False,
    ),
    Operation(
        name="skill_generated",
        title="List skills from sessions",
        description="Skills that were made from sessions, with their review and how they fared.",
        takes=skill_authoring.GeneratedSkillInput,
        gives=skill_authoring.GeneratedSkillsOutput,
        run=skill_authoring.skill_generated,
        for_agents=False,
    ),
    Operation(
        name="skill_review",
        title="Review a skill",
        description="Accept, reject or edit a skill that was made from sessions.",
        takes=skill_authoring.ReviewSkillInput,
        gives=skill_authoring.GeneratedSkillDetailOutput,
        run=skill_authoring.skill_review,
        effect=Effect.ADDS,
        for_agents=False,
    ),
    Operation(
        name="skill_refine",
        title="Refine a skill",
        description="Make a skill from sessions anew, from all that used or resemble it.",
        takes=skill_authoring.RefineSkillInput,
        gives=skill_authoring.GeneratedSkillDetailOutput,
        run=skill_authoring.skill_refine,
        effect=Effect.ADDS,
        for_agents=False,
    ),
    Operation(
        name="record_verdict",
        title="QA verdict",
        description="After checking finished work: say whether a session's work, or one sub-task "
        "of it, passed or failed, with what was found. Passed work is learned from; what a failed "
        "run noticed is discarded; critical and high issues are kept as error patterns.",
        takes=observer.VerdictInput,
        gives=observer.VerdictOutput,
        run=observer.record_verdict,
        effect=Effect.ADDS,
    ),
    Operation(
        name="explain_memory",
        title="Why is this known",
        description="Why a memory is there: the sessions and signals it rests on, the rule that "
        "concluded it, what validated it and how it scored.",
        takes=observer.WhyInput,
        gives=observer.WhyOutput,
        run=observer.explain_memory,
        for_agents=False,
    ),
)

BY_NAME: Final[Mapping[str, Operation[Any, Any]]] = MappingProxyType(
    {name: operation for operation in OPERATIONS for name in operation.names()}
)
TOOLS: Final[Mapping[str, Operation[Any, Any]]] = MappingProxyType(
    {name: operation for name, operation in BY_NAME.items() if operation.for_agents}
)
"""What agents are offered, by every name."""
