"""Options of `agent` and `chat`, and the agent they stand for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wellkept.api.cli import options
from wellkept.core.records import record
from wellkept_agent.permissions import PermissionMode

if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept
    from wellkept_agent.agent import Agent
    from wellkept_agent.user import Person

_MODES = [one.value.replace("_", "-") for one in PermissionMode]


@record(kw_only=True)
class AgentChoices:
    """What the command line says about the agent; None is what the settings say."""

    model: str | None = None
    mode: str | None = None
    max_steps: int | None = None
    mcp_config: tuple[str, ...] = ()


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that both commands have; the command gets them as `choices`."""

    @wraps(command)
    def chosen(
        *,
        model: str | None,
        mode: str | None,
        max_steps: int | None,
        mcp_config: tuple[str, ...],
        **rest: Any,
    ) -> Any:
        choices = AgentChoices(model=model, mode=mode, max_steps=max_steps, mcp_config=mcp_config)
        return command(choices=choices, **rest)

    for option in (
        options.project_option,
        click.option("--resume", metavar="SESSION", help="Go on with a session: id, or `last`."),
        click.option(
            "--mcp-config",
            multiple=True,
            metavar="FILE",
            type=click.Path(exists=True, dir_okay=False),
            help="A file of MCP servers that are started too, as .mcp.json has them.",
        ),
        click.option("--max-steps", type=click.IntRange(1), help="Model calls in one turn."),
        click.option("--mode", type=click.Choice(_MODES), help="What is allowed without asking."),
        click.option("--model", metavar="NAME", help="For example anthropic:claude-sonnet-4-5."),
    ):
        chosen = option(chosen)
    return chosen


def make_agent(wk: Wellkept, choices: AgentChoices, *, model: str | None, person: Person) -> Agent:
    """An agent with the memory of this project; `model` is one that was changed to meanwhile."""
    return wk.agent(
        model=model or choices.model,
        permission_mode=None if choices.mode is None else choices.mode.replace("-", "_"),
        max_steps=choices.max_steps,
        mcp_config=tuple(map(Path, choices.mcp_config)),
        person=person,
    )
