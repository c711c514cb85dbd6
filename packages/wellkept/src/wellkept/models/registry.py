"""Choose the embedder and open it.

Invariants: with `auto`, a store keeps the model its vectors were made with, whatever else is
available; choosing loads no model, and for a store with vectors contacts no server.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.core.records import record
from wellkept.models.embedders.settings import (
    AUTOMATIC,
    BUNDLED,
    EMBEDDERS,
    EmbeddingChoice,
    ModelName,
    TierStatus,
    chosen_model,
    parse_model_id,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wellkept.core.ports.models import Embedder, Vector
    from wellkept.models.downloaded_models import DownloadedModel


@record
class EmbeddingPlan:
    """The chosen model, and why.

    `stored_model_id` is the model the store was indexed with, if any; when it differs, old and new
    vectors cannot be compared until a re-index.
    """

    model: ModelName
    reason: str
    stored_model_id: str | None = None

    @property
    def needs_reindex(self) -> bool:
        """Whether the store's vectors are another model's."""
        return self.stored_model_id not in {None, self.model.model_id}


def plan_embedding(
    choice: EmbeddingChoice, environment: Mapping[str, str], *, stored_model_id: str | None = None
) -> EmbeddingPlan | None:
    """Choose a model; None when vectors are turned off.

    A tier chosen by name is used as it is. `auto` keeps the store's model, even one that cannot be
    reached now (its use then fails with a reason, and recall goes on without vectors). It detects
    tiers only for a store without vectors, or with vectors this version cannot make.
    """
    if choice.name == "none":
        return None
    if choice.name != "auto":
        return _chosen(choice, stored_model_id)
    stored = parse_model_id(stored_model_id) if stored_model_id else None
    if stored is not None:
        reason = "the store was indexed with this model"
        if stored.model_id != stored_model_id:
            reason = f"it replaces {stored_model_id}, the former default"
        return EmbeddingPlan(stored, reason, stored_model_id)
    return _best_available(choice, environment, stored_model_id)


def open_embedder(
    choice: EmbeddingChoice, environment: Mapping[str, str], *, stored_model_id: str | None = None
) -> LazyEmbedder | None:
    """Open the planned embedder; it loads or connects on its first use."""
    plan = plan_embedding(choice, environment, stored_model_id=stored_model_id)
    return None if plan is None else LazyEmbedder(plan, choice, environment)


def detect(choice: EmbeddingChoice, environment: Mapping[str, str]) -> list[TierStatus]:
    """The status of every tier, best first; waits at most 150 ms for a local server."""
    from wellkept.models import availability

    return availability.detect(choice, environment)


def verify_weights(tier: str) -> bool:
    """Hash a bundled model's files; False when the tier has none, ProviderError when damaged."""
    bundled = BUNDLED.get(tier)
    if bundled is None:
        return False
    bundled.verify()
    return True


class LazyEmbedder:
    """Creates the planned embedder when the first text comes."""

    def __init__(
        self, plan: EmbeddingPlan, choice: EmbeddingChoice, environment: Mapping[str, str]
    ) -> None:
        self.plan = plan
        self._choice = choice
        self._environment = environment
        self._loaded: Embedder | None = None

    @property
    def model_id(self) -> str:
        return self.plan.model.model_id

    @property
    def dimension(self) -> int:
        return self.plan.model.dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts that are to be found."""
        return self._embedder().embed_documents(texts) if texts else []

    def embed_query(self, text: str) -> Vector:
        """Embed a question to find texts with."""
        return self._embedder().embed_query(text)

    def known_share(self, text: str) -> float:
        """The share of the words of a text that the bundled vocabulary has, whatever the model."""
        from wellkept.models.embedders.static import bundled_tokenizer

        return bundled_tokenizer().known_share(text)

    def verify_weights(self) -> None:
        """Hash the files of a local model; ProviderError when they are damaged."""
        if self.plan.model.tier == "fastembed":
            _downloaded(self.plan.model, self._choice).verify()
        else:
            verify_weights(self.plan.model.tier)

    def _embedder(self) -> Embedder:
        if self._loaded is None:
            self._loaded = _make(self.plan.model, self._choice, self._environment)
        return self._loaded


def _chosen(choice: EmbeddingChoice, stored_model_id: str | None) -> EmbeddingPlan:
    bundled = BUNDLED.get(choice.name)
    if bundled is not None and (problem := bundled.problem()):
        raise ProviderError(problem)
    if choice.name == "fastembed":
        _downloaded(chosen_model(choice.name, choice), choice)
    reason = f"{choice.name} was chosen in the settings"
    return EmbeddingPlan(chosen_model(choice.name, choice), reason, stored_model_id)


def _downloaded(model: ModelName, choice: EmbeddingChoice) -> DownloadedModel:
    from wellkept.models.downloaded_models import usable_model

    return usable_model(str(model.model), "embedding", choice.models_folder or Path("models"))


def _best_available(
    choice: EmbeddingChoice, environment: Mapping[str, str], stored_model_id: str | None
) -> EmbeddingPlan:
    tiers = [tier for tier in detect(choice, environment) if tier.name in AUTOMATIC]
    best = next((tier for tier in tiers if tier.available), None)
    if best is None:
        raise ProviderError(
            f"No embedder can be used: {tiers[-1].reason}",
            hint="Set embedding.provider to none to search by words only.",
        )
    reason = best.reason
    if stored_model_id is not None:
        reason += f"; this version cannot make the store's vectors ({stored_model_id})"
    return EmbeddingPlan(chosen_model(best.name, choice), reason, stored_model_id)


def _make(model: ModelName, choice: EmbeddingChoice, environment: Mapping[str, str]) -> Embedder:
    module_name, _, class_name = EMBEDDERS[model.tier].partition(":")
    make = getattr(import_module(module_name), class_name)
    if model.tier in BUNDLED:
        return make()
    if model.tier == "fastembed":
        return make(_downloaded(model, choice))
    from wellkept.models.availability import endpoint_of

    endpoint = endpoint_of(model.tier, choice, environment)
    return make(endpoint, model=model.model, dimension=model.dimension)
