"""Read, Write, Edit and NotebookEdit (G2) on real files."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.conftest import MakeSession
from tests.agent.tools.conftest import MakeBench, ToolBench
from wellkept.core.session.events import Edit
from wellkept.testing.scripted_model import call, calls
from wellkept_agent import LoopSettings
from wellkept_agent.events import ToolFinished
from wellkept_agent.tools.default import default_tools

pytestmark = pytest.mark.feature("G2")

_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


# -- Read -----------------------------------------------------------------------------------------


def test_lines_come_with_numbers_and_are_remembered_for_the_file_cache(bench: ToolBench) -> None:
    path = bench.write("a.py", "one\ntwo\n")
    output = bench.use("Read", file_path="a.py")
    assert output.content == "     1\tone\n     2\ttwo"
    assert output.files == (str(path),)
    assert path in bench.session.files
    assert bench.session.summary().files_read == ((str(path), 2, 1),)


def test_a_part_is_read_by_offset_and_limit_and_says_how_to_go_on(bench: ToolBench) -> None:
    bench.write("a.txt", "".join(f"line {n}\n" for n in range(1, 101)))
    output = bench.use("Read", file_path="a.txt", offset=10, limit=2)
    assert output.content.splitlines() == [
        "    10\tline 10",
        "    11\tline 11",
        "[Lines 10-11 of 100. Go on with offset=12.]",
    ]
    after = bench.use("Read", file_path="a.txt", offset=500)
    assert after.is_error
    assert "100 lines" in after.content


def test_a_result_never_exceeds_what_the_loop_takes(make_bench: MakeBench) -> None:
    settings = LoopSettings(permission_mode="bypass", max_result_chars=2_000)
    bench = make_bench(settings=settings)
    bench.write("a.txt", "".join(f"{'x' * 90}{n}\n" for n in range(100)))
    content = bench.use("Read", file_path="a.txt").content
    assert "left out" not in content
    last = int(content.splitlines()[-2].split("\t")[0])
    assert f"offset={last + 1}" in content


def test_an_unchanged_part_is_answered_in_a_line_as_long_as_it_is_in_the_conversation(
    bench: ToolBench,
) -> None:
    path = bench.write("a.txt", "one\ntwo\n")
    bench.use("Read", file_path="a.txt")
    assert "unchanged" in bench.use("Read", file_path="a.txt").content
    assert "two" in bench.use("Read", file_path="a.txt", offset=2, limit=1).content
    os.utime(path, (1, 1))
    assert "unchanged" in bench.use("Read", file_path="a.txt").content
    path.write_text("one\ntwO\n")
    assert "twO" in bench.use("Read", file_path="a.txt").content
    bench.session.replace_turns([])
    assert "twO" in bench.use("Read", file_path="a.txt").content


def test_a_missing_file_names_the_nearest(bench: ToolBench) -> None:
    bench.write("src/settings.py")
    assert "Did you mean src/settings.py?" in bench.use("Read", file_path="src/setings.py").content
    missing = bench.use("Read", file_path="lib/deep/x.py")
    assert missing.is_error
    assert "does not exist" in missing.content


def test_what_is_no_text_file_is_refused_with_advice(bench: ToolBench) -> None:
    bench.write("folder/x")
    bench.write("a.bin", b"PK\x03\x04\0\0")
    assert "Use LS" in bench.use("Read", file_path="folder").content
    binary = bench.use("Read", file_path="a.bin")
    assert binary.is_error
    assert "zip archive" in binary.content
    os.mkfifo(bench.root / "pipe")
    assert "no regular file" in bench.use("Read", file_path="pipe").content
    bench.write("empty")
    assert bench.use("Read", file_path="empty").content == "empty is empty."


def test_long_lines_are_cut_and_a_huge_file_is_read_in_parts(bench: ToolBench) -> None:
    bench.write("min.js", "x" * 5_000 + "\nend\n")
    content = bench.use("Read", file_path="min.js").content
    assert "[… 3,000 more]" in content
    assert content.endswith("     2\tend")
    with (bench.root / "huge.log").open("w") as file:
        for number in range(300_000):
            file.write(f"{number} {'y' * 80}\n")
    part = bench.use("Read", file_path="huge.log", offset=200_001, limit=1).content
    assert part.startswith("200001\t200000 y")
    assert "offset=200002" in part


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_other_encodings_are_read_and_kept_by_an_edit(bench: ToolBench, encoding: str) -> None:
    path = bench.write("a.txt", "grüße\r\nzwei\r\n".encode(encoding))
    assert "grüße" in bench.use("Read", file_path="a.txt").content
    done = bench.use("Edit", file_path="a.txt", old_string="zwei", new_string="drei")
    assert not done.is_error
    assert path.read_bytes().decode(encoding) == "grüße\r\ndrei\r\n"


def test_a_character_that_the_encoding_lacks_is_refused(bench: ToolBench) -> None:
    path = bench.write("a.txt", "grüße\n".encode("latin-1"))
    bench.use("Read", file_path="a.txt")
    output = bench.use("Edit", file_path="a.txt", old_string="gr", new_string="世")
    assert output.is_error
    assert "latin-1" in output.content
    assert path.read_bytes() == "grüße\n".encode("latin-1")


def test_an_image_is_shown_to_models_that_see(bench: ToolBench) -> None:
    bench.write("a.png", _PNG)
    output = bench.use("Read", file_path="a.png")
    assert output.images[0].media_type == "image/png"
    assert base64.b64decode(output.images[0].data) == _PNG


def test_a_model_that_sees_nothing_is_told_so(make_session: MakeSession) -> None:
    session = make_session([calls(call("Read", file_path="a.png")), "ok"], tools=default_tools())
    (session.root / "a.png").write_bytes(_PNG)
    asyncio.run(session.run("go"))
    result = session.conversation.turns[2].tool_results[0]
    assert "cannot see images" in result.content
    assert not result.images


def test_pages_of_a_pdf_are_read_as_text(bench: ToolBench) -> None:
    bench.write("a.pdf", _pdf("first page", "second page", "third page"))
    everything = bench.use("Read", file_path="a.pdf").content
    assert "[Page 1 of 3]\nfirst page" in everything
    some = bench.use("Read", file_path="a.pdf", pages="2-3").content
    assert "first" not in some
    assert "third page" in some
    assert "not understood" in bench.use("Read", file_path="a.pdf", pages="x").content
    assert bench.use("Read", file_path="a.pdf", pages="9").is_error


def test_a_broken_pdf_is_an_error_and_the_session_goes_on(bench: ToolBench) -> None:
    bench.write("a.pdf", b"%PDF-1.4\nnothing here")
    output = bench.use("Read", file_path="a.pdf")
    assert output.is_error
    assert "a.pdf" in output.content


def test_a_notebook_is_read_by_cells(bench: ToolBench) -> None:
    bench.write("a.ipynb", json.dumps(_notebook()))
    content = bench.use("Read", file_path="a.ipynb").content
    assert "<cell id='c1' code python>" in content
    assert "print(1)" in content
    assert "<output>" in content
    bench.write("b.ipynb", "{broken")
    assert "{broken" in bench.use("Read", file_path="b.ipynb").content


def test_paths_stay_inside_the_project(bench: ToolBench, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("top secret")
    (bench.root / "link").symlink_to(secret)
    (bench.root / "loop").symlink_to("loop")
    for given in ("../secret.txt", str(secret), "link", "~/x", "/etc/passwd", "loop", "a\0b", " "):
        output = bench.use("Read", file_path=given)
        assert output.is_error, given
        assert "top secret" not in output.content
    for given in ("C:\\Windows\\win.ini", "..\\secret.txt", "\\\\server\\share\\x", "C:secret"):
        assert "Windows path" in bench.use("Read", file_path=given).content
    for name, arguments in (
        ("Write", {"content": "x"}),
        ("Edit", {"old_string": "top", "new_string": "x"}),
    ):
        for given in ("link", "../secret.txt"):
            assert bench.use(name, file_path=given, **arguments).is_error
    assert secret.read_text() == "top secret"


# -- Write ----------------------------------------------------------------------------------------


def test_a_new_file_is_written_with_its_folders(bench: ToolBench) -> None:
    output = bench.use("Write", file_path="a/b/c.txt", content="hi\n")
    path = bench.root / "a/b/c.txt"
    assert path.read_text() == "hi\n"
    assert output.edits == (Edit(str(path), "", "hi\n"),)
    assert "+hi" in output.display
    assert not bench.use("Edit", file_path="a/b/c.txt", old_string="hi", new_string="ho").is_error


def test_a_file_must_be_read_before_it_is_replaced(bench: ToolBench) -> None:
    path = bench.write("a.txt", "old\n")
    refused = bench.use("Write", file_path="a.txt", content="new\n")
    assert refused.is_error
    assert "Read it first" in refused.content
    assert refused.files == ("a.txt",)
    bench.use("Read", file_path="a.txt")
    path.write_text("OLD\n")
    assert "changed after it was read" in bench.use("Write", file_path="a.txt", content="x").content
    bench.use("Read", file_path="a.txt")
    done = bench.use("Write", file_path="a.txt", content="new\n")
    assert done.edits == (Edit(str(path), "OLD\n", "new\n"),)
    assert path.read_text() == "new\n"


def test_mode_and_line_ends_are_kept(bench: ToolBench) -> None:
    path = bench.write("run.sh", "a\r\nb\r\n")
    path.chmod(0o755)
    bench.use("Read", file_path="run.sh")
    bench.use("Write", file_path="run.sh", content="c\nd\n")
    assert path.read_bytes() == b"c\r\nd\r\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert not [one for one in bench.root.iterdir() if one.name.startswith(".new-")]


def test_a_write_protected_file_is_left_alone(bench: ToolBench) -> None:
    path = bench.write("a.txt", "old\n")
    path.chmod(0o444)
    bench.use("Read", file_path="a.txt")
    assert "write-protected" in bench.use("Write", file_path="a.txt", content="x").content
    assert path.read_text() == "old\n"


def test_what_cannot_be_written_is_said_plainly(bench: ToolBench) -> None:
    bench.write("a.txt", "x")
    assert (
        "a part of the path is a file"
        in bench.use("Write", file_path="a.txt/b", content="x").content
    )
    assert "too long" in bench.use("Write", file_path="n" * 300, content="x").content
    assert "folder" in bench.use("Write", file_path="new/", content="x").content


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_disk_that_is_full_leaves_the_old_file(bench: ToolBench) -> None:
    """Files may not grow beyond 1,000 bytes in a child process that runs the real tool."""
    path = bench.write("a.txt", "old\n")
    script = """
import resource, signal, sys
from pathlib import Path
from tests.agent.tools.conftest import ToolBench
bench = ToolBench(Path(sys.argv[1]), Path(sys.argv[2]))
bench.use("Read", file_path="a.txt")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
print(bench.use("Write", file_path="a.txt", content="x" * 5000).content)
print(bench.use("Write", file_path="b.txt", content="x" * 5000).content)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(bench.root), str(bench.root.parent / "s")],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.count("Not written.") == 2, done.stdout
    assert path.read_text() == "old\n"
    assert [one.name for one in bench.root.iterdir()] == ["a.txt"]


def test_the_diff_of_a_huge_change_is_short(bench: ToolBench) -> None:
    before = [f"old {n}" for n in range(20_000)]
    bench.write("a.txt", "\n".join(["same", *before, "end"]) + "\n")
    bench.use("Read", file_path="a.txt", limit=1)
    after = [f"new {n}" for n in range(20_000, 0, -1)]
    output = bench.use(
        "Write", file_path="a.txt", content="\n".join(["same", *after, "end"]) + "\n"
    )
    lines = output.display.splitlines()
    assert lines[2] == "@@ -2,20000 +2,20000 @@"
    assert lines[3] == "-old 0"
    assert "+new 20000" in lines
    assert len(lines) < 450


# -- Edit -----------------------------------------------------------------------------------------


def test_an_edit_replaces_exactly_one_place(bench: ToolBench) -> None:
    path = bench.write("a.py", "x = 1\ny = 1\n")
    bench.use("Read", file_path="a.py")
    twice = bench.use("Edit", file_path="a.py", old_string="= 1", new_string="= 2")
    assert twice.is_error
    assert "2 times (lines 1, 2)" in twice.content
    assert path.read_text() == "x = 1\ny = 1\n"
    output = bench.use("Edit", file_path="a.py", old_string="x = 1", new_string="x = 2")
    assert path.read_text() == "x = 2\ny = 1\n"
    assert output.edits == (Edit(str(path), "x = 1", "x = 2"),)
    assert "-x = 1" in output.display
    assert "     1\tx = 2" in output.content
    every = bench.use("Edit", file_path="a.py", old_string="=", new_string="==", replace_all=True)
    assert "2 places" in every.content
    assert path.read_text() == "x == 2\ny == 1\n"


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        ("     1\tdef f():", "line numbers"),
        ("def f() :\n\treturn 1", "Nearest is line 1"),
        (
            "def f():\n\treturn 1",
            "Only white space or quotes differ. Line 1 on is exactly:\ndef f():\n    return 1",
        ),
        ("say(“hi”)", "Only white space or quotes differ. Line 3"),
        ("def g():\n    return 12", "Nearest is line 1"),
        ("zzzzzzzz qqqqqq", "Nothing in the file is like it"),
        ("gone", "new_string is there already"),
    ],
)
def test_a_text_that_is_not_found_is_explained(bench: ToolBench, old: str, expected: str) -> None:
    bench.write("a.py", 'def f():\n    return 1\nsay("hi")\nhere now\n')
    bench.use("Read", file_path="a.py")
    new = "here now" if old == "gone" else "new"
    output = bench.use("Edit", file_path="a.py", old_string=old, new_string=new)
    assert output.is_error
    assert expected in output.content


def test_line_ends_of_either_kind_match_and_stay(bench: ToolBench) -> None:
    path = bench.write("a.txt", "a\r\nb\r\nc\nd\r\n")
    bench.use("Read", file_path="a.txt")
    output = bench.use("Edit", file_path="a.txt", old_string="b\nc", new_string="B\nX\nC")
    assert not output.is_error
    assert path.read_bytes() == b"a\r\nB\r\nX\r\nC\nd\r\n"


def test_an_empty_old_string_creates_a_file_but_does_not_replace_one(bench: ToolBench) -> None:
    assert not bench.use("Edit", file_path="n.txt", old_string="", new_string="x\n").is_error
    assert (bench.root / "n.txt").read_text() == "x\n"
    assert bench.use("Edit", file_path="n.txt", old_string="", new_string="y").is_error
    assert (
        "nothing to change"
        in bench.use("Edit", file_path="n.txt", old_string="x", new_string="x").content
    )


def test_a_change_by_somebody_else_between_read_and_edit_is_noticed(bench: ToolBench) -> None:
    path = bench.write("a.txt", "one\n")
    bench.use("Read", file_path="a.txt")
    stamp = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    output = bench.use("Edit", file_path="a.txt", old_string="one", new_string="x")
    assert "changed after it was read" in output.content


def test_the_events_carry_the_diff(bench: ToolBench) -> None:
    bench.use("Write", file_path="a.txt", content="hi\n")
    finished = [event for event in bench.events if isinstance(event, ToolFinished)]
    assert "+hi" in finished[0].display


# -- Data -----------------------------------------------------------------------------------------


def _notebook() -> dict[str, object]:
    return {
        "cells": [
            {"cell_type": "markdown", "id": "c0", "metadata": {}, "source": ["# Title\n", "text"]},
            {
                "cell_type": "code", "id": "c1", "metadata": {}, "execution_count": 3,
                "source": ["print(1)\n"],
                "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
            },
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }  # fmt: skip


def _pdf(*texts: str) -> bytes:
    """A small PDF with a line of text on each page."""
    from io import BytesIO

    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in texts:
        page = writer.add_blank_page(300, 300)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)  # pyright: ignore[reportPrivateUsage]
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    data = BytesIO()
    writer.write(data)
    return data.getvalue()
