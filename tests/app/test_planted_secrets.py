"""No way in leaves a secret in the database: neither in a row, an index, nor the log."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.opening import open_in
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.memory import Evidence, MemoryDraft, Relation, WorkUnitRef
from wellkept.core.payloads import WorkState
from wellkept.core.types import EvidenceKind, MemoryType, RelationType

pytestmark = pytest.mark.feature("A7")


class Planter:
    """Makes secrets that can be told apart, and looks for them in the raw files."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.places: dict[str, str] = {}

    def secret(self, place: str) -> str:
        made = f"ghp_{next(self._numbers):04d}aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD"
        self.places[made] = place
        return made

    def found_in(self, memory: wellkept.Wellkept) -> list[str]:
        files = memory.path.parent.glob(f"{memory.path.name}*")
        raw = b"".join(file.read_bytes() for file in files).lower()
        return [place for made, place in self.places.items() if made.lower().encode() in raw]


@pytest.fixture
def planter() -> Planter:
    return Planter()


def test_no_field_of_a_draft_lets_a_secret_through(tmp_path: Path, planter: Planter) -> None:
    plant = planter.secret
    draft = MemoryDraft(
        content=f"The token is {plant('content')}",
        type=MemoryType.WORK_STATE,
        key=plant("key"),
        tags=(plant("tag"),),
        files=(plant("file"),),
        modules=(plant("module"),),
        author=plant("author"),
        session_id=plant("session"),
        commit_sha=plant("commit"),
        work_unit=WorkUnitRef(plant("methodology"), (plant("step"),), plant("label")),
        relations=(Relation(RelationType.REQUIRED_WITH, target_file=plant("target file")),),
        evidence=(Evidence(EvidenceKind.PERSON, plant("ref"), plant("note")),),
        graph_node=plant("node"),
        citation=plant("citation"),
        payload=WorkState(
            methodology_state={
                plant("name in a payload"): [plant("text in a payload")],
                "password": "correct9horse",
            },
        ),
    )
    with open_in(tmp_path) as memory:
        (kept,) = memory.remember_many([draft])
        assert planter.found_in(memory) == []
        assert b"correct9horse" not in memory.path.read_bytes()
        assert "[redacted:" in kept.memory.content


def test_carrying_out_a_message_keeps_no_secret_of_it_or_its_author(
    tmp_path: Path, planter: Planter
) -> None:
    with open_in(tmp_path) as memory:
        done = memory.apply(
            f"Remember that the deploy token is {planter.secret('message')}",
            author=planter.secret("author"),
            session=planter.secret("session"),
        )
        assert [item.kept is not None for item in done] == [True]
        assert planter.found_in(memory) == []


def test_state_keeps_no_secret_in_values_sessions_or_names(
    tmp_path: Path, planter: Planter
) -> None:
    held: Json = {planter.secret("name"): [planter.secret("value")], "api_key": "abcd1234efgh5678"}
    with open_in(tmp_path) as memory:
        state = memory.state(session=planter.secret("session"))
        state.put("session:held", held)
        state.put("project:held", held)
        with pytest.raises(UsageError, match="secret"):
            state.put(f"project:{planter.secret('key')}", 1)
        assert state.get("session:held") == {
            "[redacted:github-token]": ["[redacted:github-token]"],
            "api_key": "[redacted:high-entropy]",
        }
        assert planter.found_in(memory) == []


def test_an_import_keeps_no_secret_of_any_field(tmp_path: Path, planter: Planter) -> None:
    with open_in(tmp_path) as memory:
        memory.remember("The parser is slow", tags=["speed"], author="jo", session="s1")
        memory.export(tmp_path / "out.jsonl")
        header, line = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
        record = json.loads(line)
        planted: dict[str, object] = {
            name: planter.secret(name)
            for name in ("content", "key", "author", "session_id", "citation", "graph_node")
        }
        planted |= {name: [planter.secret(name)] for name in ("tags", "files", "modules")}
        planted["project"] = f"name:{planter.secret('project')}"
        record |= planted | {"id": record["id"][:-4] + "0000"}
        (tmp_path / "in.jsonl").write_text(f"{header}\n{json.dumps(record)}\n", encoding="utf-8")
        report = memory.import_jsonl(tmp_path / "in.jsonl")
        assert (report.new, report.redacted, report.refused) == (1, 1, ())
        assert planter.found_in(memory) == []


def test_taking_in_a_repository_keeps_no_secret_of_its_texts_and_names(
    tmp_path: Path, planter: Planter
) -> None:
    repository = GitRepository.create(tmp_path / "repo")
    plant = planter.secret
    named = f"{plant('source name')}.py"
    for number in range(3):
        repository.write(named, f"{number}\n")
        repository.write("b.py", f"{number}\n")
        repository.write(
            "README.md",
            f"# About {plant('heading')}\n\nDeploys need {plant('text')} and a lot of patience.\n",
        )
        repository.write(f"docs/{plant('document name')}.md", "# Guide\n\nMind the gap, always.\n")
        repository.commit(f"Use {plant('subject')}\n\nBecause of {plant('body')}.")
    with wellkept.open(
        tmp_path / "data" / "memory.db", cwd=repository.root, embedder="none", environment={}
    ) as memory:
        first = memory.import_repository()
        assert first.documents > 1
        assert memory.import_repository().new == 0
        assert planter.found_in(memory) == []


@pytest.mark.parametrize("form", ["{}", "name:{}", "password={}"])
def test_a_secret_cannot_name_a_project(tmp_path: Path, planter: Planter, form: str) -> None:
    with open_in(tmp_path, project=form.format(planter.secret("project"))) as memory:
        with pytest.raises(UsageError, match="secret"):
            memory.remember("The parser is slow")
        assert planter.found_in(memory) == []
