"""Kept conversations of the agent: what goes in comes out, whatever happens to the file."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.chat.messages import (
    IMAGE_NOTE,
    ImagePart,
    Message,
    MessageKind,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    message_from_json,
    message_to_json,
    tool_message,
    user_message,
)
from wellkept.core.codec import Json
from wellkept.core.errors import NotFoundError, StoreError, UsageError
from wellkept.store.transcripts import FILE_NAME, TranscriptFiles
from wellkept.text.secrets.redaction import redact_json

pytestmark = pytest.mark.feature("G1")

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_PARTS = st.one_of(
    st.builds(TextPart, _TEXT),
    st.builds(ThinkingPart, _TEXT, _TEXT, st.booleans()),
    st.builds(ToolCallPart, _TEXT, _TEXT, _TEXT.filter(bool), _TEXT),
    st.builds(ToolResultPart, _TEXT, _TEXT, _TEXT, is_error=st.booleans()),
)


def plain(value: Json) -> Json:
    return value


@pytest.fixture
def files(tmp_path: Path) -> TranscriptFiles:
    return TranscriptFiles(tmp_path / "agent", redact=redact_json)


CALL = ToolCallPart("toolu_01", "Bash", '{"command": "ls"}')
TALK = (
    user_message("List the files"),
    assistant_message("Gladly.", CALL),
    tool_message(ToolResultPart("toolu_01", "Bash", "a.py")),
    assistant_message("There is a.py."),
)


def written(files: TranscriptFiles, session: str = "session-1") -> Path:
    writer = files.writer(session, cwd="/work", model="scripted")
    for message in TALK:
        writer.append(message)
    return files.folder / session / FILE_NAME


@given(
    st.lists(_PARTS, min_size=1, max_size=4), st.sampled_from(Role), st.sampled_from(MessageKind)
)
def test_a_message_comes_back_as_it_was(parts: list[Part], role: Role, kind: MessageKind) -> None:
    message = Message(role=role, parts=tuple(parts), kind=kind)
    assert message_from_json(json.loads(json.dumps(message_to_json(message)))) == message


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(200)).decode()
SIGNED = ThinkingPart("The folder first.", "EqQBCgIYAhIkcGFzc3dvcmQ9aHVudGVyMg==")


def kept(files: TranscriptFiles, *messages: Message) -> tuple[Message, ...]:
    """Messages as they come back from a session that is resumed."""
    writer = files.writer("session-1")
    for message in messages:
        writer.append(message)
    return files.load("session-1").messages


def test_a_tool_round_comes_back_with_its_signed_thinking(files: TranscriptFiles) -> None:
    """Anthropic wants it back byte for byte within a round, Google the signature of a call."""
    hidden = ThinkingPart("", "ErUBKkYIBRgC", redacted=True)
    signed_call = ToolCallPart("c1", "Bash", '{"command": "ls"}', "Cg1zaWduYXR1cmU=")
    asked = Message(role=Role.ASSISTANT, parts=(SIGNED, hidden, TextPart("So."), signed_call))
    result = tool_message(ToolResultPart("c1", "Bash", "a.py"))
    assert kept(files, asked, result) == (asked, result)
    files.writer("session-1").rewrite([asked])
    assert files.load("session-1").messages == (asked,)


def test_signed_thinking_that_holds_a_secret_is_left_out(files: TranscriptFiles) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    said = ThinkingPart(f"The token is {secret}.", "c2lnbmVk")
    plain = ThinkingPart(f"The token is {secret}.")
    (back,) = kept(files, Message(role=Role.ASSISTANT, parts=(said, plain, TextPart("Yes."))))
    written = (files.folder / "session-1" / FILE_NAME).read_text("utf-8")
    assert secret not in written
    # Unsigned thinking is nobody's to check: it stays, redacted.
    assert [type(part) for part in back.parts] == [ThinkingPart, TextPart]
    assert not back.parts[0].signature if isinstance(back.parts[0], ThinkingPart) else False
    (only,) = kept(files, Message(role=Role.ASSISTANT, parts=(said,)))[1:]
    assert only.text


def test_images_come_back_and_are_written_once(files: TranscriptFiles) -> None:
    image = ImagePart(PNG, "image/png")
    shown = tool_message(ToolResultPart("c", "Read", "a.png", images=(image,)))
    asked = Message(role=Role.USER, parts=(TextPart("And this?"), image))
    assert kept(files, shown, asked) == (shown, asked)
    files.writer("session-1").rewrite([shown, asked])
    assert files.load("session-1").messages == (shown, asked)
    (file,) = (files.folder / "session-1" / "images").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert PNG not in (files.folder / "session-1" / FILE_NAME).read_text("utf-8")


@pytest.mark.parametrize(
    "image",
    [
        ImagePart(base64.b64encode(b"password = hunter2").decode(), "image/png"),
        ImagePart(PNG, "text/plain"),
        ImagePart("not base64!", "image/png"),
        ImagePart(base64.b64encode(b"\xff\xd8\xff" + bytes(9 << 20)).decode(), "image/jpeg"),
    ],
)
def test_what_is_no_image_or_too_large_is_a_note(files: TranscriptFiles, image: ImagePart) -> None:
    (back,) = kept(files, tool_message(ToolResultPart("c", "Read", "a", images=(image,))))
    assert back.tool_results[0].images == ()
    assert IMAGE_NOTE in back.tool_results[0].content
    assert not (files.folder / "session-1" / "images").exists()


@pytest.mark.parametrize("damage", [None, b"", b"\x89PNG\r\n\x1a\nother"])
def test_an_image_that_is_gone_or_changed_is_a_note(
    files: TranscriptFiles, damage: bytes | None
) -> None:
    image = ImagePart(PNG, "image/png")
    shown = tool_message(ToolResultPart("c", "Read", "a.png", images=(image,)))
    kept(files, shown, Message(role=Role.USER, parts=(image,)))
    (file,) = (files.folder / "session-1" / "images").iterdir()
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    result, asked = files.load("session-1").messages
    assert IMAGE_NOTE in result.tool_results[0].content
    assert asked.text == IMAGE_NOTE


def test_a_session_has_room_for_so_many_images(
    files: TranscriptFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wellkept.store.transcripts.MAX_SESSION_BYTES", 300)
    other = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 200).decode()
    images = (ImagePart(PNG, "image/png"), ImagePart(other, "image/png"))
    (back,) = kept(files, tool_message(ToolResultPart("c", "Read", "a", images=images)))
    assert back.tool_results[0].images == images[:1]
    assert IMAGE_NOTE in back.tool_results[0].content


_NO_MESSAGES: list[object] = [None, 3, [], {}, {"role": "user"}, {"role": "x", "parts": [1]}]


@pytest.mark.parametrize("data", _NO_MESSAGES)
def test_what_is_no_message_is_refused(data: object) -> None:
    with pytest.raises(UsageError):
        message_from_json(data)


def test_a_session_comes_back_with_its_state(files: TranscriptFiles) -> None:
    written(files)
    files.writer("session-1").save_state({"session:finding:1": "uses tabs"})
    stored = files.load("session-1")
    assert stored.messages == TALK
    assert dict(stored.state) == {"session:finding:1": "uses tabs"}
    assert (stored.info.title, stored.info.cwd) == ("List the files", "/work")
    assert stored.info.messages == 4


def test_after_a_rewrite_only_the_new_messages_count(files: TranscriptFiles) -> None:
    path = written(files)
    before = path.read_bytes()
    writer = files.writer("session-1")
    writer.rewrite([user_message("Summary", kind=MessageKind.SUMMARY)])
    writer.append(assistant_message("On it."))
    assert [one.text for one in files.load("session-1").messages] == ["Summary", "On it."]
    assert path.read_bytes().startswith(before)


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_torn_last_line_costs_that_line_only(files: TranscriptFiles, cut: int) -> None:
    path = written(files)
    path.write_bytes(path.read_bytes()[:-cut])
    assert files.load("session-1").messages == TALK[: 4 if cut == 1 else 3]
    files.writer("session-1").append(assistant_message("I go on."))
    assert files.load("session-1").messages[-1].text == "I go on."


def test_lines_of_any_other_shape_are_passed_over(files: TranscriptFiles) -> None:
    path = written(files)
    with path.open("ab") as file:
        file.write(b'{"type": "message", "message": 3}\n[1]\n\xff\xfe\n{"type": "rewrite"\n')
        file.write(b"[" * 100_000 + b"\n")
    assert files.load("session-1").messages == TALK


def test_secrets_do_not_reach_the_file(files: TranscriptFiles) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    writer = files.writer("s-secret")
    writer.append(user_message(f"Use the token {secret}"))
    writer.append(tool_message(ToolResultPart("c", "Bash", f"GITHUB_TOKEN={secret}")))
    writer.append(assistant_message("", ToolCallPart("c", "Bash", json.dumps({"command": secret}))))
    writer.save_state({"session:note": secret})
    assert secret not in (files.folder / "s-secret" / FILE_NAME).read_text("utf-8")


@pytest.mark.feature("A10", "G1")
@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "mysql -u root -p'tiger4711' \\\n  shop"},
        {"file_path": ".env", "content": 'DB_PASS="tiger4711"\nDEBUG=1\n'},
        {"headers": {"x-api-password": "tiger4711"}},
        {"env": [{"name": "DB_PASSWORD", "value": "tiger4711"}]},
    ],
)
def test_secrets_in_the_arguments_of_calls_do_not_reach_the_file(
    files: TranscriptFiles, arguments: Json
) -> None:
    given = json.dumps(arguments)
    files.writer("s", cwd="/work").append(
        assistant_message("", ToolCallPart("toolu_02", "Bash", given))
    )
    kept = (files.folder / "s" / FILE_NAME).read_text("utf-8")
    assert "tiger4711" not in kept
    (call,) = files.load("s").messages[0].tool_calls
    assert list(json.loads(call.arguments)) == list(json.loads(given))


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
def test_only_the_owner_can_read_a_transcript(files: TranscriptFiles) -> None:
    path = written(files)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_sessions_are_listed_latest_first_and_found_by_their_beginning(
    files: TranscriptFiles,
) -> None:
    for number, name in enumerate(("aaaa-1", "aaaa-2", "bbbb-1")):
        os.utime(written(files, name), (1_000_000 + number, 1_000_000 + number))
    assert [one.id for one in files.list()] == ["bbbb-1", "aaaa-2", "aaaa-1"]
    assert [one.id for one in files.list(limit=1)] == ["bbbb-1"]
    assert files.load("bbbb").info.id == "bbbb-1"
    with pytest.raises(NotFoundError, match="2 agent sessions"):
        files.load("aaaa")
    with pytest.raises(NotFoundError):
        files.load("cccc")


def test_a_hostile_id_stays_inside_the_folder(files: TranscriptFiles) -> None:
    for name in ("../../outside", "..", "a/b", "C:\\x", "\0"):
        files.writer(name).append(user_message("x"))
    assert {path.parent.parent for path in files.folder.rglob(FILE_NAME)} == {files.folder}


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("a file", "utf-8")
    files = TranscriptFiles(tmp_path / "agent", redact=plain)
    assert files.list() == []
    with pytest.raises(StoreError, match="cannot be written"):
        files.writer("s").append(user_message("x"))


def test_an_empty_file_is_no_session(files: TranscriptFiles) -> None:
    path = files.folder / "empty" / FILE_NAME
    path.parent.mkdir(parents=True)
    path.touch()
    assert files.list() == []
    with pytest.raises(NotFoundError):
        files.load("empty")
