"""Drains the spool of this user and learns from the sessions in it.

The drain itself is in `observe.observer.drain`. What is learned may belong to other projects than
the open one.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.doors import find_plugin
from wellkept.core.errors import WellkeptError
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.observe.ingest.drain import DrainReport, Translate
from wellkept.observe.observer.drain import drain_spool, summarize_and_learn
from wellkept.observe.observer.spool_folder import SpoolFolder, SpoolStatus

if TYPE_CHECKING:
    from wellkept.api.plugins import TeamPlugin
    from wellkept.api.wellkept import Wellkept
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.skills.library.api import Skills

_MOST_FILES = 5_000
"""A code graph of more files is built only when a person asks for it."""


def drain_and_learn(
    wk: Wellkept, *, translate: Translate, environment: Mapping[str, str] | None = None
) -> DrainReport:
    """Drain this user's spool, unless another process does, then summarize, learn, and share with
    the team's servers whose time has come."""
    report = drain_spool(
        wk.engine,
        wk.settings,
        translate=translate,
        environment=environment,
        database=wk.path,
    )
    learned = learn_more(wk, summarize_and_learn(wk, report), environment=environment)
    env = os.environ if environment is None else environment
    # What an ended session taught is shared now: perhaps nothing runs here for days.
    team: TeamPlugin | None = find_plugin("team")
    if team is not None:
        team.sync_due(wk.engine, environment=env, at_once=bool(report.due))
    return learned


def learn_more(
    wk: Wellkept, report: DrainReport, *, environment: Mapping[str, str] | None = None
) -> DrainReport:
    """Rate the skills that finished sessions used, look for new ones, and read again what they
    changed in the code. By rule, no model."""
    if not report.due:
        return report
    from wellkept.skills.library.learn import learn_from

    env = os.environ if environment is None else environment

    @contextmanager
    def skills_of(session: SessionRecord) -> Generator[Skills]:
        with _home_of(wk, session, env) as home:
            yield home.skills

    learned = learn_from(wk.services, report.due, skills_of=skills_of)
    problems = (*report.problems, *learned.problems, *_refreshed(wk, report.due, env))
    return replace(report, problems=problems)


def _refreshed(
    wk: Wellkept, session_ids: Sequence[str], environment: Mapping[str, str]
) -> Iterator[str]:
    """Bring the code graph of each project up to date, and keep the summaries of its skills for
    hooks that answer alone; yields what went wrong."""
    from wellkept.skills.library.select import keep_summaries

    found = map(wk.engine.store.get_session, session_ids)
    for session in {one.project: one for one in found if one is not None}.values():
        try:
            with _home_of(wk, session, environment) as home:
                if _reads_code(home):
                    home.code_graph.build(workers=1)
                keep_summaries(home.engine.store, home.project, home.skills.index())
        except WellkeptError as error:
            yield f"The code graph of {session.project} was not refreshed: {error.message}"


def _reads_code(home: Wellkept) -> bool:
    """Whether the code graph is kept up to date: where there is one, and from the first session on
    in a repository of usual size, unless a person began with `init`, which builds it or not."""
    if home.services.read_only or home.code_graph.is_built:
        return not home.services.read_only
    from wellkept.graph.index.source_files import list_files
    from wellkept.observe.imports.notes import CLIENT_NOTES, Intake
    from wellkept.project.resolver import repository_of

    marks = Intake.of(home.engine, home.project).marks
    return (
        home.has_own_folder
        and all(key.startswith(CLIENT_NOTES) for key in marks)
        and repository_of(home.root) is not None
        and len(list_files(home.root)) <= _MOST_FILES
    )


@contextmanager
def _home_of(
    wk: Wellkept, session: SessionRecord, environment: Mapping[str, str]
) -> Generator[Wellkept]:
    """The project that a session belongs to, in the same store."""
    if session.project == wk.project:
        yield wk
        return
    from wellkept.api.wellkept import open as open_memory

    folder = Path(session.cwd) if session.cwd and Path(session.cwd).is_dir() else wk.root
    with open_memory(
        wk.services.location,
        project=session.project,
        cwd=folder,
        settings=wk.settings,
        embedder=wk.engine.embedder() or "none",
        clock=wk.engine.clock,
        environment=environment,
    ) as home:
        yield home


def retry_events(
    wk: Wellkept, *, translate: Translate, environment: Mapping[str, str] | None = None
) -> DrainReport:
    """Retry events that were set aside, and clear the record of dropped ones."""
    spool = SpoolFolder.of(os.environ if environment is None else environment)
    with spool.draining() as locked:
        if not locked:
            return DrainReport(busy=True)
        spool.bring_back()
        spool.clear_dropped()
    return drain_and_learn(wk, translate=translate, environment=environment)


def spool_status(store: Store, *, environment: Mapping[str, str] | None = None) -> SpoolStatus:
    """Events waiting in the spool, dropped ones, and those set aside."""
    spool = SpoolFolder.of(os.environ if environment is None else environment)
    return spool.status(store)
