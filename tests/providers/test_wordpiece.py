"""The plain-Python WordPiece tokenizer against the reference implementation."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from wellkept.core.errors import ProviderError
from wellkept.providers.embedders.bundled_models import MINILM
from wellkept.providers.embedders.wordpiece import WordPieceTokenizer

pytestmark = [
    pytest.mark.feature("B4"),
    pytest.mark.skipif(MINILM.problem() is not None, reason="the MiniLM weights are optional"),
]

_MAX_TOKENS = 256


@pytest.fixture(scope="module")
def ours() -> WordPieceTokenizer:
    return WordPieceTokenizer.from_file(MINILM.vocabulary.locate())


@pytest.fixture(scope="module")
def reference() -> tokenizers.Tokenizer:
    loaded = tokenizers.Tokenizer.from_file(
        str(MINILM.vocabulary.locate().with_name("tokenizer.json"))
    )
    loaded.no_padding()
    loaded.enable_truncation(_MAX_TOKENS)  # pyright: ignore[reportUnknownMemberType]
    return loaded


def _settled(char: str) -> bool:
    """Leave out characters that Unicode versions disagree on."""
    now, then = unicodedata.category(char), unicodedata.ucd_3_2_0.category(char)
    return now not in {"Cn", "Cs"} and now == then


_LETTERS = st.text(alphabet="abcdefghijklmnopqrstuvwxyzABCDEF  .,;:!?'\"()[]{}_-/\\\n\t0123456789")
_WORLD = st.text(
    alphabet=st.sampled_from("éÉüßçñøŁ中文字日本語のテスト한국АБвΩ😀—“”… \t\n\r\x00\x07aZ9")
)
_ANY = st.text(alphabet=st.characters(max_codepoint=0xFFFF).filter(_settled))


@given(text=st.one_of(_LETTERS, _WORLD, _ANY))
@settings(max_examples=300, deadline=None)
def test_ids_equal_those_of_the_reference_tokenizer(
    ours: WordPieceTokenizer, reference: tokenizers.Tokenizer, text: str
):
    if not any(mark in text for mark in ("[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]")):
        assert ours.encode(text, max_tokens=_MAX_TOKENS) == reference.encode(text).ids


def test_long_text_is_cut_between_the_markers(ours: WordPieceTokenizer):
    ids = ours.encode("word " * 1000, max_tokens=_MAX_TOKENS)
    assert len(ids) == _MAX_TOKENS
    assert ids[0] == 101
    assert ids[-1] == 102


def test_a_word_beyond_reason_is_unknown(ours: WordPieceTokenizer):
    assert ours.encode("x" * 101, max_tokens=_MAX_TOKENS) == [101, 100, 102]


@pytest.mark.parametrize("content", [b"", b"one\ntwo\n", b"\xff\xfe"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes):
    other = tmp_path / "vocab.txt"
    other.write_bytes(content)
    with pytest.raises(ProviderError, match=r"vocab\.txt is not a WordPiece vocabulary"):
        WordPieceTokenizer.from_file(other)
