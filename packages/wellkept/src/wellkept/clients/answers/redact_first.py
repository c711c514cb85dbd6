"""Takes the secrets out of a payload before the hook writes it, when the setting asks for that.

Imported only then: it costs the hook several times its usual time. The rules are imported here
because the hook process has no caller that could pass them in.
"""

from __future__ import annotations

from wellkept.clients.answers import startup
from wellkept.store.spool import REDACT_NAME


def redacted(state: str, payload: bytes) -> bytes:
    """The payload without its secrets. Raises when that fails: then nothing may be written."""
    startup.install()
    from wellkept.text.secrets.known_values import read_known, use_known
    from wellkept.text.secrets.redaction import redact_payload

    use_known(read_known(_known_file(state)))
    return redact_payload(payload)


def _known_file(state: str) -> str:
    """Where the hashes of known values are; the mark in the state folder says it."""
    try:
        with open(f"{state}/{REDACT_NAME}", encoding="utf-8") as file:  # noqa: PTH123
            return file.read()
    except FileNotFoundError:
        return ""
