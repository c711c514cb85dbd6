"""What browser and desktop tools showed, as facts about the running application.

Open `rules.py` for what becomes a fact, `facts.py` for how it becomes a memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.changes import Change
from wellkept.core.ports.store import Store
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import SessionRecord
from wellkept.memory.engine import Engine
from wellkept.observe.methodology.hookspecs import hookimpl
from wellkept_plugins.browser.facts import browser_changes, learn_browser_facts
from wellkept_plugins.browser.sources import BrowserSources


@hookimpl
def wellkept_session_events(
    store: Store, session: SessionRecord, events: Sequence[Event]
) -> list[Change]:
    """The facts of a session so far."""
    return browser_changes(store, session, events)


@hookimpl
def wellkept_session_learned(engine: Engine, session: SessionRecord) -> None:
    """Save the facts of a session as memories."""
    learn_browser_facts(
        engine,
        project=session.project,
        session_id=session.id,
        find_files=BrowserSources(session.cwd).files_of,
    )
