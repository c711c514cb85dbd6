"""A short run of the fuzzer in the suite; `make fuzz` is the long one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from bench import fuzz
from bench.fuzz import Target, attempt, inputs, mutated

pytestmark = pytest.mark.feature("A10", "C4")


def test_no_damaged_input_ends_in_a_traceback_or_takes_long() -> None:
    done, failed = fuzz.fuzz(count=3_000, seed=1)
    assert {name for name, calls in done.items() if calls < 150} == set()
    assert [(one.target, one.data, one.why) for one in failed] == []


def test_a_target_that_breaks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes) -> None:
        if b"\xff" in data:
            raise KeyError("x")

    target = Target("broken", broken, (b"abc", b"de"))
    found = [attempt(target, data) for data in inputs(target, count=400, seed=1)]
    assert any(one is not None and "KeyError" in one.why for one in found)
    monkeypatch.setattr(fuzz, "LIMIT_S", 0.0)
    slow = attempt(Target("slow", lambda _: sum(range(10_000)), (b"",)), b"")
    assert slow is not None
    assert "took" in slow.why


def test_inputs_are_the_same_for_the_same_seed_and_begin_with_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "SEEDS", tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "1").write_bytes(b"kept")
    target = Target("x", lambda _: None, (b"seed",))
    once, again = (list(inputs(target, count=50, seed=2)) for _ in range(2))
    assert once == again
    assert once[:2] == [b"kept", b"seed"]
    assert len(mutated(Random(1), (b"x" * 10_000,))) <= fuzz.MAX_BYTES
