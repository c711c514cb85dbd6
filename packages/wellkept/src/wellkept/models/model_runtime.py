"""What every model that runs on this machine needs: silence towards others, and errors of ours.

ONNX Runtime reports to its maker unless told not to before it is loaded, and leaves a device id in
the home folder; the hub's client adds what it runs in to its requests.
Invariant: fastembed is imported only after `keep_quiet`.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from wellkept.core.errors import ProviderError, WellkeptError

_QUIET: Final = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY")


def keep_quiet() -> None:
    """Switch the reports of the runtime and of the hub's client off."""
    for name in _QUIET:
        os.environ[name] = "1"


@contextmanager
def running(model: str) -> Generator[None, None, None]:
    """Load or run a model; whatever its libraries raise becomes a `ProviderError`."""
    try:
        yield
    except WellkeptError:
        raise
    except Exception as error:  # every library below has errors of its own
        raise ProviderError(
            f"The model {model} failed: {first_line(error)}", hint="Run: wellkept doctor"
        ) from error


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its kind."""
    return str(error).strip().split("\n", 1)[0][:200] or type(error).__name__
