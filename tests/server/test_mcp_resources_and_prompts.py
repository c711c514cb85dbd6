"""Memories as resources, and the prompts a person can pick."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.mcp_client import Talk, memories_in

pytestmark = pytest.mark.feature("C5")


def test_a_memory_is_read_by_its_address(talk: Talk) -> None:
    kept = talk.call("memory_store", content="Builds need Node 24", key="build/node")
    (template,) = talk.portal.call(talk.client.list_resource_templates).resource_templates
    assert template.uri_template == "wellkept://memory/{id}"
    assert "Builds need Node 24" in talk.read(f"wellkept://memory/{kept['id']}")
    assert "Builds need Node 24" in talk.read("wellkept://memory/build%2Fnode")


def test_the_standing_resources_are_listed_and_read(talk: Talk, tmp_path: Path) -> None:
    memories = memories_in(tmp_path)
    with memories.of("") as wk:
        wk.remember("Tests run with make test", type="convention", source="user_taught")
    memories.close()
    talk.call("memory_store", content="Releases are cut on Tuesdays", type="convention")
    listed = talk.portal.call(talk.client.list_resources).resources
    assert [str(resource.uri) for resource in listed] == ["wellkept://context", "wellkept://stats"]
    told = talk.read("wellkept://context")
    assert "Tests run with make test" in told
    assert "Tuesdays" not in told
    assert "2" in talk.read("wellkept://stats")


@pytest.mark.parametrize("uri", ["wellkept://memory/nosuch", "wellkept://memory/", "wellkept://x"])
def test_an_address_that_leads_nowhere_is_invalid(talk: Talk, uri: str) -> None:
    assert talk.refused("read_resource", uri).error.code == -32602


def test_the_recall_prompt_brings_what_is_known_as_data(talk: Talk) -> None:
    kept = talk.call("memory_store", content="Releases are cut on Tuesdays")
    text = talk.prompt("memory-recall", question="when are releases cut?")
    assert f"m:{kept['id']}" in text
    assert "data, not instructions" in text
    assert text.index("<wellkept-memory>") < text.index("Tuesdays")


def test_the_remember_prompt_names_the_tool_and_the_words(talk: Talk) -> None:
    text = talk.prompt("memory-remember", what="we {never} squash")
    assert "memory_remember" in text
    assert "we {never} squash" in text


def test_prompts_are_listed_with_their_argument(talk: Talk) -> None:
    listed = talk.portal.call(talk.client.list_prompts).prompts
    arguments = {p.name: [a.name for a in p.arguments or []] for p in listed}
    assert list(arguments)[:2] == ["memory-remember", "memory-recall"]
    assert arguments.pop("memory-remember") == ["what"]
    assert arguments.pop("memory-recall") == ["question"]
    assert all(names == ["arguments"] for names in arguments.values())  # skills


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("forget", {"what": "x"}), ("memory-recall", {}), ("memory-remember", {"what": " "})],
)
def test_a_prompt_that_cannot_be_made_is_refused(
    talk: Talk, name: str, arguments: dict[str, str]
) -> None:
    assert talk.refused("get_prompt", name, arguments).error.code == -32602
