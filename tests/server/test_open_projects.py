"""What a server keeps open between requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.http_serving import served_in


@pytest.mark.feature("C5")
def test_what_made_the_store_in_a_request_is_kept_for_the_next(tmp_path: Path) -> None:
    with served_in(tmp_path) as web:
        with web.memories.of("") as first:
            assert not first.services.is_there
            first.remember("Deploys go through staging first")
        with web.memories.of("") as second:
            assert second is first
            assert second.recall("deploys through staging")


@pytest.mark.feature("C5")
def test_what_made_no_store_is_opened_anew(tmp_path: Path) -> None:
    with served_in(tmp_path) as web:
        with web.memories.of("") as first:
            assert not first.recall("deploys")
        with web.memories.of("") as second:
            assert second is not first
            assert not second.services.is_there
