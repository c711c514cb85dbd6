"""How a model is reached and how long it may take."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

from wellkept.core.records import field, record


@record(kw_only=True)
class RetryPolicy:
    """How often a call is tried before its first chunk, and how long to wait in between."""

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def wait_before(self, attempt: int, *, retry_after_s: float | None) -> float | None:
        """Seconds until the next attempt: what the server says, or twice as long each time. None
        when the server wants a longer wait than is allowed."""
        if retry_after_s is not None:
            return retry_after_s if retry_after_s <= self.longest_wait_s else None
        backoff_s = self.first_wait_s * 2 ** (attempt - 1)
        # Clients that failed together should not come back together.
        return min(backoff_s, self.longest_wait_s) * random.uniform(0.75, 1.0)


@record(kw_only=True)
class AgentModelSettings:
    """A model's address, key and limits. None means what the vendor's row says.

    `silence_s` is the longest wait for the next piece of an answer, `total_s` for all of it.
    `models_file` is the user's own table of models.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    connect_s: float = 10.0
    silence_s: float = 300.0
    total_s: float = 1_800.0
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    models_file: Path | None = None
