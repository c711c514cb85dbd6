"""Skill: use one of the skills that the session knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol

from pydantic import Field

from wellkept.core.records import replace
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool
from wellkept_agent.tools.context import ToolContext


class SkillUse(Protocol):
    """Runs skills: inserts their text, or lets a sub-agent follow it. Refuses unknown names."""

    async def use(self, context: ToolContext, name: str, arguments: str) -> ToolOutput: ...


class SkillArguments(Arguments):
    """Arguments of Skill."""

    skill: Annotated[str, Field(min_length=1, description="The skill's name, without a slash.")]
    args: Annotated[str, Field(description="What comes after the name, if anything.")] = ""


class Skill(TypedTool[SkillArguments]):
    """Uses a skill."""

    name = "Skill"
    description = "Use a skill by its name: its instructions come back and apply from then on."
    is_long_running = True

    def __init__(self, skills: SkillUse) -> None:
        self._skills = skills

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The skill's name, for rules such as `Skill(deploy)`."""
        return str(arguments.get("skill", "")).removeprefix("/")

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Text needs no permission; what it makes the agent do asks for itself."""

    async def run(self, context: ToolContext, arguments: SkillArguments) -> ToolOutput:
        """Use the skill."""
        name = arguments.skill.strip().removeprefix("/")
        output = await self._skills.use(context, name, arguments.args)
        return replace(output, query=output.query or name)
