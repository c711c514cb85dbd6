"""What one client of the HTTP server may take up: connections, time, and guesses at the token.

On loopback all clients have one address, so the limits are generous: they keep a runaway or hostile
program from using up the server, not colleagues apart.
"""

from __future__ import annotations

from collections import Counter, deque
from time import monotonic
from typing import Final

BODY_LIMIT_S: Final = 20.0
SEND_LIMIT_S: Final = 20.0
MAX_REQUESTS_PER_CLIENT: Final = 128
MAX_WRONG_TOKENS: Final = 30
WRONG_TOKENS_WITHIN_S: Final = 60.0


class ClientLimits:
    """Requests under way and wrong tokens, by the address of the client."""

    def __init__(
        self,
        *,
        max_requests: int = MAX_REQUESTS_PER_CLIENT,
        max_wrong_tokens: int = MAX_WRONG_TOKENS,
    ) -> None:
        self._max_requests = max_requests
        self._max_wrong_tokens = max_wrong_tokens
        self._open: Counter[str] = Counter()
        self._wrong: dict[str, deque[float]] = {}

    def enter(self, client: str) -> bool:
        """Count a request; False when the client has too many under way."""
        if self._open[client] >= self._max_requests:
            return False
        self._open[client] += 1
        return True

    def leave(self, client: str) -> None:
        """The end of a request that was counted."""
        self._open[client] -= 1
        if self._open[client] <= 0:
            del self._open[client]

    def wrong_token(self, client: str) -> None:
        """Count a wrong token."""
        recent = self._wrong.setdefault(client, deque(maxlen=self._max_wrong_tokens))
        recent.append(monotonic())

    def guesses(self, client: str) -> bool:
        """Whether a client has sent too many wrong tokens of late."""
        recent = self._wrong.get(client)
        if recent is None or monotonic() - recent[-1] > WRONG_TOKENS_WITHIN_S:
            self._wrong.pop(client, None)
            return False
        within = monotonic() - recent[0] <= WRONG_TOKENS_WITHIN_S
        return within and len(recent) >= self._max_wrong_tokens
