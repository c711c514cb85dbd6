"""Checks the database file, its indexes, models, settings and spool, and repairs derived data.

Checking changes nothing and creates no database. Repair only rebuilds what is derived from the
rows; anything else is reported.
"""

from __future__ import annotations

import os
import stat
import sys
from datetime import timedelta
from shutil import disk_usage
from typing import TYPE_CHECKING

from wellkept.api.maintenance.reindex import index_version, vector_coverage
from wellkept.api.maintenance.text_model_health import text_model_health
from wellkept.core.doors import find_plugin
from wellkept.core.errors import ProviderError, StoreCorruptError, StoreError, UsageError
from wellkept.core.query import Finding
from wellkept.core.records import record, replace
from wellkept.core.settings.sources import SettingSources, inspect_settings, unknown_variables
from wellkept.core.types import Severity
from wellkept.memory.engine import INDEX_VERSION
from wellkept.observe.observer.spool_folder import SpoolFileStatus, SpoolFolder
from wellkept.store.spool import MAX_TOTAL_BYTES

if TYPE_CHECKING:
    from wellkept.api.plugins import TeamPlugin
    from wellkept.api.views.client_setup import ClientState
    from wellkept.api.wiring.services import Services
    from wellkept.core.types import Progress
    from wellkept.models.embedders.settings import TierStatus

_LITTLE_ROOM_BYTES = 16 << 20
_LATE = timedelta(hours=1)
_LATEST_SESSIONS = 500


@record
class ModelInUse:
    """The embedder in use, and how many memories have its vectors."""

    model_id: str | None
    reason: str
    vectors: int = 0
    wanted: int = 0


@record(kw_only=True)
class DoctorReport:
    """The result of all checks."""

    facts: dict[str, str]
    findings: tuple[Finding, ...] = ()
    mended: tuple[Finding, ...] = ()
    tiers: tuple[TierStatus, ...] = ()
    model: ModelInUse | None = None

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def healthy(self) -> bool:
        """Whether there are no errors; warnings are allowed."""
        return self.errors == 0


def examine(
    services: Services,
    *,
    deep: bool = False,
    repair: bool = False,
    progress: Progress | None = None,
) -> DoctorReport:
    """Run all checks."""
    from wellkept.models.registry import detect

    health = DoctorReport(
        facts={} if services.url else {"location": str(services.path)},
        findings=(
            *_settings_findings(services),
            *_read_only_findings(services),
            *_plugin_findings(services),
            *_pause_findings(services),
            *_client_findings(services),
        ),
        tiers=tuple(detect(services.embedding_choice, services.environment)),
    )
    if not services.is_there:
        return replace(health, facts={**health.facts, "state": "not there yet; nothing was kept"})
    try:
        return _with_store(services, health, deep=deep, repair=repair, progress=progress)
    except StoreError as error:
        failed = _error("store", _what_failed(services, error))
        return replace(health, findings=(*health.findings, failed))


def _with_store(
    services: Services, health: DoctorReport, *, deep: bool, repair: bool, progress: Progress | None
) -> DoctorReport:
    mended = tuple(services.store.repair(progress=progress)) if repair else ()
    findings = [*health.findings, *services.store.check(deep=deep or repair)]
    model = model_in_use(services)
    findings += [
        *_file_findings(services),
        *_disk_findings(services),
        *_index_findings(services, model),
        *_project_findings(services),
        *_spool_findings(services),
    ]
    team: TeamPlugin | None = find_plugin("team")
    if team is not None:
        findings += team.findings(services.store, services.clock())
    findings += _reranker_findings(services, deep=deep)
    findings += _code_findings(services, deep=deep)
    heard = _last_events(services)
    findings += _unheard_findings(services, heard)
    health_of_model = text_model_health(services)
    findings += [_warning("text model", told) for told in health_of_model.warnings()]
    if deep:
        findings += _weight_findings(services)
    facts = {
        **services.store.describe(),
        "size": f"{services.store.size_bytes():,} bytes",
        "memories": f"{sum(count for _, count in services.store.projects()):,}",
        "index version": str(index_version(services.store)),
        "project": services.project,
        **heard,
        **health_of_model.facts(),
    }
    return replace(health, facts=facts, findings=tuple(findings), mended=mended, model=model)


def model_in_use(services: Services) -> ModelInUse:
    """The embedder in use, why, and how many memories have its vectors."""
    try:
        embedder = services.embedder
    except ProviderError as error:
        return ModelInUse(None, str(error))
    if embedder is None:
        return ModelInUse(None, services.embedding_problem or "the settings ask for words only")
    from wellkept.models.registry import LazyEmbedder

    is_planned = isinstance(embedder, LazyEmbedder)
    reason = embedder.plan.reason if is_planned else "given by the caller"
    return ModelInUse(
        embedder.model_id, reason, *vector_coverage(services.store, embedder.model_id)
    )


def _index_findings(services: Services, model: ModelInUse) -> list[Finding]:
    found: list[Finding] = []
    if services.embedding_problem:
        found.append(_warning("embedder", f"No vectors: {services.embedding_problem}"))
    if note := services.embedding_note() if not services.embedding_problem else None:
        found.append(_warning("model", note))
    lacking = model.wanted - model.vectors if model.model_id else 0
    if lacking > 0:
        message = f"{lacking:,} memories have no vector yet; `wellkept admin reindex` makes them."
        found.append(_warning("vectors", message, count=lacking))
    if index_version(services.store) != INDEX_VERSION:
        message = "Index texts are of another version; `wellkept admin reindex` makes them anew."
        found.append(_warning("index version", message))
    return found


def _weight_findings(services: Services) -> list[Finding]:
    """Check the weights of a local model against their checksum."""
    from wellkept.models.registry import LazyEmbedder

    embedder = services.embedder
    if not isinstance(embedder, LazyEmbedder):
        return []
    try:
        embedder.verify_weights()
    except ProviderError as error:
        return [_error("weights", str(error))]
    return []


def _reranker_findings(services: Services, *, deep: bool) -> list[Finding]:
    """Look for a reranker on this machine; a server is not asked."""
    settings = services.settings
    if not settings.reranker_name or settings.reranker_base_url:
        return []
    from wellkept.api.wiring.local_models import reranker_problem

    problem = reranker_problem(settings.reranker_name, services.environment, deep=deep)
    return [_warning("reranker", f"Nothing is reranked: {problem}")] if problem else []


def _file_findings(services: Services) -> list[Finding]:
    if services.url or sys.platform == "win32":
        return []
    if not services.path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return []
    message = f"Others on this machine may read {services.path}; `chmod 600` it."
    return [_warning("permissions", message)]


def _read_only_findings(services: Services) -> list[Finding]:
    """The file, or the folder that it is or would be made in, may not be written."""
    above = next(one for one in services.path.parents if os.path.lexists(one))
    places = (above, services.path) if os.path.lexists(services.path) else (above,)
    message = "cannot be written: nothing can be kept. `chmod u+w` it, or set WELLKEPT_HOME."
    closed = () if services.url else [one for one in places if not os.access(one, os.W_OK)]
    return [_error("read-only", f"{one} {message}") for one in closed]


def _disk_findings(services: Services) -> list[Finding]:
    """A disk that is nearly full: nothing can be learned, and in the end nothing captured."""
    try:
        free_bytes = disk_usage(services.path.parent).free
    except OSError:
        return []
    if free_bytes >= _LITTLE_ROOM_BYTES:
        return []
    message = (
        f"Only {free_bytes:,} bytes are free on the disk of {services.path}: events wait in the"
        " spool, and what does not fit there is lost. Free some disk space."
    )
    return [_warning("disk", message)]


def _code_findings(services: Services, *, deep: bool) -> list[Finding]:
    """Problems of the code graph and code search files, and how to rebuild them."""
    from wellkept.store import check_derived_file

    fixes = {
        ".graph.db": "delete it and run `wellkept graph build` (only notes in it would be lost)",
        ".words.db": "delete it; the next `wellkept graph search` reads the code again",
    }
    found: list[Finding] = []
    for suffix, fix in fixes.items():
        path = services.path.with_suffix(suffix)
        finding = check_derived_file(path, deep=deep) if path.exists() else None
        if finding is not None:
            found.append(replace(finding, message=f"{finding.message} To renew {path}: {fix}."))
    return found


def _pause_findings(services: Services) -> list[Finding]:
    """Hooks that `wellkept off` silenced: the first suspect when nothing is said."""
    from wellkept.api.pause import Pauses

    return [_warning("off", one.text) for one in Pauses.of(services.environment).list()]


def _client_states(services: Services) -> tuple[ClientState, ...]:
    """The clients of this machine; none while the settings cannot be read, which is told anyway."""
    try:
        return services.client_setup.states() if services.client_setup else ()
    except UsageError:
        return ()


def _client_findings(services: Services) -> list[Finding]:
    """Clients that have Wellkept and cannot use it; those of another version."""
    found: list[Finding] = []
    for one in _client_states(services):
        if one.problem:
            found.append(_warning("clients", f"{one.client}: {one.problem}"))
        if one.state == "outdated":
            message = f"{one.client}: run `wellkept install {one.client}` again; what is in"
            found.append(_warning("clients", f"{message} {one.path} is of another version."))
    return found


def _last_events(services: Services) -> dict[str, str]:
    """When each client was last heard, as facts."""
    found: dict[str, str] = {}
    for session in services.store.sessions(project=None, limit=_LATEST_SESSIONS):
        told = f"{session.last_event_at:%Y-%m-%d %H:%M} UTC"
        found.setdefault(f"last event of {session.client}", told)
    return found


def _unheard_findings(services: Services, heard: dict[str, str]) -> list[Finding]:
    """Clients with hooks from which no event ever came."""
    states = _client_states(services)
    names = dict.fromkeys(one.client for one in states if "hooks" in one.parts)
    return [
        _warning("clients", f"{name}: its hooks are installed, but no event came from it yet.")
        for name in names
        if f"last event of {name}" not in heard
    ]


def _spool_findings(services: Services) -> list[Finding]:
    """Events that are waiting, set aside or lost; without a home folder there is no spool."""
    try:
        status = SpoolFolder.of(services.environment).status(services.store)
    except UsageError:
        return []
    found: list[Finding] = []
    if count := status.dropped_events:
        message = f"{count:,} events did not fit and are lost; see `wellkept status --spool`."
        found.append(_warning("spool", message, count=count))
    if count := status.aside_entries:
        message = f"{count:,} entries were set aside; `wellkept admin doctor --spool` tries again."
        found.append(_warning("spool", message, count=count))
    for bad in status.bad_sources:
        message = f"{bad.name} in the spool cannot be read: {bad.reason}; it was not drained."
        found.append(_warning("spool", message))
    if count := status.damaged_places:
        message = (
            f"{count:,} damaged places ({status.damaged_bytes:,} bytes) in spool files were"
            f" skipped, the latest in {status.damaged_source}; `admin doctor --spool` resets this."
        )
        found.append(_warning("spool", message, count=count))
    late = [f for f in status.files if f.waiting_bytes and _age(services, f) > _LATE]
    if late:
        message = (
            f"Events of {len(late):,} sessions wait for more than an hour: nothing drains them, and"
            " their text lies in the spool as it was captured. `wellkept admin drain` takes them"
            " in, or says why it cannot; `wellkept install CLIENT` lets hooks do it."
        )
        found.append(_warning("spool", message, count=len(late)))
    if status.waiting_bytes > MAX_TOTAL_BYTES // 2:
        message = f"{status.waiting_bytes:,} bytes wait; `wellkept admin drain` takes them in."
        found.append(_warning("spool", message))
    return found


def _age(services: Services, file: SpoolFileStatus) -> timedelta:
    return services.clock() - file.modified_at


def _project_findings(services: Services) -> list[Finding]:
    """A folder that is kept apart from the project that it names."""
    note = services.identity.note
    return [_warning("project", note)] if note else []


def _plugin_findings(services: Services) -> list[Finding]:
    """Plugins that failed, and a configured methodology that is not installed."""
    from wellkept.observe.methodology.plugins import installed_plugins

    plugins, chosen = installed_plugins(), services.settings.methodology
    found = [_warning("plugins", problem) for problem in plugins.problems]
    if chosen not in plugins.methodologies:
        message = f"The methodology {chosen!r} is not installed; native stands in for it."
        found.append(_warning("plugins", message))
    return found


def _settings_findings(services: Services) -> list[Finding]:
    sources = SettingSources.of(services.environment, cwd=services.folder)
    settings, problems = inspect_settings(sources)
    unknown = unknown_variables(services.environment)
    own = [str(problem) for problem in problems if str(problem) not in settings.warnings]
    return [
        *(_error("settings", problem) for problem in own),
        *(_warning("settings", f"Ignored: {warning}") for warning in settings.warnings),
        *(_warning("settings", f"{name} is set, but no such setting exists.") for name in unknown),
    ]


def _what_failed(services: Services, error: StoreError) -> str:
    if not isinstance(error, StoreCorruptError):
        return str(error)
    copies = sorted(
        file.name for file in services.path.parent.glob(f"{services.path.name}.before-v*")
    )
    beside = f" ({copies[-1]} beside it is one)" if copies else ""
    return (
        f"{error.message} It cannot be mended in place: put a backup there with"
        f" `wellkept admin restore FILE`{beside}, or move it away and import what was exported."
    )


def _error(check: str, message: str) -> Finding:
    return Finding(check, message, Severity.ERROR, repairable=False)


def _warning(check: str, message: str, *, count: int = 1) -> Finding:
    return Finding(check, message, Severity.WARNING, repairable=False, count=count)
