"""Words of other languages learned from translated messages."""

from __future__ import annotations

import pytest

from scripts.train_embedder.dictionary import meanings

pytestmark = pytest.mark.feature("B4")

_GERMAN = [
    ("Delete the file", "Datei löschen"),
    ("Open the file", "Datei öffnen"),
    ("Open the folder", "Ordner öffnen"),
    ("Delete the folder", "Ordner löschen"),
] * 3
_CHINESE = [
    ("Delete the file", "删除文件"),
    ("Open the file", "打开文件"),
    ("Open the folder", "打开目录"),
    ("Delete the folder", "删除目录"),
    # Characters also stand in other words, so that only both together mean one thing.
    (
        "A sentence, an email, a divided and scattered record",
        "文章 邮件 除法 删节 打包 开会 目标 录音",
    ),
    (
        "A lesson, a case, a removal, a cut, a beat, a start",
        "文本 条件 扣除 删减 打鼓 开始 项目 录取",
    ),
] * 3


def test_words_mean_what_stands_in_their_place() -> None:
    found = meanings(_GERMAN, 10)
    best = {word: of[0][0] for word, of in found.items()}
    assert best == {"datei": "file", "ordner": "folder", "loschen": "delete", "offnen": "open"}


def test_text_without_spaces_is_cut_into_words() -> None:
    found = meanings(_CHINESE, 20)
    wanted = {"文件": "file", "目录": "folder", "删除": "delete", "打开": "open"}
    assert {word: found[word][0][0] for word in wanted} == wanted


def test_the_weights_of_a_word_are_shares() -> None:
    for of in meanings(_GERMAN, 10).values():
        assert 0.0 < sum(weight for _, weight in of) <= 1.0 + 1e-9


def test_rare_words_and_english_words_are_left_out() -> None:
    rare = [("Restart the server", "Server neustarten"), *_GERMAN, ("The file", "file")]
    found = meanings(rare, 10)
    assert "neustarten" not in found
    assert "file" not in found
    assert len(meanings(_GERMAN, 2)) <= 2


def test_no_messages_mean_nothing() -> None:
    assert meanings([], 10) == {}
