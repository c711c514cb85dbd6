"""Reads the TOML rule files in `data/`.

Read on first use, without `importlib.resources`: its import costs more than reading the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def read_rules(name: str) -> dict[str, Any]:
    """The content of `data/<name>.toml`."""
    import tomllib

    with (DATA / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)
