"""Which embedder to use, and why.

Invariants: with `auto`, a store keeps the model its vectors were made with, whatever else is
up or down today; deciding loads no model, and for a store that has vectors contacts nobody.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.core.records import record
from wellkept.providers.embedders.settings import (
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

    from wellkept.core.ports.store import Embedder, Vector


@record
class EmbeddingPlan:
    """The decision: whose vectors, and why.

    `stored_model_id` is the model the store was indexed with, if any; when it differs, its
    vectors cannot be compared with new ones until a re-index.
    """

    model: ModelName
    reason: str
    stored_model_id: str | None = None

    @property
    def needs_reindex(self) -> bool:
        """Whether the store's vectors are another model's."""
        return self.stored_model_id not in {None, self.model.model_id}


def plan_embedding(
    choice: EmbeddingChoice,
    environment: Mapping[str, str],
    *,
    stored_model_id: str | None = None,
) -> EmbeddingPlan | None:
    """Decide on a model; None when the person wants no vectors.

    A named tier is taken at its word. `auto` keeps the store's model, even one that is out of
    reach now (its use then fails with a reason, and recall does without vectors), and looks
    around only for a store that has no vectors, or none that this version could make.
    """
    if choice.name == "none":
        return None
    if choice.name != "auto":
        return _asked_for(choice, stored_model_id)
    kept = parse_model_id(stored_model_id) if stored_model_id else None
    if kept is not None:
        return EmbeddingPlan(kept, "the store was indexed with this model", stored_model_id)
    return _best_available(choice, environment, stored_model_id)


def open_embedder(
    choice: EmbeddingChoice,
    environment: Mapping[str, str],
    *,
    stored_model_id: str | None = None,
) -> LazyEmbedder | None:
    """Open the planned embedder; it loads or connects on its first use."""
    plan = plan_embedding(choice, environment, stored_model_id=stored_model_id)
    return None if plan is None else LazyEmbedder(plan, choice, environment)


def detect(choice: EmbeddingChoice, environment: Mapping[str, str]) -> list[TierStatus]:
    """Look at every tier, best first; waits at most 150 ms for a local server."""
    from wellkept.providers import availability

    return availability.detect(choice, environment)


def verify_weights(tier: str) -> bool:
    """Hash a bundled model's files; False when the tier has none, ProviderError when damaged."""
    bundled = BUNDLED.get(tier)
    if bundled is None:
        return False
    bundled.verify()
    return True


class LazyEmbedder:
    """Stands for the planned embedder and makes it when the first text comes."""

    def __init__(
        self, plan: EmbeddingPlan, choice: EmbeddingChoice, environment: Mapping[str, str]
    ) -> None:
        self.plan = plan
        self._choice = choice
        self._environment = environment
        self._made: Embedder | None = None

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

    def _embedder(self) -> Embedder:
        if self._made is None:
            self._made = _make(self.plan.model, self._choice, self._environment)
        return self._made


def _asked_for(choice: EmbeddingChoice, stored_model_id: str | None) -> EmbeddingPlan:
    bundled = BUNDLED.get(choice.name)
    if bundled is not None and (problem := bundled.problem()):
        raise ProviderError(problem)
    reason = f"{choice.name} was chosen in the settings"
    return EmbeddingPlan(chosen_model(choice.name, choice), reason, stored_model_id)


def _best_available(
    choice: EmbeddingChoice, environment: Mapping[str, str], stored_model_id: str | None
) -> EmbeddingPlan:
    tiers = detect(choice, environment)
    best = next((tier for tier in tiers if tier.available), None)
    if best is None:
        raise ProviderError(
            f"No embedder can be used: {tiers[-1].reason}",
            hint="Or set the embedder to none and search by words only.",
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
    from wellkept.providers.availability import endpoint_of

    endpoint = endpoint_of(model.tier, choice, environment)
    return make(endpoint, model=model.model, dimension=model.dimension)
