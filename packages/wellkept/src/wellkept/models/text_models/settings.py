"""Which chat models there are, which one the settings ask for, and what it would need.

A registry of short names: endpoints are asked over HTTP, clients are the user's own programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.core.records import field, record
from wellkept.models.http.client import NO_RETRIES, Endpoint

if TYPE_CHECKING:
    from wellkept.core.ports.models import ChatModel

NONE = "none"
ENDPOINTS = ("ollama", "openai", "anthropic")
CLIENTS = ("claude", "codex", "gemini", "opencode")
CHOICES = (NONE, *ENDPOINTS, *CLIENTS)
_OPENAI_KEY = "OPENAI_API_KEY"


@record(kw_only=True)
class ChatChoice:
    """The chat model in the settings. `folder` is private to headless clients."""

    provider: str = NONE
    folder: Path
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    command: str | None = None
    timeout_s: float = 60.0

    @property
    def is_client(self) -> bool:
        """Whether it is one of the user's clients, which takes seconds to start."""
        return self.provider in CLIENTS


@record
class ChatStatus:
    """Whether a chat model can be used on this machine, and why (not)."""

    name: str
    available: bool
    reason: str


def open_chat_model(choice: ChatChoice, environment: Mapping[str, str]) -> ChatModel | None:
    """The chosen model, not contacted yet; None when none is chosen. ProviderError when the
    settings lack something."""
    if choice.provider == NONE:
        return None
    if choice.is_client:
        from wellkept.models.headless.clients import headless_client
        from wellkept.models.headless.model import HeadlessModel

        return HeadlessModel(
            headless_client(choice.provider),
            folder=choice.folder,
            environment=environment,
            command=choice.command,
            model=choice.model,
            limit_s=choice.timeout_s,
        )
    return _open_endpoint(choice, environment)


def available_models(choice: ChatChoice, environment: Mapping[str, str]) -> list[ChatStatus]:
    """What could be chosen on this machine; nothing leaves it to find out."""
    return [
        *(_client_status(name, environment) for name in CLIENTS),
        _ollama_status(choice, environment),
        _key_status("openai", _OPENAI_KEY, environment),
        _key_status("anthropic", "ANTHROPIC_API_KEY", environment),
    ]


def _open_endpoint(choice: ChatChoice, environment: Mapping[str, str]) -> ChatModel:
    if choice.provider == "ollama":
        from wellkept.models.embedders.ollama import server_url
        from wellkept.models.text_models.ollama import DEFAULT_MODEL, OllamaChatModel

        endpoint = _endpoint(choice, choice.base_url or server_url(environment), None)
        return OllamaChatModel(endpoint, model=choice.model or DEFAULT_MODEL)
    if choice.provider == "anthropic":
        from wellkept.models.text_models import anthropic

        key = None if choice.base_url else environment.get(anthropic.KEY_VARIABLE)
        endpoint = _endpoint(choice, choice.base_url or anthropic.DEFAULT_URL, key)
        return anthropic.AnthropicChatModel(endpoint, model=choice.model or anthropic.DEFAULT_MODEL)
    from wellkept.models.text_models.openai import DEFAULT_URL, OpenAIChatModel

    if not choice.model:
        raise ProviderError(
            "The text model has no name.", hint="Run `wellkept config set text_model.name NAME`."
        )
    # A key in the environment belongs to the vendor: another server must not get it.
    key = None if choice.base_url else environment.get(_OPENAI_KEY)
    return OpenAIChatModel(
        _endpoint(choice, choice.base_url or DEFAULT_URL, key), model=choice.model
    )


def _endpoint(choice: ChatChoice, base_url: str, key: str | None) -> Endpoint:
    return Endpoint(
        base_url,
        api_key=choice.api_key or key or None,
        timeout_s=choice.timeout_s,
        retries=NO_RETRIES,
    )


def _client_status(name: str, environment: Mapping[str, str]) -> ChatStatus:
    if which(name, path=environment.get("PATH")) is None:
        return ChatStatus(name, False, f"{name} is not installed")
    return ChatStatus(name, True, f"uses your login of {name}; no key")


def _ollama_status(choice: ChatChoice, environment: Mapping[str, str]) -> ChatStatus:
    from wellkept.models.availability import is_listening
    from wellkept.models.embedders.ollama import server_url

    own = choice.base_url if choice.provider == "ollama" else None
    server = Endpoint(own or server_url(environment))
    if not server.is_loopback:
        return ChatStatus("ollama", True, f"{server.shown_url} is another machine; not contacted")
    if is_listening(server):
        return ChatStatus("ollama", True, f"a server answers at {server.shown_url}; free and local")
    return ChatStatus("ollama", False, f"no Ollama server at {server.shown_url}")


def _key_status(name: str, variable: str, environment: Mapping[str, str]) -> ChatStatus:
    has_key = bool(environment.get(variable))
    reason = f"uses the key in {variable}" if has_key else f"needs {variable} or text_model.api_key"
    return ChatStatus(name, has_key, reason)
