"""Run a call for at most so many seconds, whatever it does.

The thread of a call that takes longer runs to its end and its result is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from wellkept.core.errors import ProviderError, WellkeptError

_Result = TypeVar("_Result")


def call_within(seconds: float, call: Callable[[], _Result], *, what: str) -> _Result:
    """The result of `call`; ProviderError when it is not there in time or the call broke."""
    results: list[_Result | WellkeptError] = []

    def work() -> None:
        try:
            results.append(call())
        except WellkeptError as error:
            results.append(error)

    thread = threading.Thread(target=work, name="wellkept-time-limit", daemon=True)
    thread.start()
    thread.join(seconds)
    if not results:
        problem = f"was not done within {seconds:g} s" if thread.is_alive() else "broke"
        raise ProviderError(f"{what} {problem}.", cause="busy")
    if isinstance(results[0], WellkeptError):
        raise results[0]
    return results[0]
