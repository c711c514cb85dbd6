"""What a person typed before, in a file that holds no secrets and that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from prompt_toolkit.history import FileHistory

from wellkept.core.text import clean
from wellkept.text.secrets.redaction import redact


class PromptHistory(FileHistory):
    """The lines of earlier sessions. A line of this one can be called back as it was typed."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Keep a line."""
        super().store_string(redact(clean(string)).text)
