"""A conversation with the agent at the terminal.

Reads a line, runs a turn, prints what happens. Ctrl-C stops the turn and not the session; a second
one at the prompt leaves. The agent comes from `make_agent`, so that a model can be changed.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from rich.text import Text

from wellkept.api.cli.output import one_line, safe
from wellkept.core.errors import UsageError, WellkeptError
from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.core.types import parse_choice
from wellkept_agent.control import RunEnd
from wellkept_agent.permissions import PermissionMode
from wellkept_agent.session import AgentSession, RunResult

if TYPE_CHECKING:
    from rich.console import Console

    from wellkept.api.wellkept import Wellkept
    from wellkept_agent.agent import Agent
    from wellkept_agent.terminal.screen import ReadLine, Screen


# -- Commands of a chat: `/help`, `/mode`, `/flag`, … Anything else that begins with a slash ------


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


_RECORDS = frozenset({"prompt", "observation", "timeline"})
"""What is kept of sessions: nothing that anybody would call a memory."""
_MODES = (PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.PLAN)


class Chat:
    """One person, one agent, one session at a time."""

    def __init__(
        self,
        wk: Wellkept,
        make_agent: Callable[[str | None], Agent],
        screen: Screen,
        *,
        resume: str | None = None,
    ) -> None:
        self._wk = wk
        self._make_agent = make_agent
        self.screen = screen
        self._agent = make_agent(None)
        self.session = self._agent.session(resume=resume)
        self.session.listen(screen.show)
        self._is_left = False

    @property
    def console(self) -> Console:
        """Where everything is printed."""
        return self.screen.console

    def say(self, text: str, *, style: str = "") -> None:
        """Print a line."""
        self.screen.close()
        self.console.print(Text(safe(text), style=style), soft_wrap=True, highlight=False)

    # -- The conversation -------------------------------------------------------------------------

    async def run(self, read_line: ReadLine) -> None:
        """Talk until the person leaves."""
        self._greet()
        while not self._is_left:
            try:
                line = (await read_line("> ")).strip()
            except KeyboardInterrupt:
                self.say("Ctrl-D or /exit leaves.", style="dim")
                continue
            except EOFError:
                break
            if line and not (line.startswith("/") and await run_command(self, line)):
                await self.turn(line)
        await self.session.close()

    async def turn(self, prompt: str) -> RunResult:
        """Run one prompt; Ctrl-C stops it."""
        with _stopping(self.session):
            result = await self.session.run(prompt)
        self.screen.close()
        return result

    def leave(self) -> None:
        """End the conversation after this command."""
        self._is_left = True

    def _greet(self) -> None:
        info = self.session.model.info
        self.console.print(
            Text.assemble(
                ("wellkept", "bold"),
                f"  {info.provider}:{info.name}  ",
                (str(self.session.root), "dim"),
            )
        )
        counts = self._wk.stats().by_type
        known = sum(number for name, number in counts.items() if name not in _RECORDS)
        what = "memory" if known == 1 else "memories"
        said = f"{known:,} {what} of this project" if known else "Nothing is known here yet"
        resumed = len(self.session.conversation.turns)
        more = f" · resumed with {resumed} messages" if resumed else ""
        self.say(f"{said}{more} · /help shows commands", style="dim")

    # -- What commands do -------------------------------------------------------------------------

    async def new_session(self) -> None:
        """End this session and begin another."""
        await self.session.close()
        self._adopt(self._agent.session())

    def change_model(self, name: str) -> None:
        """Go on with another model."""
        self._agent = self._make_agent(name)
        self.session.model = self._agent.model

    def set_mode(self, mode: PermissionMode) -> None:
        """Change what is allowed without asking; plan mode has a capability of its own."""
        from wellkept_agent.plan_mode import PlanMode

        plan = self.session.capability(PlanMode)
        if plan is not None and mode is PermissionMode.PLAN:
            plan.enter()
        elif plan is not None and self.session.permissions.mode is PermissionMode.PLAN:
            plan.leave(approved=False)
            self.session.permissions.mode = mode
        else:
            self.session.permissions.mode = mode

    def next_mode(self) -> None:
        """The next of the three usual modes."""
        mode = self.session.permissions.mode
        at = _MODES.index(mode) if mode in _MODES else -1
        self.set_mode(_MODES[(at + 1) % len(_MODES)])

    def set_thinking(self, level: str | None) -> str:
        """Set the level of thinking, or go to the next one; returns it."""
        from wellkept_agent.thinking import Thinking, ThinkingLevel

        thinking = self.session.capability(Thinking)
        if thinking is None:
            return "not available"
        if level is None:
            thinking.state.toggle_next()
        else:
            full = level if level == "none" else f"{level.removesuffix('_think')}_think"
            thinking.state.set_level(parse_choice(ThinkingLevel, full, what="level of thinking"))
        if not self.session.model.info.thinking.levels:
            return f"none: {self.session.model.info.name} takes no level of thinking"
        return self.thinking or "as the settings say"

    def next_thinking(self) -> None:
        """The next level of thinking."""
        self.set_thinking(None)

    @property
    def thinking(self) -> str:
        """The level of thinking that was chosen in this session, as this model is sent it."""
        from wellkept_agent.thinking import Thinking

        thinking = self.session.capability(Thinking)
        if thinking is None or thinking.state.level is None:
            return ""
        return thinking.preview("").level.value.removesuffix("_think")

    async def compact(self, instructions: str) -> str:
        """Compact the conversation now; returns what came of it."""
        from wellkept_agent.compaction.capability import Compaction

        compaction = self.session.capability(Compaction)
        if compaction is None:
            return "Compaction is off."
        before = self.session.conversation.tokens
        result = await compaction.compact(instructions)
        if result.tier == "none":
            return "There is nothing to compact yet."
        return f"Compacted: about {before:,} tokens became {self.session.conversation.tokens:,}."

    def skill_commands(self) -> list[str]:
        """The names of skills that a person can call."""
        with suppress(Exception):
            return [one.name for one in self._wk.skills.commands.list()]
        return []

    def recall(self, question: str) -> list[tuple[str, str]]:
        """Memories that answer a question: citation and text."""
        return [(f"m:{hit.memory.short}", hit.memory.content) for hit in self._wk.recall(question)]

    def memory_text(self, name: str) -> str:
        """What a cited memory says."""
        return self._wk.get(name).content

    def remember(self, text: str) -> str:
        """Store a memory; returns what became of it."""
        kept = self._wk.remember(text, author="person", source="user_taught")
        return f"m:{kept.memory.short}  {one_line(kept.memory.content)}"

    def flag(self, name: str, reason: str) -> str:
        """Flag a memory that was wrong."""
        memory = self._wk.injected.flag(name, reason=reason, session=self.session.id)
        return f"m:{memory.short} is no longer told and waits for review."

    def flag_line(self) -> str | None:
        """The command that flags what was told last; None when nothing was."""
        cited = self.screen.citations
        return f"/flag {cited[-1]} " if cited else None

    def toolbar(self) -> str:
        """The state of the session in one line."""
        info = self.session.model.info
        limit = self.screen.context_limit or info.context_tokens
        share = 100 * self.screen.context_tokens / limit
        parts = [f"{info.provider}:{info.name}", f"mode {self.session.permissions.mode.value}"]
        if self.thinking:
            parts.append(f"thinking {self.thinking}")
        parts.append(f"context {share:.0f} %")
        if self.screen.citations:
            parts.append("Ctrl-G flags a wrong memory")
        return "  ·  ".join(parts)

    def _adopt(self, session: AgentSession) -> None:
        self.session = session
        session.listen(self.screen.show)


@contextmanager
def _stopping(session: AgentSession) -> Generator[None]:
    """Let Ctrl-C stop the turn while it runs."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        session.stop(RunEnd.INTERRUPTED, "stopped at the terminal")

    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except (NotImplementedError, RuntimeError, ValueError):
        # No signal handlers on this system or thread: the interrupt ends the program as usual.
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
