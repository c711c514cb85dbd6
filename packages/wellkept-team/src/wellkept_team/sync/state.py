"""What a laptop knows of its team's server: the choice, how far both are, and how it went last.

One remote for each project, in the store. The token lies in a file of its own that only the user
may read, never in the store: backups and exports do not hold it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from wellkept.core.codec import record_from_json, record_to_json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.ports.store import KeyValueStore
from wellkept.core.records import record
from wellkept.core.settings import paths
from wellkept.core.types import MemoryType, Scope
from wellkept_team.sharing.push import SCOPES
from wellkept_team.sharing.shared_file import SHARED_TYPES

NAMESPACE = "remotes"
FOLDER = "remotes"
MAX_TOKEN_CHARS = 4_096


class Condition(StrEnum):
    """How a remote is doing."""

    NEW = "new"
    OK = "ok"
    OFFLINE = "offline"
    """No connection, or it broke off; tried again by itself."""
    LOGIN = "login"
    """The token is not accepted; somebody has to act."""
    FORBIDDEN = "forbidden"
    """The token's role does not suffice; pulling may still work."""
    BUSY = "busy"
    """The server asked to wait."""
    FAILING = "failing"
    """The server failed, or answered with something unusable; tried again by itself."""
    LOCAL = "local"
    """This machine could not write, for example because its disk is full."""


NEEDS_PERSON = (Condition.LOGIN, Condition.FORBIDDEN)
READER = "reader"


@record(kw_only=True)
class Remote:
    """The remote of a project."""

    url: str
    project: str
    """The project's name on the server."""
    scopes: tuple[Scope, ...] = SCOPES
    types: tuple[MemoryType, ...] = SHARED_TYPES
    person: str = ""
    role: str = ""
    log: str = ""
    cursor: int = 0
    """How far the server's changes were taken in."""
    looked_at: int = -1
    """How far the local activity was looked at; -1 means to look at everything."""
    again: tuple[str, ...] = ()
    """Memories to look at again: somebody said the same, but theirs does not hold here yet."""
    condition: Condition = Condition.NEW
    problem: str | None = None
    failures: int = 0
    next_at: datetime | None = None
    synced_at: datetime | None = None
    skew_s: float = 0.0
    """How far this machine's clock is behind the server's."""
    handoffs: str = ""
    """The mark of the hand-overs that were fetched."""
    refused: tuple[str, ...] = ()
    """Memories that may not leave, with the reason."""


def advice(remote: Remote) -> str | None:
    """What somebody has to do; None when it goes on by itself."""
    match remote.condition:
        case Condition.LOGIN:
            return (
                "The token is not accepted: it expired, was exchanged or was revoked. Nothing is"
                f" lost. With a new one: wellkept team join {remote.url}"
            )
        case Condition.FORBIDDEN:
            return (
                "The role of the token does not suffice. Nothing is lost. Ask an administrator,"
                f" then: wellkept team join {remote.url}"
            )
        case _:
            return None


def get_remote(store: KeyValueStore, project: str) -> Remote | None:
    """The remote of a project."""
    value = store.get_value(NAMESPACE, project)
    return record_from_json(Remote, value) if isinstance(value, dict) else None


def all_remotes(store: KeyValueStore) -> dict[str, Remote]:
    """Every remote, by project."""
    found = store.values(NAMESPACE)
    return {
        name: record_from_json(Remote, value)
        for name, value in found.items()
        if isinstance(value, dict)
    }


def put_remote(store: KeyValueStore, project: str, remote: Remote | None) -> None:
    """Set the remote of a project; None forgets it."""
    store.put_value(NAMESPACE, project, None if remote is None else record_to_json(remote))


def is_due(remote: Remote, now: datetime, *, longest: timedelta) -> bool:
    """Whether it is time. A clock that was set back does not make it wait for long."""
    wait = timedelta(0) if remote.next_at is None else remote.next_at - now
    return wait <= timedelta(0) or wait > longest


# -- The token ------------------------------------------------------------------------------------


def token_file(environment: Mapping[str, str], url: str) -> Path:
    """The file of the token for a server."""
    name = sha256(url.encode("utf-8", "replace")).hexdigest()[:24]
    return paths.data_folder(environment) / FOLDER / f"{name}.token"


def put_token(environment: Mapping[str, str], url: str, token: str) -> Path:
    """Keep the token for a server, readable only by this user."""
    text = token.strip()
    if not text or len(text) > MAX_TOKEN_CHARS or not text.isascii() or not text.isprintable():
        raise UsageError("This is no token.", hint="Copy it again, as one line.")
    path = token_file(environment, url)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        paths.make_private_folder(path.parent)
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text + "\n")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"The token cannot be kept in {path}: {error.strerror}.") from None
    return path


def get_token(environment: Mapping[str, str], url: str) -> str:
    """The token for a server."""
    path = token_file(environment, url)
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        raise NotFoundError(
            "There is no token for this server.", hint=f"Run `wellkept team join {url}` again."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The token file {path} cannot be read: {error}.") from None


def drop_token(environment: Mapping[str, str], url: str) -> None:
    """Forget the token for a server."""
    token_file(environment, url).unlink(missing_ok=True)
