"""The table of operations. MCP tools and HTTP routes are generated from it.

Rows with a toolset are MCP tools: `default` is listed always, the others where a user asks for them
(`server.mcp.toolsets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from wellkept.server.operations import (
    code,
    graph,
    inputs,
    memory,
    observations,
    observer,
    outputs,
    recipes,
    skill_authoring,
    skill_records,
    skills,
)
from wellkept.server.operations.operation import MAX_DESCRIPTION_BYTES, Effect, Operation

__all__ = ["BY_NAME", "MAX_DESCRIPTION_BYTES", "OPERATIONS", "TOOLS", "Effect", "Operation"]

DEFAULT: Final = "default"
GRAPH: Final = "graph"
SKILLS: Final = "skills"
RECIPES: Final = "recipes"
RECORDS: Final = "records"

OPERATIONS: Final[tuple[Operation[Any, Any], ...]] = (
    Operation(
        name="search",
        title="Search memory",
        description="What earlier sessions learned about this project: decisions and reasons, "
        "fixes, traps, conventions, what was done when. Use when a task starts, an error looks "
        "familiar, or the person refers to earlier work. One line each, short ones whole; "
        "memory_get reads a cut one. Without a query: the newest.",
        takes=inputs.SearchInput,
        gives=outputs.SearchOutput,
        run=memory.search,
        toolset=DEFAULT,
        tool="memory_search",
        aliases=("search_memory", "search_memories", "search_observations"),
    ),
    Operation(
        name="get_observations",
        title="Read memories in full",
        description="Full text of the few memories that matter, by the ids that memory_search "
        "shows or texts cite as [m:id].",
        takes=inputs.GetInput,
        gives=outputs.MemoriesOutput,
        run=memory.get,
        toolset=DEFAULT,
        tool="memory_get",
        aliases=("get_observation", "memory_read", "memory_show", "get_memory", "get_memories"),
    ),
    Operation(
        name="timeline",
        title="Memory around a moment",
        description="What came before and after one memory in time: what led to a decision, what "
        "followed a fix. Give its id, or a query that finds it.",
        takes=inputs.TimelineInput,
        gives=outputs.TimelineOutput,
        run=memory.timeline,
        toolset=DEFAULT,
        tool="memory_timeline",
    ),
    Operation(
        name="memory_store",
        title="Remember",
        description="Keep one statement for later sessions: when the person asks to remember it, "
        "or when you found out what they would have to find out again (a decision and why, a "
        "trap, a command that works here). Not what the code says; no secrets. Repeats are "
        "merged, a contradiction replaces the old.",
        takes=inputs.RememberInput,
        gives=outputs.RememberOutput,
        run=memory.store,
        effect=Effect.ADDS,
        toolset=DEFAULT,
        aliases=("memory_save", "memory_add", "add_memory", "save_memory", "remember"),
    ),
    Operation(
        name="memory_forget",
        title="Forget",
        description="Delete memories. Without confirm it only shows what would go: ask the person "
        "first.",
        takes=inputs.ForgetInput,
        gives=outputs.ForgetOutput,
        run=memory.forget,
        effect=Effect.REMOVES,
        repeatable=False,
        toolset=DEFAULT,
        aliases=("memory_delete", "delete_memory", "forget"),
    ),
    Operation(
        name="inject_context",
        title="Context for now",
        description="What is worth knowing now: without arguments where work stands (last "
        "session, rules, commands that work here, traps); with query for a task; with files "
        "before changing them. Hooks say this unasked where they are installed.",
        takes=inputs.ContextInput,
        gives=outputs.ContextOutput,
        run=memory.context,
        toolset=DEFAULT,
        tool="memory_context",
        aliases=("get_context",),
    ),
    Operation(
        name="memory_recall",
        title="Recall",
        description="The few best memories for one question, with their text.",
        takes=inputs.RecallInput,
        gives=outputs.RecallOutput,
        run=memory.recall,
        toolset=RECORDS,
        aliases=("recall", "recall_memory"),
    ),
    Operation(
        name="stats",
        title="How much is known",
        description="Counts of what is known about this project, by type and source.",
        takes=inputs.StatsInput,
        gives=outputs.StatsOutput,
        run=memory.stats,
        toolset=RECORDS,
        aliases=("memory_stats",),
    ),
    Operation(
        name="decisions",
        title="Decisions",
        description="The newest decisions, one line each.",
        takes=inputs.DecisionsInput,
        gives=outputs.SearchOutput,
        run=memory.decisions,
        toolset=RECORDS,
    ),
    Operation(
        name="changes_for_file",
        title="Changes of a file",
        description="What was done to a file and learned about it, newest first, one line each.",
        takes=inputs.FileChangesInput,
        gives=outputs.SearchOutput,
        run=memory.changes_for_file,
        toolset=RECORDS,
    ),
    Operation(
        name="store_observation",
        title="Note what happened",
        description="Log one finished piece of work with its facts and files, or one raw tool "
        "call. Hooks do this by themselves; use it where they are not installed.",
        takes=observations.ObservationInput,
        gives=outputs.RememberOutput,
        run=observations.store_observation,
        effect=Effect.ADDS,
        repeatable=False,
        toolset=RECORDS,
    ),
    Operation(
        name="remember_this",
        title="Note this",
        description="While working: note something that this session found out. It is told to this "
        "session at once and kept for later ones when the work has held up.",
        takes=inputs.RememberInput,
        gives=outputs.RememberOutput,
        run=recipes.remember_this,
        effect=Effect.ADDS,
        toolset=RECIPES,
    ),
    Operation(
        name="get_workflow_recipe",
        title="Recipe for a task",
        description="Before planning: the steps that such a task took here before, with the files "
        "to change at each, how often that worked or failed, and whether it may be out of date.",
        takes=recipes.RecipeInput,
        gives=recipes.RecipesOutput,
        run=recipes.get_workflow_recipe,
        toolset=RECIPES,
        aliases=("search_workflow_recipe",),
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
        toolset=GRAPH,
    ),
    Operation(
        name="get_dependencies",
        title="Dependencies",
        description="What a file or symbol depends on, direct and transitive; with reverse, what "
        "depends on it.",
        takes=graph.DependenciesInput,
        gives=graph.DependenciesOutput,
        run=graph.get_dependencies,
        toolset=GRAPH,
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
        toolset=GRAPH,
    ),
    Operation(
        name="search_code",
        title="Find code",
        description="Which files of this project a task, bug report or name is about, also by the "
        "files that similar past commits touched. Use before searching by hand.",
        takes=code.SearchCodeInput,
        gives=code.SearchCodeOutput,
        run=code.search_code,
        toolset=DEFAULT,
        aliases=("code_search",),
    ),
    Operation(
        name="skill_search",
        title="Find skills",
        description="Instructions that people or earlier sessions wrote for a kind of work "
        "(release, migration, review, ...). Use before such work, not before plain edits.",
        takes=skill_records.FindSkillsInput,
        gives=skill_records.SkillRowsOutput,
        run=skills.skill_search,
        toolset=DEFAULT,
        aliases=("search_skills",),
    ),
    Operation(
        name="skill_run",
        title="Run a skill",
        description="One skill in full, by the name that skill_search gives, for you to follow.",
        takes=skill_records.RunSkillInput,
        gives=skill_records.SkillTextOutput,
        run=skills.skill_run,
        effect=Effect.ADDS,
        repeatable=False,
        toolset=DEFAULT,
        aliases=("run_skill", "get_skill"),
    ),
    Operation(
        name="skill_list",
        title="List skills",
        description="Every skill of the project, highest priority first.",
        takes=skill_records.ListSkillsInput,
        gives=skill_records.SkillRowsOutput,
        run=skills.skill_list,
        toolset=SKILLS,
    ),
    Operation(
        name="skill_show",
        title="Show a skill",
        description="One skill with its text and what is wrong with it.",
        takes=skill_records.SkillNameInput,
        gives=skill_records.SkillOutput,
        run=skills.skill_show,
        toolset=SKILLS,
    ),
    Operation(
        name="skill_detect",
        title="Detect skills",
        description="The skills that the project calls for by its files, with reasons.",
        takes=skill_records.FindSkillsInput,
        gives=skill_records.SkillRowsOutput,
        run=skills.skill_detect,
    ),
    Operation(
        name="skill_commands",
        title="List commands",
        description="What a person can type after a slash, the most used first.",
        takes=skill_records.NoInput,
        gives=skill_records.CommandRowsOutput,
        run=skills.skill_commands,
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
    ),
    Operation(
        name="skill_switch",
        title="Switch a skill",
        description="Switch a skill on or off in this project; its file stays as it is.",
        takes=skill_records.SwitchSkillInput,
        gives=skill_records.SkillOutput,
        run=skills.skill_switch,
        effect=Effect.ADDS,
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
        toolset=SKILLS,
        needs_toolset=True,
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
    ),
    Operation(
        name="skill_refresh",
        title="Read skills anew",
        description="Look through every place again, and say how many skills there are.",
        takes=skill_records.NoInput,
        gives=skill_records.SkillOverviewOutput,
        run=skills.skill_refresh,
    ),
    Operation(
        name="skill_edit",
        title="Edit a skill",
        description="Set fields or the text of a skill's document; the rest stays as it is.",
        takes=skill_authoring.EditSkillInput,
        gives=skill_records.SkillOutput,
        run=skill_authoring.skill_edit,
        effect=Effect.ADDS,
        toolset=SKILLS,
        needs_toolset=True,
    ),
    Operation(
        name="skill_validate",
        title="Look skills over",
        description="Every finding about one skill, or about all, with line numbers.",
        takes=skill_authoring.CheckSkillsInput,
        gives=skill_authoring.SkillChecksOutput,
        run=skill_authoring.skill_validate,
        toolset=SKILLS,
    ),
    Operation(
        name="skill_generate",
        title="Make skills of sessions",
        description="Make skills of sessions that went well; they wait for review.",
        takes=skill_authoring.GenerateSkillsInput,
        gives=skill_authoring.GeneratedSkillsOutput,
        run=skill_authoring.skill_generate,
        effect=Effect.ADDS,
    ),
    Operation(
        name="skill_generated",
        title="List skills from sessions",
        description="Skills that were made from sessions, with their review and how they fared.",
        takes=skill_authoring.GeneratedSkillInput,
        gives=skill_authoring.GeneratedSkillsOutput,
        run=skill_authoring.skill_generated,
    ),
    Operation(
        name="skill_review",
        title="Review a skill",
        description="Accept, reject or edit a skill that was made from sessions.",
        takes=skill_authoring.ReviewSkillInput,
        gives=skill_authoring.GeneratedSkillDetailOutput,
        run=skill_authoring.skill_review,
        effect=Effect.ADDS,
    ),
    Operation(
        name="skill_refine",
        title="Refine a skill",
        description="Make a skill from sessions anew, from all that used or resemble it.",
        takes=skill_authoring.RefineSkillInput,
        gives=skill_authoring.GeneratedSkillDetailOutput,
        run=skill_authoring.skill_refine,
        effect=Effect.ADDS,
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
        toolset=RECIPES,
    ),
    Operation(
        name="explain_memory",
        title="Why is this known",
        description="Why a memory is there and whether it was ever of use: the sessions and "
        "signals it rests on, the rule that concluded it, how it scored; when agents were given "
        "it, and whether they used it.",
        takes=observer.WhyInput,
        gives=observer.WhyOutput,
        run=observer.explain_memory,
        toolset=RECORDS,
        aliases=("memory_why", "why"),
    ),
    Operation(
        name="memory_flag",
        title="Flag a memory that did harm",
        description="Say that a memory you were given is wrong or did harm, at the moment you see "
        "it: it is no longer given unasked and waits for a person's review. Give the reason.",
        takes=observer.FlagInput,
        gives=observer.FlagOutput,
        run=observer.flag_memory,
        effect=Effect.ADDS,
        toolset=RECORDS,
        aliases=("flag_memory", "flag"),
    ),
)

BY_NAME: Final[Mapping[str, Operation[Any, Any]]] = MappingProxyType(
    {operation.name: operation for operation in OPERATIONS}
)
TOOLS: Final[Mapping[str, Operation[Any, Any]]] = MappingProxyType(
    {
        name: operation
        for operation in OPERATIONS
        if operation.toolset is not None
        for name in operation.names()
    }
)
"""What agents may call, by every name; most names are not listed."""
