"""MCP servers as a capability: connected when a session starts, ended with it.

Servers that came with a project start only when they are trusted or the person says yes. One that
does not start is reported, and the session goes on without it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol
from weakref import WeakSet

from wellkept.core.errors import UsageError, WellkeptError
from wellkept.core.ports.skills import PromptDefinition
from wellkept.core.settings import paths
from wellkept.skills.documents.fields import usable_name
from wellkept.skills.hooks.trust import TrustFile
from wellkept_agent.hooks import Capability
from wellkept_agent.mcp_client.config import McpServer, read_servers
from wellkept_agent.permissions import Decision, PermissionRequest
from wellkept_agent.settings import McpSettings

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.api.wellkept import Wellkept
    from wellkept.core.ports.skills import PromptDefinition, PromptSource
    from wellkept.skills.library.api import Skills
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.mcp_client.config import McpServer
    from wellkept_agent.mcp_client.toolset import McpToolset
    from wellkept_agent.session import AgentSession
    from wellkept_agent.tools.base import Tool
    from wellkept_agent.wiring.settings import AgentSettings


_ASKING_S = 300.0


class ServerTrust(Protocol):
    """Which servers of projects a person allowed to start, for good."""

    def is_trusted(self, server: McpServer) -> bool: ...

    def trust(self, server: McpServer) -> None: ...


class McpServers(Capability):
    """Connects servers for one session. `on_prompts` is given the prompts of all, for skills;
    `problems` are those of the files that servers were read from."""

    name: ClassVar[str] = "mcp"

    def __init__(
        self,
        servers: Iterable[McpServer],
        *,
        settings: McpSettings | None = None,
        trust: ServerTrust | None = None,
        environment: Mapping[str, str] | None = None,
        on_prompts: Callable[[PromptSource], None] | None = None,
        problems: Iterable[str] = (),
    ) -> None:
        self.settings = settings or McpSettings()
        self.time_limit_s = self.settings.connect_time_limit_s * 2 + _ASKING_S
        self._servers = tuple(servers)
        self._trust = trust
        self._environment = os.environ if environment is None else environment
        self._on_prompts = on_prompts
        self._problems = tuple(problems)

    def attach(self, session: AgentSession) -> None:
        """Make the toolset over the session's registry."""
        from wellkept_agent.mcp_client.toolset import McpToolset  # the SDK takes a second

        self._session = session
        self.toolset = McpToolset(
            session.tools,
            root=session.root,
            settings=self.settings,
            environment=self._environment,
            report=session.report,
        )

    def for_subagent(self) -> Capability:
        """A sub-agent uses the servers that are connected; it starts none."""
        return _SharedTools(self.toolset)

    async def on_session_start(self, context: HookContext) -> None:
        """Connect to all servers side by side."""
        if not self.settings.enabled:
            return
        for problem in self._problems:
            self._session.report("mcp", problem)
        # One question after another: a person cannot answer two at once.
        allowed = [server for server in self._servers if await self._may_start(server)]
        await asyncio.gather(*map(self._connect, allowed))
        if self._on_prompts is not None:
            self._on_prompts(self.toolset)

    async def served_prompt(self, skill: str, arguments: str) -> str | None:
        """The text of a prompt that became a skill; None when none did."""
        return await _served(self.toolset, skill, arguments)

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """End all servers."""
        await self.toolset.close()

    async def _connect(self, server: McpServer) -> None:
        try:
            await self.toolset.connect(server)
        except WellkeptError as error:
            self._session.report(f"mcp:{server.name}", str(error))

    async def _may_start(self, server: McpServer) -> bool:
        """Whether a server may start: the user's own may, a project's after a yes."""
        if not server.from_project:
            return True
        if not self.settings.project_servers:
            return False
        if self._trust is not None and self._trust.is_trusted(server):
            return True
        decision = await self._session.person.permit(
            PermissionRequest(
                tool=f"mcp:{server.name}",
                arguments=server.shown,
                reason=f"start the MCP server {server.name!r} that this project brings",
                preview=server.shown,
                rule=f"mcp:{server.name}",
            )
        )
        if decision is Decision.DENY:
            self._session.report(
                f"mcp:{server.name}", "The server comes with the project and was not allowed."
            )
            return False
        if decision is Decision.ALLOW_ALWAYS and self._trust is not None:
            self._trust.trust(server)
        return True


class _SharedTools(Capability):
    """The tools of a parent's servers."""

    name: ClassVar[str] = "mcp"

    def __init__(self, toolset: McpToolset) -> None:
        self._toolset = toolset

    def for_subagent(self) -> Capability:
        return _SharedTools(self._toolset)

    def tools(self) -> Sequence[Tool]:
        return self._toolset.tools()

    async def served_prompt(self, skill: str, arguments: str) -> str | None:
        """The text of a prompt that became a skill; None when none did."""
        return await _served(self._toolset, skill, arguments)


async def _served(toolset: McpToolset, skill: str, arguments: str) -> str | None:
    prompt = prompt_of(skill, toolset.prompts())
    if prompt is None:
        return None
    return await toolset.prompt(prompt.server, prompt.name, prompt_arguments(prompt, arguments))


# -- Prompts of servers as skills: which prompt a skill is, and its arguments ---------------------


def prompt_of(skill: str, prompts: Iterable[PromptDefinition]) -> PromptDefinition | None:
    """The prompt that became a skill of this name."""
    return next((one for one in prompts if usable_name(f"{one.server}:{one.name}") == skill), None)


def prompt_arguments(prompt: PromptDefinition, typed: str) -> Mapping[str, str]:
    """What was typed after a skill's name, by argument; UsageError when one is missing."""
    names = [one.name for one in prompt.arguments]
    given: dict[str, str] = {}
    loose: list[str] = []
    for word in _words(typed):
        name, separator, value = word.partition("=")
        if separator and name in names and name not in given:
            given[name] = value
        else:
            loose.append(word)
    free = [name for name in names if name not in given]
    for name in free[:-1]:
        if loose:
            given[name] = loose.pop(0)
    if free and loose:
        given[free[-1]] = " ".join(loose)
    missing = [one.name for one in prompt.arguments if one.required and one.name not in given]
    if missing:
        raise UsageError(
            f"/{prompt.server}:{prompt.name} needs {', '.join(missing)}.",
            hint=f"Write: /{prompt.server}:{prompt.name} {' '.join(f'<{name}>' for name in names)}",
        )
    return given


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError:  # an apostrophe in plain text
        return typed.split()


# -- The servers of a user and of a project --------------------------------------------------------


USER_FILE = "mcp.json"
PROJECT_FILE = ".mcp.json"
TRUST_FILE = "mcp-trust.json"


def server_capability(
    wk: Wellkept, settings: AgentSettings, named: Sequence[Path] = ()
) -> Callable[[], Capability] | None:
    """Makes the capability of a session; None when there are no servers. A file that was named and
    cannot be read is an error, not a report."""
    limits = settings.read(McpSettings)
    if not limits.enabled:
        return None
    environment = wk.services.environment
    user_file = paths.config_file(environment).parent / USER_FILE
    found, problems = known_servers(user_file, wk.root / PROJECT_FILE)
    by_name = {one.name: one for one in found}
    for path in named:
        by_name |= {one.name: one for one in _named_servers(path)}
    servers = list(by_name.values())
    if not servers and not problems:
        return None
    return partial(
        McpServers,
        servers,
        settings=limits,
        trust=ProjectServerTrust(paths.data_folder(environment) / TRUST_FILE, wk.root),
        environment=environment,
        on_prompts=_ServerPrompts(wk.skills).add,
        problems=problems,
    )


def known_servers(user_file: Path, project_file: Path) -> tuple[list[McpServer], list[str]]:
    """All servers by name, and what is wrong with the files."""
    found: dict[str, McpServer] = {}
    problems: list[str] = []
    for path, from_project in ((project_file, True), (user_file, False)):
        try:
            found |= {one.name: one for one in read_servers(path, from_project=from_project)}
        except UsageError as error:
            problems.append(str(error))
    return list(found.values()), problems


def _named_servers(path: Path) -> list[McpServer]:
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint="Name a JSON file with mcpServers.")
    return read_servers(path)


class _ServerPrompts:
    """The prompts of the servers of all running sessions, as one source of skills."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._sources: WeakSet[PromptSource] = WeakSet()
        self._is_connected = False

    def add(self, source: PromptSource) -> None:
        """Add those of a session; they go with it."""
        self._sources.add(source)
        if not self._is_connected:
            self._is_connected = True
            self._skills.connect_prompts(self)

    def prompts(self) -> Sequence[PromptDefinition]:
        """All prompts; of two with the same name the first."""
        found: dict[tuple[str, str], PromptDefinition] = {}
        for source in self._sources:
            for one in source.prompts():
                found.setdefault((one.server, one.name), one)
        return list(found.values())


class ProjectServerTrust:
    """`ServerTrust` over a file that only its owner can write."""

    def __init__(self, path: Path, root: Path) -> None:
        self._file = TrustFile(path)
        self._root = root

    def is_trusted(self, server: McpServer) -> bool:
        """Whether the person said yes to exactly this server in this folder."""
        return self._file.trusted(self._root).get(server.name) == server.fingerprint

    def trust(self, server: McpServer) -> None:
        """Keep the person's yes."""
        self._file.trust(self._root, server.name, server.fingerprint)
