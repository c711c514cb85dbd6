"""Images of a session, as files beside its transcript.

An image is written once, under the hash of its bytes, so that a conversation that is written anew
does not repeat it. Invariant: only what is an image by its first bytes is written, since nothing
can be redacted in it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.core.chat.messages import ImagePart
from wellkept.store.spool import make_private_folder

FOLDER_NAME: Final = "images"
MAX_IMAGE_BYTES: Final = 8 << 20
MAX_SESSION_BYTES: Final = 128 << 20
_NAME: Final = re.compile(r"[0-9a-f]{40}")
_BEGINNINGS: Final = MappingProxyType(
    {
        "image/png": (b"\x89PNG\r\n\x1a\n",),
        "image/jpeg": (b"\xff\xd8\xff",),
        "image/gif": (b"GIF87a", b"GIF89a"),
        "image/webp": (b"RIFF",),
    }
)


class TranscriptImages:
    """The images of one session."""

    def __init__(self, folder: Path) -> None:
        """`folder` is that of the session."""
        self._folder = folder / FOLDER_NAME

    def keep(self, image: ImagePart) -> str | None:
        """Write an image; its name, or None when it is not one or there is no room for it."""
        raw = _bytes(image)
        if raw is None:
            return None
        name = hashlib.sha256(raw).hexdigest()[:40]
        path = self._folder / name
        if path.exists():
            return name
        if len(raw) + self._size() > MAX_SESSION_BYTES:
            return None
        try:
            make_private_folder(str(self._folder))
            temporary = path.with_suffix(f".{os.getpid()}")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                out.write(raw)
            temporary.replace(path)
        except OSError:
            return None
        return name

    def load(self, name: str, media_type: str) -> ImagePart | None:
        """An image by its name; None when it is gone or is not what was written."""
        if not _NAME.fullmatch(name) or media_type not in _BEGINNINGS:
            return None
        path = self._folder / name
        try:
            if path.stat().st_size > MAX_IMAGE_BYTES:
                return None
            raw = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(raw).hexdigest()[:40] != name:
            return None
        return ImagePart(base64.b64encode(raw).decode("ascii"), media_type)

    def _size(self) -> int:
        try:
            return sum(entry.stat().st_size for entry in os.scandir(self._folder))
        except OSError:
            return 0


def _bytes(image: ImagePart) -> bytes | None:
    if len(image.data) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        return None
    try:
        raw = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return None
    if base64.b64encode(raw).decode("ascii") != image.data:
        return None
    return raw if raw.startswith(_BEGINNINGS.get(image.media_type, ())) else None
