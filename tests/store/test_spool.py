"""The spool: what was appended is read back exactly, whatever happens around it."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.clock import to_ms
from wellkept.core.session.sessions import SpoolDamage, SpoolEntry
from wellkept.store import spool
from wellkept.store.spool_reader import (
    DroppedEvents,
    clear_dropped,
    dropped,
    files,
    read,
    remove_drained,
)

pytestmark = pytest.mark.feature("C2")

NOW_MS = 1_780_000_000_000


def put(
    directory: Path,
    payload: bytes,
    *,
    session: str = "s-1",
    event: str = "Stop",
    client: str = "claude",
    now_ms: int = NOW_MS,
    max_total_bytes: int = spool.MAX_TOTAL_BYTES,
) -> str | None:
    return spool.append(
        str(directory),
        client=client,
        session=session,
        event=event,
        payload=payload,
        now_ms=now_ms,
        max_total_bytes=max_total_bytes,
    )


def only_file(directory: Path) -> Path:
    (file,) = files(directory)
    return file.path


def payloads(path: Path, *, offset: int = 0) -> list[bytes]:
    return [item.payload for item in read(path, offset=offset) if isinstance(item, SpoolEntry)]


def damage(path: Path) -> list[SpoolDamage]:
    return [item for item in read(path) if isinstance(item, SpoolDamage)]


def is_owners_alone(path: Path) -> bool:
    return not stat.S_IMODE(path.stat().st_mode) & 0o077


class TestRoundTrip:
    @given(st.lists(st.binary(max_size=400), max_size=8))
    def test_what_was_appended_is_read_back(
        self, tmp_path_factory: pytest.TempPathFactory, given_payloads: list[bytes]
    ) -> None:
        directory = tmp_path_factory.mktemp("spool")
        ids = [put(directory, payload) for payload in given_payloads]
        items = [item for file in files(directory) for item in read(file.path)]
        entries = [item for item in items if isinstance(item, SpoolEntry)]
        assert [entry.payload for entry in entries] == given_payloads
        assert [entry.event_id for entry in entries] == ids
        assert len(items) == len(entries)

    def test_an_entry_says_what_when_and_from_whom(self, tmp_path: Path) -> None:
        event_id = put(tmp_path, b"{}", client="opencode", event="event:session.idle")
        (entry,) = read(only_file(tmp_path))
        assert isinstance(entry, SpoolEntry)
        assert (entry.event_id, to_ms(entry.at)) == (event_id, NOW_MS)
        assert (entry.client, entry.event) == ("opencode", "event:session.idle")
        assert (entry.start, entry.end) == (0, only_file(tmp_path).stat().st_size)

    def test_payloads_that_look_like_entries_are_left_whole(self, tmp_path: Path) -> None:
        inner = spool.encode(
            spool.new_event_id(NOW_MS), client="c", event="E", payload=b"x", now_ms=NOW_MS
        )
        put(tmp_path, b"\n" + inner + b"\n")
        put(tmp_path, b"after")
        assert payloads(only_file(tmp_path)) == [b"\n" + inner + b"\n", b"after"]

    def test_a_payload_of_fifty_megabytes_is_kept(self, tmp_path: Path) -> None:
        big = os.urandom(1 << 20) * 50
        put(tmp_path, big)
        put(tmp_path, b"small")
        assert payloads(only_file(tmp_path)) == [big, b"small"]

    def test_reading_goes_on_from_an_offset(self, tmp_path: Path) -> None:
        put(tmp_path, b"one")
        put(tmp_path, b"two")
        first = next(iter(read(only_file(tmp_path))))
        assert payloads(only_file(tmp_path), offset=first.end) == [b"two"]
        size = only_file(tmp_path).stat().st_size
        assert payloads(only_file(tmp_path), offset=size) == []

    def test_a_clock_that_jumps_back_changes_neither_order_nor_ids(self, tmp_path: Path) -> None:
        ids = [put(tmp_path, b"x", now_ms=ms) for ms in (NOW_MS, NOW_MS - 9_000_000, -5)]
        entries = [item for item in read(only_file(tmp_path)) if isinstance(item, SpoolEntry)]
        assert [entry.event_id for entry in entries] == ids
        assert [to_ms(entry.at) for entry in entries] == [NOW_MS, NOW_MS - 9_000_000, -5]

    def test_reading_a_file_that_is_gone_gives_nothing(self, tmp_path: Path) -> None:
        assert list(read(tmp_path / "gone.spool")) == []
        assert files(tmp_path / "no-such-folder") == []


class TestIds:
    def test_event_ids_are_version_7_uuids_that_sort_by_time(self) -> None:
        ids = [spool.new_event_id(NOW_MS + step) for step in range(50)]
        assert ids == sorted(ids)
        assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", i) for i in ids)
        assert {i[14] for i in ids} == {"7"}
        assert {i[19] for i in ids} <= set("89ab")

    def test_two_events_of_one_moment_have_two_ids(self) -> None:
        assert len({spool.new_event_id(NOW_MS) for _ in range(200)}) == 200


class TestNames:
    def test_each_session_has_its_own_file(self, tmp_path: Path) -> None:
        put(tmp_path, b"1", session="a")
        put(tmp_path, b"2", session="b")
        put(tmp_path, b"3", session="a")
        by_name = {file.path.name: payloads(file.path) for file in files(tmp_path)}
        assert by_name == {"claude-a.spool": [b"1", b"3"], "claude-b.spool": [b"2"]}

    @given(st.text(max_size=200), st.text(max_size=200))
    def test_any_key_gives_a_plain_file_name(self, client: str, session: str) -> None:
        name = spool.file_name(client, session)
        assert re.fullmatch(r"[\w.-]{1,64}-[\w.-]{1,64}\.spool", name, re.ASCII)

    @given(st.text(max_size=80), st.text(max_size=80))
    def test_different_sessions_have_different_files(self, one: str, other: str) -> None:
        same = spool.file_name("c", one) == spool.file_name("c", other)
        assert same == (one == other)

    def test_a_key_cannot_lead_out_of_the_folder(self, tmp_path: Path) -> None:
        inside = tmp_path / "spool"
        put(inside, b"x", session="../../etc/passwd", client="../c")
        assert only_file(inside).parent == inside
        assert sorted(path.name for path in tmp_path.iterdir()) == ["spool"]

    @pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
    def test_only_the_owner_can_read_what_is_made(self, tmp_path: Path) -> None:
        directory = tmp_path / "a" / "spool"
        put(directory, b"x")
        assert all(map(is_owners_alone, (directory.parent, directory, only_file(directory))))


class TestDamage:
    def test_a_torn_tail_is_skipped_and_reported(self, tmp_path: Path) -> None:
        put(tmp_path, b"whole")
        path = only_file(tmp_path)
        whole = path.stat().st_size
        put(tmp_path, b"half of this is missing")
        os.truncate(path, path.stat().st_size - 7)
        assert payloads(path) == [b"whole"]
        assert damage(path) == [SpoolDamage(whole, path.stat().st_size, torn=True)]

    def test_entries_after_a_torn_one_are_found(self, tmp_path: Path) -> None:
        put(tmp_path, b"one")
        path = only_file(tmp_path)
        start = path.stat().st_size
        put(tmp_path, b"two, torn by a full disk")
        os.truncate(path, path.stat().st_size - 4)
        end = path.stat().st_size
        put(tmp_path, b"three")
        assert payloads(path) == [b"one", b"three"]
        assert damage(path) == [SpoolDamage(start, end, torn=False)]

    @given(
        st.lists(st.binary(max_size=60), min_size=1, max_size=4),
        st.binary(min_size=1, max_size=300).filter(lambda raw: b"H1 " not in raw),
        st.integers(0, 4),
    )
    def test_garbage_between_entries_loses_no_entry(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        given_payloads: list[bytes],
        garbage: bytes,
        place: int,
    ) -> None:
        path = tmp_path_factory.mktemp("spool") / "claude-s.spool"
        entries = [
            spool.encode(spool.new_event_id(n), client="c", event="E", payload=p, now_ms=n)
            for n, p in enumerate(given_payloads)
        ]
        at = min(place, len(entries))
        path.write_bytes(b"".join([*entries[:at], garbage, *entries[at:]]))
        assert payloads(path) == given_payloads
        assert sum(found.end - found.start for found in damage(path)) == len(garbage)

    @given(st.data())
    def test_a_flipped_byte_costs_one_entry_at_most(
        self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        directory = tmp_path_factory.mktemp("spool")
        for number in range(3):
            put(directory, b"payload %d" % number)
        path = only_file(directory)
        raw = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(raw)
        assert len(payloads(path)) == 2
        assert len(damage(path)) == 1

    @given(st.binary(max_size=2_000))
    def test_a_file_of_anything_ends_and_is_accounted_for(
        self, tmp_path_factory: pytest.TempPathFactory, raw: bytes
    ) -> None:
        path = tmp_path_factory.mktemp("spool") / "x.spool"
        path.write_bytes(raw)
        items = list(read(path))
        assert [item.start for item in items] == [0, *(item.end for item in items)][: len(items)]
        assert (items[-1].end if items else 0) == len(raw)

    def test_garbage_larger_than_a_block_is_passed_over(self, tmp_path: Path) -> None:
        path = tmp_path / "x.spool"
        path.write_bytes(b"H1 no" * 700_000)
        garbage = path.stat().st_size
        with path.open("ab") as file:
            file.write(spool.encode("0" * 36, client="c", event="E", payload=b"ok", now_ms=1))
        assert payloads(path) == [b"ok"]
        assert damage(path) == [SpoolDamage(0, garbage, torn=False)]


class TestRemoval:
    def test_a_file_read_to_its_end_can_be_removed(self, tmp_path: Path) -> None:
        put(tmp_path, b"x")
        path = only_file(tmp_path)
        assert remove_drained(path, offset=path.stat().st_size)
        assert not path.exists()
        assert remove_drained(path, offset=0)

    def test_a_file_with_more_in_it_stays(self, tmp_path: Path) -> None:
        put(tmp_path, b"x")
        path = only_file(tmp_path)
        read_up_to = path.stat().st_size
        put(tmp_path, b"y")
        assert not remove_drained(path, offset=read_up_to)
        assert payloads(path, offset=read_up_to) == [b"y"]

    @pytest.mark.skipif(spool.fcntl is None, reason="file locks of POSIX systems")
    def test_a_file_that_somebody_writes_to_stays(self, tmp_path: Path) -> None:
        assert spool.fcntl is not None
        put(tmp_path, b"x")
        path = only_file(tmp_path)
        with path.open("ab") as writer:
            spool.fcntl.flock(writer.fileno(), spool.fcntl.LOCK_SH)
            assert not remove_drained(path, offset=path.stat().st_size)
            writer.write(b"H1 unfinished")
            writer.flush()
            assert damage(path) == []
        assert len(damage(path)) == 1

    def test_reading_damage_does_not_keep_writers_out(self, tmp_path: Path) -> None:
        put(tmp_path, b"x")
        path = only_file(tmp_path)
        with path.open("ab") as file:
            file.write(b"torn")
        items = read(path)
        assert [type(next(items)), type(next(items))] == [SpoolEntry, SpoolDamage]
        put(tmp_path, b"y")
        assert [item.payload for item in items if isinstance(item, SpoolEntry)] == [b"y"]


class TestLimit:
    def test_what_does_not_fit_is_counted_and_not_written(self, tmp_path: Path) -> None:
        assert put(tmp_path, b"x" * 100, session="a", max_total_bytes=300)
        assert put(tmp_path, b"y" * 500, session="b", max_total_bytes=300) is None
        assert put(tmp_path, b"z" * 400, session="c", max_total_bytes=300, now_ms=5) is None
        assert dropped(tmp_path) == DroppedEvents(count=2, noted_bytes=900, since_ms=NOW_MS)
        assert [p for file in files(tmp_path) for p in payloads(file.path)] == [b"x" * 100]

    def test_a_growing_file_is_measured_again(self, tmp_path: Path) -> None:
        limit = spool.STEP_BYTES * 3
        kept = sum(
            put(tmp_path, b"x" * 10_000, max_total_bytes=limit) is not None for _ in range(40)
        )
        assert spool.total_bytes(str(tmp_path)) <= limit
        assert dropped(tmp_path).count == 40 - kept > 0

    def test_an_entry_above_the_largest_size_is_dropped(self, tmp_path: Path) -> None:
        assert put(tmp_path, bytes(spool.MAX_ENTRY_BYTES + 1)) is None
        assert dropped(tmp_path).count == 1

    def test_many_drops_are_counted_without_growing_much(self, tmp_path: Path) -> None:
        for _ in range(3_000):
            put(tmp_path, b"x", max_total_bytes=0)
        assert dropped(tmp_path).count == 3_000
        assert (tmp_path / spool.DROPPED_NAME).stat().st_size < 80_000

    def test_a_cleared_record_is_empty(self, tmp_path: Path) -> None:
        put(tmp_path, b"x", max_total_bytes=0)
        clear_dropped(tmp_path)
        clear_dropped(tmp_path)
        assert dropped(tmp_path) == DroppedEvents()
        assert dropped(tmp_path / "nowhere") == DroppedEvents()

    def test_drained_spools_take_new_events_again(self, tmp_path: Path) -> None:
        put(tmp_path, b"x" * 200, session="a", max_total_bytes=300)
        assert put(tmp_path, b"y" * 200, session="b", max_total_bytes=300) is None
        path = tmp_path / spool.file_name("claude", "a")
        assert remove_drained(path, offset=path.stat().st_size)
        assert put(tmp_path, b"y" * 200, session="b", max_total_bytes=300)
