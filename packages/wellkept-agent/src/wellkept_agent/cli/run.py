"""`wellkept agent`: one task, worked on by the agent with this project's memory."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept_agent.cli.common import AgentChoices, agent_options, make_agent

if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept
    from wellkept_agent.control import RunEnd
    from wellkept_agent.session import RunResult
    from wellkept_agent.terminal.screen import Screen


@click.command()
@click.argument("task", required=False)
@agent_options
@click.option("--list", "is_list", is_flag=True, help="List the sessions that can be resumed.")
@options.json_option
def agent(
    *,
    task: str | None,
    choices: AgentChoices,
    resume: str | None,
    project: str | None,
    is_list: bool,
    as_json: bool,
) -> None:
    """Let an agent work on a task, with this project's memory.

    With - the task is read from standard input. Without a terminal nobody is asked: what needs a
    permission is refused, unless --mode allows it.
    """
    if is_list:
        _list_sessions(project, as_json=as_json)
        return
    given = sys.stdin.read() if task in (None, "-") and not sys.stdin.isatty() else task or ""
    if not given.strip():
        raise click.UsageError('Say what to do, e.g. wellkept agent "fix the failing test".')
    prompt = given
    with options.open_wellkept(project) as wk:
        result, screen = asyncio.run(_worked(wk, prompt, choices, resume=resume, as_json=as_json))
    if as_json:
        output.print_json({"result": result, "memories": screen.citations})
    elif not screen.console.is_terminal:
        output.note(f"Session {result.session}")
    if not result.ok:
        raise click.exceptions.Exit(_exit_code(result.end))


def _list_sessions(project: str | None, *, as_json: bool) -> None:
    with options.open_wellkept(project) as wk:
        found = wk.agent_sessions()
    if as_json:
        output.print_json({"sessions": found})
        return
    rows = [
        (one.id, one.changed_at.strftime("%Y-%m-%d %H:%M"), str(one.messages), one.title)
        for one in found
    ]
    headings = ("session", "last change", "messages", "first prompt")
    output.print_table(headings, rows, empty="No agent session can be resumed here yet.")


async def _worked(
    wk: Wellkept, prompt: str, choices: AgentChoices, *, resume: str | None, as_json: bool
) -> tuple[RunResult, Screen]:
    from rich.console import Console

    from wellkept_agent.terminal.chat import Chat
    from wellkept_agent.terminal.line_editor import LineEditor
    from wellkept_agent.terminal.screen import Screen
    from wellkept_agent.terminal.user import TerminalPerson
    from wellkept_agent.user import Person, Unattended

    screen = Screen(Console(stderr=as_json, quiet=as_json, highlight=False))
    editor = LineEditor(
        history=wk.path.parent / "agent" / "answers", words=list, keys={}, toolbar=lambda: ""
    )
    person: Person = Unattended()
    if sys.stdin.isatty() and sys.stdout.isatty() and not as_json:
        person = TerminalPerson(screen, editor.read)
    made = partial(make_agent, wk, choices, person=person)
    chat = Chat(wk, lambda name: made(model=name), screen, resume=resume)
    try:
        return await chat.turn(prompt), screen
    finally:
        screen.close()
        await chat.session.close()


def _exit_code(end: RunEnd) -> int:
    from wellkept.core.errors import ProviderError
    from wellkept_agent.control import RunEnd

    if end is RunEnd.INTERRUPTED:
        return exit_codes.INTERRUPTED
    if end is RunEnd.MODEL_FAILED:
        return exit_codes.EXIT_CODES[ProviderError]
    return exit_codes.NOTHING
