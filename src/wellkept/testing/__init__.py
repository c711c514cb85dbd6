"""Public test support for Wellkept, its engines and plugins.

`conformance` tests every engine must pass; `model_store` a reference engine of dicts; `samples`
generated memories; `fakes` deterministic embedder, text model and reranker; `embedding_server` a
local HTTP embedding server. May import `core` and pytest.
"""

from __future__ import annotations

from wellkept.testing.model_store.store import ModelStore
from wellkept.testing.samples import Samples, make_vector

__all__ = ["ModelStore", "Samples", "make_vector"]
