"""Files that were read, for restoration (G7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from wellkept_agent.file_cache import FileCache, RestoredFile

pytestmark = pytest.mark.feature("G7")


def wrote(folder: Path, name: str, tokens: int) -> Path:
    path = folder / name
    path.write_text("abc " * tokens)
    return path


def read(cache: FileCache, *paths: Path) -> None:
    for path in paths:
        cache.track_read(path, path.read_text())


def names(files: list[RestoredFile]) -> list[str]:
    return [file.path.name for file in files]


def test_the_least_recently_read_file_goes_first(tmp_path: Path) -> None:
    cache = FileCache(budget_tokens=300)
    a, b, c, d = (wrote(tmp_path, name, 100) for name in "abcd")
    read(cache, a, b, c, a, d)
    assert [path.name for path in (a, b, c, d) if path in cache] == ["a", "c", "d"]
    assert cache.tokens == 300


def test_a_file_larger_than_the_budget_evicts_nothing(tmp_path: Path) -> None:
    cache = FileCache(budget_tokens=300)
    small, huge = wrote(tmp_path, "small", 100), wrote(tmp_path, "huge", 301)
    read(cache, small, huge)
    assert small in cache
    assert huge not in cache
    assert [(path.name, times) for path, _, times in cache.read_counts()] == [
        ("small", 1),
        ("huge", 1),
    ]


def test_a_file_that_grew_too_large_is_no_longer_kept(tmp_path: Path) -> None:
    cache = FileCache(budget_tokens=300)
    path = wrote(tmp_path, "a", 10)
    read(cache, path)
    path.write_text("abc " * 400)
    read(cache, path)
    assert path not in cache


def test_restoration_prefers_files_that_were_read_often(tmp_path: Path) -> None:
    cache = FileCache()
    a, b, c = (wrote(tmp_path, name, 100) for name in "abc")
    read(cache, b, b, b, a, c, c)
    found = cache.files_for_restoration(max_files=2, max_tokens=50_000, per_file_tokens=5_000)
    assert names(found) == ["b", "c"]


def test_reads_count_though_the_file_was_evicted(tmp_path: Path) -> None:
    cache = FileCache(budget_tokens=150)
    a, b = wrote(tmp_path, "a", 100), wrote(tmp_path, "b", 50)
    read(cache, a, a, b, b, b)
    read(cache, wrote(tmp_path, "c", 100))
    read(cache, a)
    found = cache.files_for_restoration(max_files=1, max_tokens=50_000, per_file_tokens=5_000)
    assert names(found) == ["a"]


def test_files_that_are_too_large_are_passed_over(tmp_path: Path) -> None:
    cache = FileCache()
    large, first, second = (
        wrote(tmp_path, n, t) for n, t in (("l", 5_001), ("f", 900), ("s", 200))
    )
    read(cache, large, large, large, first, first, second)
    limits = {"max_files": 5, "per_file_tokens": 5_000}
    assert names(cache.files_for_restoration(max_tokens=50_000, **limits)) == ["f", "s"]
    assert names(cache.files_for_restoration(max_tokens=500, **limits)) == ["s"]


def test_refresh_takes_what_the_files_hold_now(tmp_path: Path) -> None:
    cache = FileCache()
    same, changed, gone, binary = (
        wrote(tmp_path, n, 5) for n in ("same", "changed", "gone", "binary")
    )
    read(cache, same, changed, gone, binary)
    cache.track_read(same, "rendered in another way")
    changed.write_text("new text")
    gone.unlink()
    binary.write_bytes(b"\xff\xfe\x00")
    cache.refresh()
    found = cache.files_for_restoration(max_files=5, max_tokens=50_000, per_file_tokens=5_000)
    assert {file.path.name: file.content for file in found} == {
        "same": "rendered in another way",
        "changed": "new text",
    }
