"""What redaction leaves and costs: unlearned plants, altered lines, time for hostile texts.

`python -m bench.redaction_limits [--mb 20] [--json] [--show]`. Real code is what is installed
beside Wellkept: the packages of this environment. Hostile texts repeat what the rules start from;
the worst at a small size are run again at one megabyte.
"""

from __future__ import annotations

import argparse
import json
import random
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench import planted
from wellkept.text.rule_data import read_rules
from wellkept.text.secrets.redaction import PRIVATE, redact

_SUFFIXES = frozenset(
    {
        ".py",
        ".pyi",
        ".js",
        ".ts",
        ".md",
        ".rst",
        ".toml",
        ".json",
        ".c",
        ".h",
        ".txt",
        ".sh",
        ".yaml",
    }
    | {".yml", ".html", ".cfg", ".ini"}
)
_MAX_FILE_BYTES = 400_000
_SMALL_CHARS = 10_000
_LARGE_CHARS = 1_000_000
_WORST = 12


def real_code(megabytes: float, *, seed: int = 5) -> Iterator[str]:
    """Source files of the installed packages, in a seeded order."""
    root = Path(sysconfig.get_paths()["purelib"])
    roots = [root, *(Path(line) for p in root.glob("*.pth") for line in _lines(p))]
    files = sorted(
        {
            path
            for one in roots
            if one.name == "site-packages"
            for path in one.rglob("*")
            if path.suffix in _SUFFIXES and path.is_file() and path.stat().st_size < _MAX_FILE_BYTES
        }
    )
    random.Random(seed).shuffle(files)
    left = megabytes * 1e6
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        left -= len(text)
        if left < 0:
            return
        yield text


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("/")]


def altered_lines(megabytes: float, *, show: bool = False) -> dict[str, float | int]:
    """How many lines of real code are altered."""
    lines = altered = 0
    rules: Counter[str] = Counter()
    for text in real_code(megabytes):
        lines += text.count("\n") + 1
        for finding in redact(text).findings:
            if finding.rule == PRIVATE:
                continue
            altered += text.count("\n", finding.start, finding.end) + 1
            rules[finding.rule] += 1
            if show:
                start = max(0, finding.start - 40)
                print(f"{finding.rule:16} {text[start : finding.end]!r}")
    share = round(100 * altered / max(1, lines), 4)
    return {"lines": lines, "altered": altered, "altered_percent": share}


def fresh() -> dict[str, int]:
    """Plants that the judge never learned from, those left, tempting lines and those altered."""
    plants = [one for seed in range(5) for one in planted.plants("fresh", seed=seed)]
    lines = [
        line for seed in range(9) for line in planted.ordinary(part="fresh_ordinary", seed=seed)
    ]
    return {
        "fresh_plants": len(plants),
        "fresh_left": sum(one.left_in(redact(one.text).text.lower()) for one in plants),
        "tempting_lines": len(lines),
        "tempting_altered": sum(redact(line).changed for line in lines),
    }


def hostile_units() -> list[str]:
    """Short texts that begin what the rules look for, and go on in ways that lead nowhere."""
    rules, words = read_rules("secret_rules")["rules"], read_rules("secret_words")
    units = {
        "a",
        "1",
        "\\",
        "\\\n",
        "\n",
        "=",
        "a=",
        "@",
        "://",
        "[redacted:",
        "é",
        " ",
        "\t",
        "a1b2",
    }
    units |= {"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n", "QUJD" * 8 + "\n"}
    units |= {"kind: Secret\n", "kind: Secret\ndata:\n", "QUFBQUFBQUFBQUFBQUFBQUFBQUFB "}
    units |= {
        "password | x\n",
        "a, password, b\n",
        "a  password  b\n",
        "<private>",
        "x7k!9 ",
        "密码",
    }
    for keyword in {keyword for rule in rules for keyword in rule["keywords"]}:
        units |= {keyword, f"{keyword} ", f"{keyword}a", f"{keyword}=", f"{keyword}a1b2c3"}
    for part in ("inside", "whole", "phrases"):
        for word in (word for some in words[part].values() for word in some):
            units |= {word, f"{word} ", f"{word}=", f"{word}: '", f"{word} -p ", f"{word} is x1y2 "}
    return sorted(units)


def hostile_seconds() -> dict[str, float]:
    """Processor seconds for a megabyte of the worst hostile texts, and of all mixed."""
    units = hostile_units()
    redact("password = 'warm42up'")
    slow = sorted(units, key=lambda unit: -_seconds(unit * (_SMALL_CHARS // len(unit))))[:_WORST]
    found = {unit: _seconds(unit * (_LARGE_CHARS // len(unit))) for unit in slow}
    chosen = random.Random(1).choices(units, k=_LARGE_CHARS // 4)
    found["all mixed"] = _seconds("".join(chosen)[:_LARGE_CHARS])
    return {repr(unit): round(seconds, 2) for unit, seconds in found.items()}


def _seconds(text: str) -> float:
    start = time.process_time()
    redact(text)
    return time.process_time() - start


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=20, help="how much real code, in megabytes")
    parser.add_argument("--json", action="store_true", help="only the JSON object")
    parser.add_argument("--show", action="store_true", help="print what was altered")
    options = parser.parse_args()
    code = {**fresh(), **altered_lines(options.mb, show=options.show)}
    hostile = hostile_seconds()
    if not options.json:
        for name, value in {**code, **hostile}.items():
            print(f"{name:32} {value}")
    worst = max(hostile.values())
    print(json.dumps({"bench": "redaction_limits", **code, "worst_s_per_mb": worst}))


if __name__ == "__main__":
    main()
