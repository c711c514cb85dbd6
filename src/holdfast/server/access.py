"""Who may talk to a server on this machine: whoever can read the token file.

Loopback alone keeps no other user of the machine out, and no web page that a browser has open.
The token is made once, in a file that only its owner can read.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

from holdfast.app.places import make_private_folder
from holdfast.core.errors import UsageError

TOKEN_NAME = "server.token"
_TOKEN_BYTES = 32

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def token_of(folder: Path) -> str:
    """The token kept in that folder, made when there is none yet."""
    path = folder / TOKEN_NAME
    try:
        make_private_folder(folder)
        _make(path)
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The token file {path} cannot be used: {error}.") from None
    if len(token) < _TOKEN_BYTES:
        raise UsageError(f"The token file {path} holds no token.", hint="Remove it.")
    return token


def _make(path: Path) -> None:
    """Make the file with a token in it; another process may be doing the same."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
    try:
        # A link fails when the file is there, so the first of two processes wins.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def with_token(app: App, token: str) -> App:
    """The app, for requests that carry the token; others get 401 and nothing else."""
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not hmac.compare_digest(_authorization(scope), wanted):
            await _refuse(send)
            return
        await app(scope, receive, send)

    return checked


def _authorization(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"authorization"), b"")


async def _refuse(send: Send) -> None:
    headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    body = f"Send the token in {TOKEN_NAME} as a bearer token.\n".encode()
    await send({"type": "http.response.body", "body": body})
