"""The MCP servers of a user and of a project, for the agent.

The user's own stand in `mcp.json` beside the settings, those of a project in its `.mcp.json`;
others in files that the caller names. Where names are the same, those that were named win, then
the user's. Which of a project's servers may start is kept with the user's data, for this folder
and exactly these words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

from wellkept.core.errors import UsageError
from wellkept.core.settings import paths
from wellkept.skills.hooks.trust import TrustFile
from wellkept_agent.mcp_client.config import McpServer, read_servers
from wellkept_agent.settings import McpSettings

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.api.wellkept import Wellkept
    from wellkept.core.ports.skills import PromptDefinition, PromptSource
    from wellkept.skills.library.api import Skills
    from wellkept_agent.hooks import Capability
    from wellkept_agent.wiring.settings import AgentSettings

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
    from wellkept_agent.mcp_client.capability import McpServers

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
