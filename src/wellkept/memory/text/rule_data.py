"""Rules that are data: the TOML files beside the modules that apply them.

Read on first use only, and without `importlib.resources`, whose import costs more than the reading.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read_rules(name: str) -> dict[str, Any]:
    """The content of `data/<name>.toml`."""
    import tomllib

    with (Path(__file__).parent / "data" / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)
