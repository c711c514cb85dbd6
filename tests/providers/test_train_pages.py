"""What the training of the default table reads and makes: pages, functions, subjects, blends."""

from __future__ import annotations

import numpy as np
import pytest

from scripts.train_embedder.blend import blended
from scripts.train_embedder.pages import page_pairs
from scripts.train_embedder.pairs import Refused, python_pairs
from scripts.train_embedder.subjects import Subjects
from wellkept.models.embedders.words import WordTokenizer

HASHED_ROWS = WordTokenizer([]).size

pytestmark = pytest.mark.feature("B4")

_PAGE = """---
title: Roll back a release - Azure Pipelines
description: "How to return to the former version {{ product }} when a release fails."
---

import { Note } from "components";

> [!NOTE]
> This is a preview.

## Before you begin

Every release keeps the files of the one before it for ten days. After that they are removed for good.
"""

_CODE = '''
def load_settings(path):
    """Read the settings of a project from a file.

    Missing values get their defaults.
    """
    with open(path) as stream:
        return merge_defaults(parse(stream.read()))
'''


def test_a_page_gives_title_and_description_without_templates() -> None:
    found = list(page_pairs(_PAGE))
    about = "How to return to the former version when a release fails."
    assert ("title", ("Roll back a release", about)) in found


def test_a_page_gives_headings_with_text_and_neighbouring_sentences() -> None:
    found = dict(page_pairs(_PAGE))
    heading, text = found["page"]
    assert heading == "Roll back a release: Before you begin"
    assert text.startswith("Every release keeps")
    assert found["next"][1] == "After that they are removed for good."
    assert not any("import" in side for pair in found.values() for side in pair)


def test_a_description_that_only_repeats_the_title_is_left_out() -> None:
    page = (
        "---\ntitle: ICLRDebug Interface\ndescription: Learn more about: ICLRDebug Interface\n---\n"
    )
    assert list(page_pairs(page)) == []


def test_a_function_stands_as_it_is_written_without_its_summary() -> None:
    found = dict(python_pairs(_CODE, Refused([])))
    summary, source = found["function"]
    assert summary == "Read the settings of a project from a file."
    assert "def load_settings(path):" in source
    assert "return merge_defaults" in source
    assert summary not in source


def test_a_measured_function_is_refused() -> None:
    assert list(python_pairs(_CODE, Refused([_CODE]))) == []


def test_texts_of_one_subject_are_drawn_together() -> None:
    random = np.random.default_rng(1)
    centres = np.eye(4, 16)
    vectors = np.repeat(centres, 300, axis=0) + 0.05 * random.standard_normal((1200, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = Subjects(vectors, seed=3).draw(32, random)
    assert len(rows) == 32
    shares = np.bincount(rows // 300, minlength=4) / len(rows)
    assert shares.max() > 0.9


def test_a_blend_keeps_the_likeness_on_which_its_tables_agree() -> None:
    random = np.random.default_rng(5)
    words = [f"word{chr(97 + n)}" for n in range(20)]
    first, second = random.standard_normal((2, 20, 300)).astype(np.float32)
    for rows in (first, second):
        rows[1] = rows[0] + 0.1 * rows[1]  # both hold these two words for alike
    second[3] = second[2]  # one alone holds these for alike
    hashed = random.standard_normal((HASHED_ROWS, 300)).astype(np.float32)
    tables = [(words, np.vstack([rows, hashed])) for rows in (first, second)]
    rows = blended(tables, [1.0, 1.0], [" ".join(words[n : n + 3]) for n in range(18)])

    def likeness(one: int, other: int) -> float:
        lengths = np.linalg.norm(rows[one]) * np.linalg.norm(rows[other])
        return float(rows[one] @ rows[other] / lengths)

    assert rows.shape == (20 + HASHED_ROWS, 256)
    assert likeness(0, 1) > 0.9
    assert 0.3 < likeness(2, 3) < 0.8
    assert likeness(5, 9) < 0.3
