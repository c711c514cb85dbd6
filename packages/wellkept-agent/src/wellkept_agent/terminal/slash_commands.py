"""Commands of a chat: `/help`, `/mode`, `/flag`, … Anything else that begins with a slash goes to
the agent, where skills answer to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from rich.text import Text

from wellkept.api.cli.output import one_line
from wellkept.core.errors import UsageError, WellkeptError
from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept_agent.permissions import PermissionMode

if TYPE_CHECKING:
    from wellkept_agent.terminal.chat import Chat


@record
class SlashCommand:
    """One command: its arguments for the help, what it does, and the function."""

    arguments: str
    help: str
    run: Callable[[Chat, str], Awaitable[None]]


async def run_command(chat: Chat, line: str) -> bool:
    """Run a command of this table; False when the line is none."""
    name, _, rest = line.partition(" ")
    command = COMMANDS.get(name.removeprefix("/"))
    if command is None:
        return False
    try:
        await command.run(chat, rest.strip())
    except WellkeptError as error:
        chat.say(f"! {error}", style="yellow")
    return True


async def _help(chat: Chat, _rest: str) -> None:
    for name, command in COMMANDS.items():
        usage = f"/{name} {command.arguments}".strip()
        chat.console.print(Text(f"  {usage:<28}{command.help}"))
    skills = [one for one in chat.skill_commands() if one not in COMMANDS]
    if skills:
        chat.say("Skills: " + ", ".join(f"/{one}" for one in skills))
    chat.say(
        "Ctrl-C stops a run. Ctrl-T changes thinking, Shift-Tab the mode. Ctrl-G flags the memory"
        " that was told last. Ctrl-D leaves."
    )


async def _mode(chat: Chat, rest: str) -> None:
    if rest:
        choices = {one.value for one in PermissionMode}
        wanted = rest.lower().replace("-", "_")
        if wanted not in choices:
            raise UsageError(f"{rest!r} is no mode.", hint=f"Choose: {', '.join(sorted(choices))}.")
        chat.set_mode(PermissionMode(wanted))
    chat.say(f"Mode: {chat.session.permissions.mode.value}")


async def _plan(chat: Chat, _rest: str) -> None:
    chat.set_mode(PermissionMode.PLAN)
    chat.say("Plan mode: the agent reads and writes a plan. It asks you before it goes ahead.")


async def _think(chat: Chat, rest: str) -> None:
    chat.say(f"Thinking: {chat.set_thinking(rest or None)}")


async def _model(chat: Chat, rest: str) -> None:
    if rest:
        chat.change_model(rest)
    info = chat.session.model.info
    chat.say(f"Model: {info.provider}:{info.name}, {info.context_tokens:,} tokens of context")


async def _compact(chat: Chat, rest: str) -> None:
    chat.say(await chat.compact(rest))


async def _memory(chat: Chat, rest: str) -> None:
    if not rest:
        if not chat.screen.citations:
            chat.say("Nothing was told from memory in this session yet.")
        for one in chat.screen.citations:
            chat.say(f"  {one}  {one_line(chat.memory_text(one))}")
        return
    found = chat.recall(rest)
    if not found:
        chat.say("Nothing known about that.")
    for citation, text in found:
        chat.say(f"  {citation}  {one_line(text)}")


async def _remember(chat: Chat, rest: str) -> None:
    if not rest:
        raise UsageError("Say what to remember.", hint="For example: /remember We use pnpm.")
    chat.say(chat.remember(rest))


async def _flag(chat: Chat, rest: str) -> None:
    name, _, reason = rest.partition(" ")
    if not name:
        if not chat.screen.citations:
            raise UsageError("Nothing was told from memory in this session.")
        name = chat.screen.citations[-1]
    chat.say(chat.flag(name, reason.strip()))


async def _todos(chat: Chat, _rest: str) -> None:
    for text, status in chat.session.todos:
        chat.say(f"  {status:<12}{one_line(text)}")
    if not chat.session.todos:
        chat.say("No list yet.")


async def _tools(chat: Chat, _rest: str) -> None:
    tools = list(chat.session.tools)
    width = max((len(one.name) for one in tools), default=0) + 2
    room = max(20, chat.console.width - width - 12)
    for one in tools:
        mark = "reads" if one.read_only else "changes"
        said = shorten(one_line(one.description), limit=room)
        chat.say(f"  {one.name:<{width}}{mark:<9}{said}")


async def _cost(chat: Chat, _rest: str) -> None:
    usage = chat.session.control.usage
    chat.say(
        f"{usage.total:,} tokens: {usage.input:,} in, {usage.output:,} out, "
        f"{usage.cache_read:,} from the cache, {usage.cache_write:,} into it"
    )
    limit = chat.screen.context_limit or chat.session.model.info.context_tokens
    chat.say(f"Context: {chat.screen.context_tokens:,} of {limit:,} tokens")


async def _clear(chat: Chat, _rest: str) -> None:
    await chat.new_session()
    chat.say("A new session. What was learned stays known.")


async def _exit(chat: Chat, _rest: str) -> None:
    chat.leave()


COMMANDS: Final[dict[str, SlashCommand]] = {
    "help": SlashCommand("", "show this list", _help),
    "mode": SlashCommand("[MODE]", "default, plan, accept_edits, bypass, dont_ask", _mode),
    "plan": SlashCommand("", "plan first, change nothing", _plan),
    "think": SlashCommand("[none|deep|ultra]", "how much the model thinks", _think),
    "model": SlashCommand("[NAME]", "show or change the model", _model),
    "compact": SlashCommand("[WHAT MATTERS]", "make the conversation shorter now", _compact),
    "memory": SlashCommand("[QUESTION]", "what was told from memory, or ask it", _memory),
    "remember": SlashCommand("TEXT", "store a memory", _remember),
    "flag": SlashCommand("[ID] [REASON]", "flag a memory as wrong; the latest by default", _flag),
    "todos": SlashCommand("", "the agent's list", _todos),
    "tools": SlashCommand("", "the agent's tools", _tools),
    "cost": SlashCommand("", "tokens so far", _cost),
    "clear": SlashCommand("", "begin a new session", _clear),
    "exit": SlashCommand("", "leave", _exit),
}
