"""Check each embedding tier: is it available, and if not, why.

Tiers, best first: a local Ollama server, an OpenAI-compatible service, a downloaded model, MiniLM,
the static model.
Invariants: only a server on this machine is contacted, for at most 150 ms; a key is never shown;
each status carries a reason that a person can act on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from wellkept.core.errors import ProviderError
from wellkept.models.downloaded_models import usable_model
from wellkept.models.embedders import remote
from wellkept.models.embedders.settings import (
    AUTOMATIC,
    BUNDLED,
    EMBEDDERS,
    EmbeddingChoice,
    TierStatus,
    chosen_model,
)
from wellkept.models.http import NO_RETRIES, Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROBE_TIMEOUT_S = 0.15
_KEY_VARIABLE = "OPENAI_API_KEY"


def detect(choice: EmbeddingChoice, environment: Mapping[str, str]) -> list[TierStatus]:
    """The status of every tier, best first."""
    return [_status(tier, choice, environment) for tier in EMBEDDERS]


def endpoint_of(tier: str, choice: EmbeddingChoice, environment: Mapping[str, str]) -> Endpoint:
    """The server of a remote tier; a base URL in the settings belongs to the chosen tier."""
    if tier == "ollama":
        configured = choice.base_url if choice.name == "ollama" else None
        return Endpoint(configured or remote.server_url(environment), timeout_s=choice.timeout_s)
    return Endpoint(
        choice.base_url or remote.OPENAI_URL,
        api_key=choice.api_key or environment.get(_KEY_VARIABLE) or None,
        timeout_s=choice.timeout_s,
    )


def _status(tier: str, choice: EmbeddingChoice, environment: Mapping[str, str]) -> TierStatus:
    check = {"ollama": _check_ollama, "openai": _check_openai}.get(tier)
    try:
        if tier == "fastembed":
            name = str(chosen_model("fastembed", choice).model)
            usable_model(name, "embedding", choice.models_folder or Path("models"))
            available, reason = True, f"{name} is downloaded; used only when chosen in the settings"
        elif check is not None:
            available, reason = check(choice, environment)
        else:
            available, reason = _check_bundled(tier)
    except ProviderError as error:
        available, reason = False, str(error)
    model = chosen_model(tier, choice)
    return TierStatus(tier, available, reason, model.model_id, model.dimension)


def _check_ollama(choice: EmbeddingChoice, environment: Mapping[str, str]) -> tuple[bool, str]:
    model = str(chosen_model("ollama", choice).model)
    server = endpoint_of("ollama", choice, environment)
    if not server.is_loopback:
        return choice.name == "ollama", f"{server.shown_url} is another machine; not contacted"
    if not is_listening(server):
        return False, f"no Ollama server at {server.shown_url}"
    probe = Endpoint(server.base_url, timeout_s=_PROBE_TIMEOUT_S, retries=NO_RETRIES)
    if remote.has_model(probe, model):
        return True, f"the Ollama server at {server.shown_url} has {model}"
    return False, f"the Ollama server at {server.shown_url} lacks it; run: ollama pull {model}"


def is_listening(server: Endpoint) -> bool:
    """Whether the port is open: cheaper than importing the HTTP client to find out."""
    import socket

    parts = urlsplit(server.base_url)
    address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    try:
        with socket.create_connection(address, timeout=_PROBE_TIMEOUT_S):
            return True
    except OSError:
        return False


def _check_openai(choice: EmbeddingChoice, environment: Mapping[str, str]) -> tuple[bool, str]:
    if choice.api_key or (choice.name == "openai" and choice.base_url):
        return True, "configured for Wellkept; not contacted for this check"
    if not environment.get(_KEY_VARIABLE):
        return False, f"no API key in the settings or in {_KEY_VARIABLE}"
    if choice.name == "openai":
        return True, f"chosen in the settings, with the key in {_KEY_VARIABLE}"
    # A key meant for another program is no permission to send memories anywhere.
    return False, f"{_KEY_VARIABLE} is set, but text leaves this machine only if openai is chosen"


def _check_bundled(tier: str) -> tuple[bool, str]:
    if problem := BUNDLED[tier].problem():
        return False, problem
    note = "" if tier in AUTOMATIC else "; used only when chosen in the settings"
    return True, f"installed, with weights of the right size{note}"
