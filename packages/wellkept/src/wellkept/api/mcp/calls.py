"""Which operation a tool name means. Imported with the first call: it loads the operation table."""

from __future__ import annotations

from typing import Any, Final

from wellkept.api.operations import skill_records
from wellkept.api.operations import skills as skill_verbs
from wellkept.api.operations.argument_names import snake
from wellkept.api.operations.operation import Operation
from wellkept.api.operations.table import TOOLS

_PREFIXES: Final = ("mcp__wellkept__", "mcp_wellkept_", "wellkept_", "wellkept__")

LIST_SKILLS: Final = Operation(
    name="list prompts",
    title="List skills",
    description="Skills that a person may pick.",
    takes=skill_records.NoInput,
    gives=skill_records.SkillPromptsOutput,
    run=skill_verbs.skill_prompts,
    on_files=True,
)
RUN_SKILL: Final = Operation(
    name="get prompt",
    title="Run a skill",
    description="A skill that a person picked.",
    takes=skill_records.RunSkillInput,
    gives=skill_records.SkillTextOutput,
    run=skill_verbs.run_prompt,
    on_files=True,
)


def find_tool(name: str) -> Operation[Any, Any] | None:
    """The operation of a tool by any of its names, with or without the client's prefix."""
    plain = snake(name.strip())
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return TOOLS.get(plain) or TOOLS.get(plain.removesuffix("_tool"))
