"""`wellkept chat`: talk with the agent at the terminal."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options
from wellkept_agent.cli.common import AgentChoices, agent_options, make_agent

if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept


@click.command()
@agent_options
@click.option("--show-thinking", is_flag=True, help="Print what the model thinks.")
def chat(
    *, choices: AgentChoices, resume: str | None, project: str | None, show_thinking: bool
) -> None:
    """Talk with an agent that knows this project.

    /help lists the commands of a conversation.
    """
    with options.open_wellkept(project) as wk:
        asyncio.run(_talked(wk, choices, resume=resume, show_thinking=show_thinking))


async def _talked(
    wk: Wellkept, choices: AgentChoices, *, resume: str | None, show_thinking: bool
) -> None:
    from rich.console import Console

    from wellkept_agent.terminal.chat import Chat
    from wellkept_agent.terminal.line_editor import LineEditor
    from wellkept_agent.terminal.screen import Screen
    from wellkept_agent.terminal.slash_commands import COMMANDS
    from wellkept_agent.terminal.user import TerminalPerson

    screen = Screen(Console(highlight=False), show_thinking=show_thinking)
    folder = wk.path.parent / "agent"
    answers = LineEditor(history=folder / "answers", words=list, keys={}, toolbar=lambda: "")
    person = TerminalPerson(screen, answers.read)
    made = partial(make_agent, wk, choices, person=person)
    talk = Chat(wk, lambda name: made(model=name), screen, resume=resume)
    editor = LineEditor(
        history=folder / "prompts",
        words=lambda: [f"/{name}" for name in (*COMMANDS, *talk.skill_commands())],
        keys={"c-t": talk.next_thinking, "s-tab": talk.next_mode, "c-g": talk.flag_line},
        toolbar=talk.toolbar,
    )
    await talk.run(editor.read)
