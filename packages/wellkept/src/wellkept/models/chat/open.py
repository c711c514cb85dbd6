"""Open a model by name: `anthropic:claude-sonnet-4-5`, `openai:gpt-5`, `ollama:qwen3`.

A name without a model takes the vendor's usual one. Nothing is sent before the first call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import replace
from wellkept.models.chat.catalog import ModelCatalog, ModelRow, load_catalog
from wellkept.models.chat.settings import AgentModelSettings
from wellkept.models.http import Endpoint

if TYPE_CHECKING:
    from wellkept.core.chat.messages import ModelChunk, ModelInfo, ModelRequest
    from wellkept.core.ports.agent_model import AgentModel
    from wellkept.models.chat.calls import Report
    from wellkept.models.chat.catalog import ProviderPreset
    from wellkept.models.chat.wire import Wire

_OLLAMA_WINDOW = "OLLAMA_CONTEXT_LENGTH"


def open_model(
    name: str,
    *,
    environment: Mapping[str, str],
    settings: AgentModelSettings | None = None,
    report: Report | None = None,
) -> AgentModel:
    """A model that is not contacted yet. UsageError for an unknown name, ProviderError when the SDK
    is missing; a missing key is told at the first call. `report` is told of retries."""
    settings = settings or AgentModelSettings()
    catalog = load_catalog(settings.models_file)
    preset, model = _parsed(name, catalog)
    endpoint = _endpoint(preset, settings, environment)
    needs_key = preset.needs_key and not (endpoint.is_loopback or settings.base_url)
    problem = None if endpoint.api_key or not needs_key else _no_key(preset)

    def opened(model: str) -> AgentModel:
        row = _row(catalog, preset, model, settings, environment)
        return _made(endpoint, row=row, preset=preset, settings=settings, report=report)

    def known(wanted: str) -> str | None:
        return _same_vendor(wanted, preset, catalog)

    return ModelWithOverrides(opened(model), opened=opened, known=known, problem=problem)


def _parsed(name: str, catalog: ModelCatalog) -> tuple[ProviderPreset, str]:
    provider, separator, model = name.strip().partition(":")
    if not separator and provider not in catalog.providers():
        raise UsageError(
            f"{name!r} does not say whose model it is.",
            hint=f"Write PROVIDER:MODEL with one of: {', '.join(catalog.providers())}.",
        )
    preset = catalog.preset(provider)
    return preset, preset.aliases.get(model, model) or preset.default_model


def _same_vendor(wanted: str, preset: ProviderPreset, catalog: ModelCatalog) -> str | None:
    """The model that a skill or sub-agent asks for, when the vendor in use has it.

    Another vendor's is not used: who receives the conversation is the user's choice alone.
    """
    provider, separator, model = wanted.strip().partition(":")
    if separator and provider in catalog.providers():
        return (preset.aliases.get(model, model) or None) if provider == preset.name else None
    if wanted in preset.aliases:
        return preset.aliases[wanted]
    return wanted if catalog.knows(preset.name, wanted) else None


def _endpoint(
    preset: ProviderPreset, settings: AgentModelSettings, environment: Mapping[str, str]
) -> Endpoint:
    from_environment = next(
        (environment[name] for name in preset.url_variables if environment.get(name)), None
    )
    if preset.name == "ollama":
        from wellkept.models.embedders.remote import server_url

        from_environment = f"{server_url(environment).rstrip('/')}/v1"
    base_url = settings.base_url or from_environment or preset.base_url
    key = settings.api_key
    if not key and not settings.base_url:
        # A key in the environment belongs to the vendor: another server must not get it.
        key = next((environment[v] for v in preset.key_variables if environment.get(v)), None)
    endpoint = Endpoint(base_url, api_key=key or None, timeout_s=settings.total_s)
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"The API key for {preset.name} has characters that cannot be sent in a header.",
            hint="Copy it again without spaces or line ends.",
        )
    return endpoint


def _no_key(preset: ProviderPreset) -> ProviderError:
    return ProviderError(
        f"There is no API key for {preset.name}.",
        hint=f"Set {preset.key_variables[0]}." if preset.key_variables else None,
        cause="login",
    )


def _row(
    catalog: ModelCatalog,
    preset: ProviderPreset,
    model: str,
    settings: AgentModelSettings,
    environment: Mapping[str, str],
) -> ModelRow:
    row = catalog.row(preset.name, model)
    window = environment.get(_OLLAMA_WINDOW, "") if preset.name == "ollama" else ""
    changes = {
        "context_tokens": settings.context_tokens or (int(window) if window.isdecimal() else None),
        "max_output_tokens": settings.max_output_tokens,
    }
    kept = {name: value for name, value in changes.items() if value is not None}
    return replace(row, info=replace(row.info, **kept)) if kept else row


def _made(
    endpoint: Endpoint,
    *,
    row: ModelRow,
    preset: ProviderPreset,
    settings: AgentModelSettings,
    report: Report | None,
) -> AgentModel:
    if find_spec("httpx2") is None:
        raise ProviderError(
            f"{preset.name} needs the package httpx2.", hint="Run: pip install 'wellkept[agent]'"
        )
    from wellkept.models.chat.calls import HttpChatModel

    return HttpChatModel(
        wire_of(endpoint, row, preset),
        row.info,
        settings=settings,
        cuts_silently=preset.cuts_silently,
        report=report,
    )


def wire_of(endpoint: Endpoint, row: ModelRow, preset: ProviderPreset) -> Wire:
    """The protocol that a vendor speaks, for one model."""
    if preset.protocol == "anthropic":
        from wellkept.models.chat.anthropic import AnthropicWire

        return AnthropicWire(endpoint, row)
    from wellkept.models.chat.openai import OpenAIWire

    return OpenAIWire(endpoint, row, preset)


# -- Override -------------------------------------------------------------------------------------


class ModelWithOverrides:
    """Sends a request to the model that it names, else to its own.

    `known` gives the vendor's name of a model that is asked for; None when the vendor in use does
    not have it, and then the own model answers. `problem` is what keeps every call from working.
    """

    def __init__(
        self,
        model: AgentModel,
        *,
        opened: Callable[[str], AgentModel],
        known: Callable[[str], str | None],
        problem: ProviderError | None = None,
    ) -> None:
        self._model = model
        self._opened = opened
        self._known = known
        self._problem = problem
        self._others: dict[str, AgentModel] = {}

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream an answer."""
        if self._problem is not None:
            raise self._problem
        return self._chosen(request.model).stream(request)

    def _chosen(self, wanted: str | None) -> AgentModel:
        name = self._known(wanted) if wanted else None
        if name is None or name == self.info.name:
            return self._model
        if name not in self._others:
            self._others[name] = self._opened(name)
        return self._others[name]
