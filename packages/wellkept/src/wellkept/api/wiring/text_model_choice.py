"""Choose the text model: what there is on this machine, what it costs, and write it down."""

from __future__ import annotations

from collections.abc import Mapping
from shutil import which
from time import monotonic
from typing import TYPE_CHECKING

from wellkept.api.wiring.settings_file import write_entry
from wellkept.core.errors import ProviderError
from wellkept.core.records import record
from wellkept.core.settings import paths
from wellkept.models.chat.text import (
    CHOICES,
    CLIENTS,
    ChatChoice,
    ChatStatus,
    available_models,
)
from wellkept.observe.model.consolidation import MAX_ANSWER_TOKENS
from wellkept.observe.model.event_log import CHARS_PER_TOKEN
from wellkept.observe.model.session_summaries import KNOWN_CHARS, MATERIAL_CHARS, MAX_KNOWN

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.api.wiring.services import Services
    from wellkept.core.settings.model import Settings

NAMES = CHOICES
_QUESTION = 'Answer with this JSON object and nothing else: {"ok": true}'
_CHARS_PER_TOKEN = 4
_SMALL_SESSION_CHARS = 8_000


@record
class ModelTrial:
    """A question to the text model, and what it took."""

    model_id: str
    seconds: float
    input_tokens: int | None
    output_tokens: int | None


def model_choices(environment: Mapping[str, str]) -> list[ChatStatus]:
    """What could be chosen on this machine; nothing is sent to find out."""
    folder = paths.data_folder(environment) / "model"
    return available_models(ChatChoice(folder=folder), environment)


def cost_note(settings: Settings) -> str:
    """What one session costs, about, and the daily limits."""
    events = settings.text_model_batch_tokens * CHARS_PER_TOKEN
    most = events + MATERIAL_CHARS + MAX_KNOWN * KNOWN_CHARS
    few, many = (size // _CHARS_PER_TOKEN for size in (_SMALL_SESSION_CHARS, most))
    return (
        f"One session costs about {few:,} to {round(many, -3):,} tokens and up to"
        f" {MAX_ANSWER_TOKENS:,} for the answer; at most"
        f" {settings.text_model_daily_calls:,} calls and"
        f" {settings.capture_daily_model_tokens:,} tokens a day."
    )


def save_choice(name: str, environment: Mapping[str, str]) -> Path:
    """Write the choice to the user's settings. The program of a client is written as a whole path:
    hooks start the drain with another `PATH`."""
    path = paths.config_file(environment)
    program = None
    if name in CLIENTS:
        program = which(name, path=environment.get("PATH"))
    write_entry(path, "text_model.provider", name)
    write_entry(path, "text_model.command", program)
    return path


def try_model(services: Services) -> ModelTrial:
    """Ask the text model one short question, even if it should wait after failures."""
    from wellkept.api.wiring.guarded_model import GuardedModel, clear_wait

    model = services.text_model
    if not isinstance(model, GuardedModel):
        problem = services.text_model_problem
        raise ProviderError(
            problem or "No text model is chosen.",
            hint=None if problem else "Run `wellkept config set --model NAME`.",
        )
    clear_wait(services.store, model.model_id)
    began = monotonic()
    answer = model.ask(_QUESTION, max_tokens=64)
    return ModelTrial(
        model.model_id, round(monotonic() - began, 1), answer.input_tokens, answer.output_tokens
    )
