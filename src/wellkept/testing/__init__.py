"""What tests of Wellkept and of its engines and plugins stand on. Public, small, and real."""

from __future__ import annotations

from wellkept.testing.model_store.store import ModelStore
from wellkept.testing.samples import Samples, make_vector

__all__ = ["ModelStore", "Samples", "make_vector"]
