"""Skills that the team's server gives to everybody, as they were at the last sync."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wellkept.core.ports.skills import StoredSkill

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.ports.store import KeyValueStore

NAMESPACE = "team.skills"


def keep_managed_skills(store: KeyValueStore, project: str, texts: Mapping[str, str]) -> None:
    """Keep what the server gives now, by name; nothing is written when it is the same."""
    value: Json = dict(texts) if texts else None
    if store.get_value(NAMESPACE, project) != value:
        store.put_value(NAMESPACE, project, value)


class TeamSkills:
    """The kept skills of one project, as a source."""

    def __init__(self, store: KeyValueStore, project: str) -> None:
        self._store = store
        self._project = project

    def documents(self) -> list[StoredSkill]:
        """All of them, by name."""
        known = self._store.get_value(NAMESPACE, self._project)
        texts = known.items() if isinstance(known, dict) else ()
        return [
            StoredSkill(name=name, text=text)
            for name, text in sorted(texts)
            if isinstance(text, str)
        ]
