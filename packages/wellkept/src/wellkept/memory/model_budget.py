"""The daily token budget that everything asked of a text model shares."""

from __future__ import annotations

from wellkept.core.ports.key_values import KeyValueStore
from wellkept.memory.engine import Engine

_METER = "summary_tokens"


def tokens_used_today(engine: Engine) -> int:
    """Tokens of today's requests and their maximal answers."""
    used = engine.store.get_value(_METER, _today(engine))
    return used if isinstance(used, int) else 0


def spend_tokens(engine: Engine, cost: int, *, daily_tokens: int) -> bool:
    """Spend tokens of today's budget; False when it is exhausted."""
    return engine.store.try_increment(_METER, _today(engine), cost, limit=daily_tokens)


def refund_tokens(engine: Engine, cost: int) -> None:
    """Give back tokens of a request that was not made."""
    engine.store.try_increment(_METER, _today(engine), -cost, limit=1 << 60)


def charge_tokens(store: KeyValueStore, tokens: int, *, day: str) -> None:
    """Add tokens that a request took beyond what was spent for it, whatever the budget."""
    if tokens > 0:
        store.try_increment(_METER, day, tokens, limit=1 << 60)


def _today(engine: Engine) -> str:
    return engine.clock().date().isoformat()
