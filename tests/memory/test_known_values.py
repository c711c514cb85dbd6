"""Values that are known are found wherever they stand, and only their salted hashes are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wellkept.text.secrets.known_values import (
    KnownValues,
    know_later,
    read_known,
    use_known,
    write_known,
)
from wellkept.text.secrets.redaction import redact

pytestmark = pytest.mark.feature("A10")

SALT = b"0123456789abcdef"
VALUES = ("river-4711", "Ab+c/9=Qz!7", "correcthorsebatterystaple", "p@ss:w0rd.x")


@pytest.fixture(autouse=True)
def known() -> Iterator[KnownValues]:
    empty = KnownValues(SALT)
    made = KnownValues.of(SALT, map(empty.hashed, VALUES))
    use_known(made)
    yield made
    use_known(None)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "frame",
    ["{}", "it printed {} twice", "({})", '"{}"', "x={};", "https://a.local/{}/b", "[{}]",
     "a,{},b", "<{}>", "'{}'.", "`{}`", "k:{}", "{}\n", "key={}&b=1"],
)  # fmt: skip
def test_a_known_value_is_found_between_any_marks(value: str, frame: str) -> None:
    assert value not in redact(frame.format(value)).text


@pytest.mark.parametrize("text", ["river-4712", "xriver-4711x", "river 4711", "correct horse"])
def test_what_only_resembles_a_known_value_stays(text: str) -> None:
    assert redact(text).text == text


def test_what_another_project_was_to_find_later_does_not_replace_them() -> None:
    know_later(lambda: use_known(None))
    use_known(KnownValues.of(SALT, [KnownValues(SALT).hashed("quartz-2207")]))
    assert redact("quartz-2207").text == "[redacted:known-value]"


def test_names_redacted_before_are_looked_at_again_when_more_is_known() -> None:
    assert redact("folder/quartz-2207").text == "folder/quartz-2207"
    empty = KnownValues(SALT)
    use_known(KnownValues.of(SALT, [empty.hashed("quartz-2207")]))
    assert redact("folder/quartz-2207").text == "folder/[redacted:known-value]"


def test_the_file_holds_hashes_only_and_is_the_owners_alone(
    tmp_path: Path, known: KnownValues
) -> None:
    path = tmp_path / "memory.known"
    write_known(str(path), known)
    raw = path.read_text(encoding="ascii")
    assert not any(value in raw for value in VALUES)
    assert path.stat().st_mode & 0o077 == 0
    assert read_known(str(path)) == known


@pytest.mark.parametrize("raw", [b"", b"zz\n1 2\n", b"\xff\xfe", b"00ff\nnot a line\n"])
def test_a_damaged_file_holds_nothing(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "memory.known"
    path.write_bytes(raw)
    read = read_known(str(path))
    assert read is None or not read.hashes


def test_the_same_value_has_another_hash_with_another_salt() -> None:
    assert KnownValues(b"a" * 16).hashed("river-4711") != KnownValues(b"b" * 16).hashed(
        "river-4711"
    )


def test_a_long_text_of_delimiters_is_looked_through_in_linear_work() -> None:
    small, large = (redact("a=b:" * size).places for size in (5_000, 20_000))
    assert large <= 5 * max(1, small)
