"""How the text model does: which it is, what it took today, why it waits, and what waits for it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.api.wiring.guarded_model import DailyUsage, ModelState, daily_usage, model_state
from wellkept.core.records import record
from wellkept.memory.engine import tokens_used_today
from wellkept.observe.model import event_log
from wellkept.observe.model.consolidation import archived_material

if TYPE_CHECKING:
    from wellkept.api.wiring.services import Services


@record(kw_only=True)
class TextModelHealth:
    """The text model of the settings; `model_id` is None when none is usable."""

    provider: str
    model_id: str | None
    problem: str | None
    state: ModelState
    usage: DailyUsage
    daily_calls: int
    tokens_today: int
    daily_tokens: int
    queued: int
    archived: int

    @property
    def is_waiting(self) -> bool:
        """Whether it is not asked for a while."""
        return self.state.not_before is not None

    def facts(self) -> dict[str, str]:
        """What to show; nothing when no model is chosen."""
        if self.provider == "none":
            return {}
        return {
            "text model": self.model_id or f"{self.provider}, not usable",
            "model calls": f"{self.usage.calls:,} of {self.daily_calls:,} today",
            "model tokens": f"{self.tokens_today:,} of {self.daily_tokens:,} today",
            "model queue": f"{self.queued:,} sessions to read",
        }

    def warnings(self) -> list[str]:
        """What a person should know or do."""
        found = [f"The text model cannot be used: {self.problem}"] if self.problem else []
        state = self.state
        if state.not_before:
            when = f"{datetime.fromisoformat(state.not_before):%Y-%m-%d %H:%M} UTC"
            found.append(
                f"The text model failed {state.failures} times in a row and is not asked before"
                f" {when}: {state.problem} Run `wellkept admin models test` to try at once."
            )
        if state.drift:
            found.append(
                f"The text model's client adds much to each prompt ({state.drift}): an update may"
                " have changed its options."
            )
        if self.archived:
            found.append(
                f"{self.archived:,} sessions wait in the raw archive until the text model answers."
            )
        return found


def text_model_health(services: Services) -> TextModelHealth:
    """The state of the text model, from the store alone: nothing is asked."""
    choice, store, settings = services.chat_choice, services.store, services.settings
    model = services.chat_model(choice)
    return TextModelHealth(
        provider=choice.provider,
        model_id=model.model_id if model else None,
        problem=services.text_model_problem,
        state=model_state(store, model.model_id) if model else ModelState(),
        usage=daily_usage(store, now=services.clock()),
        daily_calls=settings.text_model_daily_calls,
        tokens_today=tokens_used_today(services.engine),
        daily_tokens=settings.capture_daily_model_tokens,
        queued=len(event_log.waiting(store)),
        archived=len(archived_material(services.engine)),
    )
