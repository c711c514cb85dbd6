"""What files are for, and which kinds a request speaks of."""

from __future__ import annotations

import pytest

from wellkept.graph.index.file_kind import FileKind, asked_kinds, file_kind

pytestmark = pytest.mark.feature("E5")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/app/pool.py", FileKind.CODE),
        ("lib/index.ts", FileKind.CODE),
        ("tests/test_pool.py", FileKind.TEST),
        ("pool_test.go", FileKind.TEST),
        ("README.md", FileKind.DOCUMENT),
        ("docs/guide.rst", FileKind.DOCUMENT),
        ("docs/conf.py", FileKind.EXAMPLE),
        ("CHANGELOG.md", FileKind.CHANGE_LOG),
        ("doc/whatsnew/fragments/11219.bugfix", FileKind.CHANGE_LOG),
        ("src/history.py", FileKind.CODE),
        ("pyproject.toml", FileKind.CONFIGURATION),
        ("LICENSE", FileKind.CONFIGURATION),
        (".github/workflows/test.yml", FileKind.CI),
        (".gitlab-ci.yml", FileKind.CI),
        ("examples/plot.py", FileKind.EXAMPLE),
        ("playground/app/package.json", FileKind.EXAMPLE),
        ("examples/README.md", FileKind.DOCUMENT),
        ("go.sum", FileKind.GENERATED),
        ("api/user_pb2.py", FileKind.GENERATED),
        ("src/__generated__/types.ts", FileKind.GENERATED),
        ("data/table.csv", FileKind.DATA),
    ],
)
def test_a_path_tells_what_a_file_is_for(path: str, kind: FileKind) -> None:
    assert file_kind(path) is kind


def test_a_request_tells_which_kinds_it_speaks_of() -> None:
    assert FileKind.CI in asked_kinds("The GitHub Actions workflow is red")
    assert FileKind.DOCUMENT in asked_kinds("Typo in the README")
    assert FileKind.CONFIGURATION in asked_kinds("bump the dependencies in pyproject")
    assert asked_kinds("TypeError when the pool is empty") == frozenset()


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("where is CI configured", FileKind.CI),
        ("what does the release workflow do", FileKind.CI),
        ("which tests cover the pool", FileKind.TEST),
        ("how is the pool tested", FileKind.TEST),
        ("which python versions are supported", FileKind.CONFIGURATION),
        ("where are the eslint rules", FileKind.CONFIGURATION),
        ("which file lists the dependencies", FileKind.CONFIGURATION),
        ("where are our dependencies pinned", FileKind.CONFIGURATION),
        ("where are the release notes", FileKind.CHANGE_LOG),
        ("is there an example of a plugin", FileKind.EXAMPLE),
    ],
)
def test_a_question_asks_for_a_kind(question: str, kind: FileKind) -> None:
    assert kind in asked_kinds(question)


@pytest.mark.parametrize(
    "question",
    [
        "Pipeline.fit ignores sample weights",
        "how does the runner schedule jobs",
        "the workflow engine retries a step twice",
        "where is the dependency cache invalidated",
        "where do we wait for a connection",
    ],
)
def test_words_of_the_pipeline_that_code_uses_too_ask_for_no_kind(question: str) -> None:
    assert asked_kinds(question) == frozenset()
