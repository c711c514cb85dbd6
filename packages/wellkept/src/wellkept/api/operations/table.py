"""The table of operations. MCP tools and HTTP routes are generated from it.

Rows with a toolset are MCP tools: `default` is listed always, the others where a user asks for them
(`api.mcp.toolsets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from wellkept.api.operations import (
    ask,
    health,
    inputs,
    memory,
    next_session,
    outputs,
    recipes,
    upkeep,
)
from wellkept.api.operations.operation import MAX_DESCRIPTION_BYTES, Effect, Operation
from wellkept.core.team.people import Role

__all__ = ["BY_NAME", "MAX_DESCRIPTION_BYTES", "OPERATIONS", "TOOLS", "Effect", "Operation"]

DEFAULT: Final = "default"
RECIPES: Final = "recipes"
RECORDS: Final = "records"
PAGE: Final = "page"

OPERATIONS: Final[tuple[Operation[Any, Any], ...]] = (
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
        name="memory_health",
        title="Health of the memory",
        description="Whether this project's memory is alive, trusted and of use: totals, score "
        "with its parts, tokens saved, module coverage, growth and use by day, capture and index.",
        takes=health.HealthInput,
        gives=health.HealthOutput,
        run=health.health,
        toolset=PAGE,
    ),
    Operation(
        name="next_session",
        title="What would be given",
        description="The pack that a hook would give at a moment now, by section, and what was "
        "left out. Nothing is logged or counted.",
        takes=next_session.PreviewInput,
        gives=next_session.PreviewOutput,
        run=next_session.preview,
    ),
    Operation(
        name="replay_prompts",
        title="Earlier prompts now",
        description="The latest prompts, and what each would be given now.",
        takes=next_session.ReplayInput,
        gives=next_session.ReplayOutput,
        run=next_session.replay,
    ),
    Operation(
        name="judge_silence",
        title="Judge a silence",
        description="Keep a person's word about a prompt that was met with silence, as an example.",
        takes=next_session.JudgeInput,
        gives=next_session.JudgeOutput,
        run=next_session.judge,
        effect=Effect.ADDS,
        role=Role.REVIEWER,
    ),
    Operation(
        name="mute_line",
        title="Mute a line",
        description="No longer give a line unasked, or give it again.",
        takes=next_session.MuteInput,
        gives=next_session.MuteOutput,
        run=next_session.mute,
        effect=Effect.ADDS,
        role=Role.REVIEWER,
    ),
    Operation(
        name="ask",
        title="Ask memory",
        description="An answer to a question, word for word from memory, with citations.",
        takes=ask.AskInput,
        gives=ask.AskOutput,
        run=ask.ask,
        toolset=PAGE,
    ),
    Operation(
        name="storage",
        title="Storage",
        description="Files, counts, and what a prune would take.",
        takes=upkeep.StorageInput,
        gives=upkeep.StorageOutput,
        run=upkeep.storage,
        toolset=PAGE,
        role=Role.ADMIN,
        on_files=True,
    ),
    Operation(
        name="prune_unsure",
        title="Prune unsure memories",
        description="Delete memories of little confidence that nobody used, with undo.",
        takes=upkeep.PruneUnsureInput,
        gives=upkeep.EditedOutput,
        run=upkeep.prune_unsure,
        effect=Effect.REMOVES,
        repeatable=False,
        toolset=PAGE,
        needs_toolset=True,
        role=Role.ADMIN,
    ),
    Operation(
        name="remove_stale",
        title="Remove memories of deleted files",
        description="Delete the memories of deleted files, with undo.",
        takes=upkeep.RemoveStaleInput,
        gives=upkeep.EditedOutput,
        run=upkeep.remove_stale,
        effect=Effect.REMOVES,
        repeatable=False,
        toolset=PAGE,
        needs_toolset=True,
        role=Role.ADMIN,
    ),
    Operation(
        name="client_states",
        title="Coding clients",
        description="Whether Wellkept is installed in each coding client.",
        takes=upkeep.ClientsInput,
        gives=upkeep.ClientsOutput,
        run=upkeep.clients,
        toolset=PAGE,
        on_files=True,
    ),
    Operation(
        name="change_client",
        title="Install in a client",
        description="Install Wellkept in a client or remove it; the diff first.",
        takes=upkeep.ClientChangeInput,
        gives=upkeep.ClientChangeOutput,
        run=upkeep.change_client,
        effect=Effect.ADDS,
        role=Role.ADMIN,
        on_files=True,
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
