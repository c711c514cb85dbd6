"""Measure the bundled models on the labelled pairs and write `providers/data/calibrations.json`.

Run `python -m bench.calibrate` after any change of the pairs, a model or its pooling; with
`--check` it only compares, and fails when the shipped figures are out of date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from wellkept.models.embedders.calibration import calibrate
from wellkept.models.embedders.minilm import MiniLmEmbedder
from wellkept.models.embedders.static import StaticEmbedder

_TARGET = (
    Path(__file__).parents[1]
    / "packages/wellkept/src/wellkept/models/embedders/data/calibrations.json"
)


def main() -> int:
    """Write or check the file; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    arguments = parser.parse_args()
    measured = [calibrate(StaticEmbedder()), calibrate(MiniLmEmbedder())]
    text = json.dumps([item.as_json() for item in measured], indent=2) + "\n"
    for item in measured:
        cuts = ", ".join(f"{n:.2f} -> {item.cutoff(n):.3f}" for n in (0.80, 0.85, 0.88, 0.90))
        print(f"{item.model_id}: {cuts}; held out: precision {item.precision}, ", end="")
        print(f"recall {item.recall}, near misses passing {item.near_miss_rate}")
    if arguments.check:
        return 0 if _TARGET.read_text(encoding="utf-8") == text else 1
    _TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
