"""Operations behind the map of the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.api.operations.inputs import Input
from wellkept.api.server.record_models import output_model
from wellkept.api.views.module_map import FileGraph, ModuleMap
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.api import Wellkept


class ModuleMapInput(Input):
    """The whole map."""


class ModuleMapOutput(output_model(ModuleMap)):
    """Modules with their places, and edges that point where a change reaches."""


def module_map(wk: Wellkept, request: ModuleMapInput) -> ModuleMapOutput:  # noqa: ARG001
    """The modules on a plane."""
    found = wk.module_map()
    lines = [
        f"{one.folder} {one.covered} of {counted(one.files, 'file')} known,"
        f" {counted(one.memories, 'memory', 'memories')}, {one.e2e} end to end"
        for one in found.modules
    ]
    return ModuleMapOutput.of(found, text="\n".join(lines) or "The code graph has no modules.")


class FileGraphInput(Input):
    """Which files."""

    folder: str = Field(default="", description="A module, with its neighbours. Empty: all.")


class FileGraphOutput(output_model(FileGraph)):
    """Files by number, and edges that point where a change reaches."""


def file_graph(wk: Wellkept, request: FileGraphInput) -> FileGraphOutput:
    """Files and their edges."""
    found = wk.file_graph(folder=request.folder or None)
    text = f"{counted(len(found.files), 'file')}, {counted(len(found.edges), 'edge')}"
    return FileGraphOutput.of(found, text=text)
