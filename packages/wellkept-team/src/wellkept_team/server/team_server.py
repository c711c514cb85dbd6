"""`wellkept serve --database`: the server of a team."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import output
from wellkept.core.settings.paths import make_private_folder
from wellkept.core.settings.sources import SettingSources, load_settings
from wellkept_team.people.memories import TeamMemories
from wellkept_team.people.open import open_team_database
from wellkept_team.people.upkeep import TeamUpkeep

if TYPE_CHECKING:
    from wellkept.api.telemetry.metrics import ServerMetrics
    from wellkept.core.errors import WellkeptError
    from wellkept.core.ports.team import TeamDatabase
    from wellkept.core.team.records import UpkeepReport

_LOG = logging.getLogger("wellkept.server")
# A reverse proxy is one client: it brings everybody's requests.
_MAX_REQUESTS = 480
_UPKEEP_EVERY = timedelta(hours=1)


def serve_team(
    database: str | None,
    *,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    folder: Path,
    is_json: bool = False,
) -> None:
    """Serve the team of a database until the process is stopped; with `is_json`, say so in the
    log."""
    from wellkept.api.cli.http_server import run_server
    from wellkept.api.server.auth import LOOPBACK_HOSTS
    from wellkept.api.server.limits import ClientLimits
    from wellkept.api.server.run import address_of, listening
    from wellkept.api.telemetry.metrics import ServerMetrics
    from wellkept_team.server.projects import TeamProjects

    make_private_folder(folder)
    settings = load_settings(SettingSources.of(os.environ, cwd=folder))
    teams = open_team_database(database, settings)
    teams.require_server_role()
    memories = TeamMemories(teams, settings=settings, folder=folder, environment=os.environ)
    metrics = ServerMetrics()
    with listening(host, port) as listener, _upkeep(teams, metrics):
        run_server(
            TeamProjects(memories, folder=folder),
            listener,
            folder=folder,
            token=None,
            people=teams.authenticate,
            hosts=frozenset({*LOOPBACK_HOSTS, *(name.lower() for name in (host, *hosts))}),
            limits=ClientLimits(max_requests=_MAX_REQUESTS),
            on_ready=_said(address_of(listener), host=host, is_json=is_json),
            metrics=metrics,
        )
    if not is_json:
        click.echo("Stopped.")


@contextmanager
def _upkeep(teams: TeamDatabase, metrics: ServerMetrics) -> Generator[None]:
    """Upkeep for as long as the server runs; told in metrics and log."""

    def done(report: UpkeepReport | None) -> None:
        gone = (report.memories, report.audit_entries) if report else (0, 0)
        metrics.upkeep_done(memories=gone[0], audit_entries=gone[1])
        if any(gone):
            _LOG.info("Upkeep deleted %d memories and %d audit entries", *gone)

    def failed(error: WellkeptError) -> None:
        metrics.upkeep_failed()
        _LOG.warning("Upkeep failed (%s); it is tried again", type(error).__name__)

    upkeep = TeamUpkeep(teams, every=_UPKEEP_EVERY, on_done=done, on_failure=failed)
    upkeep.start()
    try:
        yield
    finally:
        upkeep.stop()


def _said(address: str, *, host: str, is_json: bool) -> Callable[[], None]:
    def ready() -> None:
        if is_json:
            _LOG.info("Wellkept is at %s", address)
            return
        click.secho(f"Wellkept for your team is at {address}", bold=True)
        click.echo("People send their token: Authorization: Bearer TOKEN")
        click.echo(f'  curl -H "Authorization: Bearer $TOKEN" {address}/api/team/me')
        if host not in ("127.0.0.1", "localhost", "::1"):
            output.note("Put a proxy with TLS in front: tokens are sent unencrypted.")

    return ready
