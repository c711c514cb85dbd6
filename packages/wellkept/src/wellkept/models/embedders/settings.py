"""Embedder choices, and the model ids under which their vectors are stored.

Invariant: importing this loads neither numpy nor an HTTP client; a model id names tier, model and
dimension, so a store's vectors tell which embedder made them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from wellkept.core.errors import UsageError
from wellkept.core.records import field, record
from wellkept.models.embedders.bundled_models import MINILM, STATIC, SUPERSEDED

EMBEDDERS: Final = {
    "ollama": "wellkept.models.embedders.remote:OllamaEmbedder",
    "openai": "wellkept.models.embedders.remote:OpenAICompatibleEmbedder",
    "fastembed": "wellkept.models.embedders.minilm:FastembedEmbedder",
    "minilm": "wellkept.models.embedders.minilm:MiniLmEmbedder",
    "static": "wellkept.models.embedders.static:StaticEmbedder",
}
"""Short name -> class, imported on demand; in order of preference."""
AUTOMATIC: Final = ("ollama", "openai", "static")
"""What `auto` may use. Local transformer models are slow, so they run only when chosen by name."""

CHOICES: Final = ("auto", *EMBEDDERS, "none")
BUNDLED: Final = {"minilm": MINILM, "static": STATIC}
DEFAULT_MODELS: Final = {
    "ollama": "qwen3-embedding:4b",
    "openai": "text-embedding-3-small",
    "fastembed": "BAAI/bge-small-en-v1.5",
}
DEFAULT_DIMENSION: Final = 1024


@record
class EmbeddingChoice:
    """The embedder settings; None means the tier's default."""

    name: str = "auto"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    timeout_s: float = 60.0
    dimension: int = DEFAULT_DIMENSION
    models_folder: Path | None = None

    def __post_init__(self) -> None:
        if self.name not in CHOICES:
            raise UsageError(
                f"Unknown embedder {self.name!r}.", hint=f"Choose one of: {', '.join(CHOICES)}."
            )
        if not 1 <= self.dimension <= 8192:
            raise UsageError(
                f"An embedding cannot have {self.dimension} dimensions.", hint="Use 1 to 8192."
            )


@record
class ModelName:
    """A tier's model: the parts of a model id."""

    tier: str
    dimension: int
    model: str | None = None

    @property
    def model_id(self) -> str:
        """The id stored with vectors; changes whenever the vectors would."""
        if self.tier in BUNDLED:
            return BUNDLED[self.tier].model_id
        return f"{self.tier}:{self.model}@{self.dimension}"


@record
class TierStatus:
    """One tier as `wellkept admin doctor` shows it."""

    name: str
    available: bool
    reason: str
    model_id: str
    dimension: int


def chosen_model(tier: str, choice: EmbeddingChoice) -> ModelName:
    """The model that `tier` would use with these settings."""
    if tier in BUNDLED:
        return ModelName(tier, BUNDLED[tier].dimension)
    model = choice.model or DEFAULT_MODELS[tier]
    if tier == "fastembed":
        from wellkept.models.downloaded_models import downloaded_model

        found = downloaded_model(model, choice.models_folder) if choice.models_folder else None
        if found is not None and found.dimension:
            return ModelName(tier, found.dimension, found.name)
    return ModelName(tier, choice.dimension, model)


def parse_model_id(model_id: str) -> ModelName | None:
    """Parse a model id; None when no tier of this version makes such vectors.

    A former model stands for the one that takes its place.
    """
    if tier := SUPERSEDED.get(model_id):
        return ModelName(tier, BUNDLED[tier].dimension)
    for tier, bundled in BUNDLED.items():
        if bundled.model_id == model_id:
            return ModelName(tier, bundled.dimension)
    tier, _, rest = model_id.partition(":")
    model, _, dimension = rest.rpartition("@")
    if tier in DEFAULT_MODELS and model and dimension.isdecimal():
        return ModelName(tier, int(dimension), model)
    return None
