"""The token of a data folder: one file that only its owner can read, made on first use."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from hashlib import sha256
from pathlib import Path
from typing import Final

from wellkept.core.errors import UsageError
from wellkept.core.settings.paths import make_private_folder

TOKEN_NAME: Final = "server.token"
_TOKEN_BYTES = 32
_FOR_AGENTS: Final = b"wellkept agent token"


def token_of(folder: Path) -> str:
    """The token of this data folder, created on first use."""
    path = folder / TOKEN_NAME
    try:
        make_private_folder(folder)
        _make(path)
        _require_private(path)
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The token file {path} cannot be used: {error}.") from None
    if len(token) < _TOKEN_BYTES:
        raise UsageError(f"The token file {path} holds no token.", hint="Remove it.")
    return token


def agent_token(token: str) -> str:
    """The token for agents: it opens the server's own project only, and speaks for no person."""
    return hmac.new(token.encode(), _FOR_AGENTS, sha256).hexdigest()


class TokenFile:
    """The token of a data folder as it is now: a new one counts at once, the old one no longer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: tuple[int, int] | None = None
        self._token = ""

    def __call__(self) -> str:
        """The token; UsageError when its file cannot be used."""
        try:
            found = (self._folder / TOKEN_NAME).stat()
            now = (found.st_ino, found.st_mtime_ns)
        except OSError:
            now = None
        if now is None or now != self._seen:
            self._token, self._seen = token_of(self._folder), now
        return self._token


def rotate_token(folder: Path) -> Path:
    """Replace the token; returns its file. Servers that run take the new one at once."""
    path = folder / TOKEN_NAME
    draft = _draft(path)
    try:
        make_private_folder(folder)
        _write_token(draft)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"The token file {path} cannot be written: {error}.") from None
    return path


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")


def _write_token(path: Path) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")


def _make(path: Path) -> None:
    """Create the token file; safe against concurrent processes."""
    if path.exists():
        return
    draft = _draft(path)
    _write_token(draft)
    try:
        # Linking fails if the file exists, so the first process wins.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _require_private(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(
            f"Others on this machine may read the token file {path}.",
            hint="Remove it; a new token is made at the next start.",
        )
