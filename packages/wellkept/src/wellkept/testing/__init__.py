"""Public test support: a clock to turn, an embedder of words, a scripted chat model.

Suites, the store of dicts and loopback servers are in `tests/support`.
"""

from __future__ import annotations

from wellkept.testing.fakes import ManualClock, WordEmbedder
from wellkept.testing.scripted_model import ScriptedModel

__all__ = ["ManualClock", "ScriptedModel", "WordEmbedder"]
