"""`wellkept agent`: one task, worked on by the agent with this project's memory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.core.codec import record_to_json
from wellkept.core.records import record
from wellkept_agent.permissions import PermissionMode

if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept
    from wellkept_agent.agent import Agent
    from wellkept_agent.control import RunEnd
    from wellkept_agent.permissions import Person
    from wellkept_agent.session import RunResult
    from wellkept_agent.terminal.screen import Screen


# -- Options of `agent` and `chat`, and the agent they stand for ----------------------------------


_MODES = [one.value.replace("_", "-") for one in PermissionMode]


@record(kw_only=True)
class _AgentChoices:
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
        choices = _AgentChoices(model=model, mode=mode, max_steps=max_steps, mcp_config=mcp_config)
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


def make_agent(wk: Wellkept, choices: _AgentChoices, *, model: str | None, person: Person) -> Agent:
    """An agent with the memory of this project; `model` is one that was changed to meanwhile."""
    return wk.agent(
        model=model or choices.model,
        permission_mode=None if choices.mode is None else choices.mode.replace("-", "_"),
        max_steps=choices.max_steps,
        mcp_config=tuple(map(Path, choices.mcp_config)),
        person=person,
    )


@click.command()
@click.argument("task", required=False)
@agent_options
@click.option("--list", "is_list", is_flag=True, help="List the sessions that can be resumed.")
@options.json_option
def agent(
    *,
    task: str | None,
    choices: _AgentChoices,
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
        told = {one: value for one, value in record_to_json(result).items() if one != "output"}
        output.print_json({"result": told, "memories": screen.citations})
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
    wk: Wellkept, prompt: str, choices: _AgentChoices, *, resume: str | None, as_json: bool
) -> tuple[RunResult, Screen]:
    from rich.console import Console

    from wellkept_agent.permissions import Unattended
    from wellkept_agent.terminal.chat import Chat
    from wellkept_agent.terminal.line_editor import LineEditor
    from wellkept_agent.terminal.screen import Screen, TerminalPerson

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


# -- `wellkept agent chat`: talk with the agent at the terminal ----------------------------------


@click.command()
@agent_options
@click.option("--show-thinking", is_flag=True, help="Print what the model thinks.")
def chat(
    *, choices: _AgentChoices, resume: str | None, project: str | None, show_thinking: bool
) -> None:
    """Talk with an agent that knows this project.

    /help lists the commands of a conversation.
    """
    with options.open_wellkept(project) as wk:
        asyncio.run(_talked(wk, choices, resume=resume, show_thinking=show_thinking))


async def _talked(
    wk: Wellkept, choices: _AgentChoices, *, resume: str | None, show_thinking: bool
) -> None:
    from rich.console import Console

    from wellkept_agent.terminal.chat import COMMANDS, Chat
    from wellkept_agent.terminal.line_editor import LineEditor
    from wellkept_agent.terminal.screen import Screen, TerminalPerson

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
