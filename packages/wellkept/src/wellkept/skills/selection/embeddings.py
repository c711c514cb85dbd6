"""Similarity of a prompt and each skill, by embeddings.

A skill is embedded by its name, description and tags, and the beginning of its body. Invariant:
vectors are made once, on first use; when the embedder fails the result is empty and `problem` says
why. Knows nothing of words or projects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.core.ports.models import Embedder
from wellkept.core.skills import Skill

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BODY_CHARS = 600


class SkillEmbeddings:
    """The vectors of a set of skills."""

    def __init__(self, skills: Sequence[Skill], embedder: Embedder | None) -> None:
        self._skills = skills
        self._embedder = embedder
        self._matrix: NDArray[np.float32] | None = None
        self.problem: str | None = None

    @property
    def is_usable(self) -> bool:
        """Whether there is an embedder that has not failed."""
        return self._embedder is not None and self.problem is None and bool(self._skills)

    def cosines(self, text: str) -> list[float]:
        """The cosine of the text with each skill in order; empty when there are no vectors."""
        if self._embedder is None or not self.is_usable:
            return []
        import numpy as np

        try:
            query = np.frombuffer(self._embedder.embed_query(text), dtype="<f4")
            if self._matrix is None:
                vectors = self._embedder.embed_documents([embedding_text(s) for s in self._skills])
                self._matrix = np.stack([np.frombuffer(v, dtype="<f4") for v in vectors])
        except ProviderError as error:
            self.problem = str(error)
            return []
        cosines: list[float] = (self._matrix @ query).tolist()
        return cosines


def embedding_text(skill: Skill) -> str:
    """The text of a skill that is embedded."""
    name = skill.name.replace("-", " ").replace("_", " ")
    parts = (f"{name}.", skill.description, skill.when_to_use or "", " ".join(skill.tags))
    return " ".join(part for part in (*parts, skill.body[:_BODY_CHARS]) if part)
