"""Dockerfile, compose files and development containers: how to run and set up a project."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.project.commands.command import ProjectCommand, Purpose, one_line
from wellkept.project.repository.project_files import ProjectFiles, at, string, table

_LAST = re.compile(r"^(?:CMD|ENTRYPOINT)\s+(?P<words>.+)$", re.MULTILINE)
_EXPOSED = re.compile(r"^EXPOSE\s+(?P<port>\d+)", re.MULTILINE)
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_DEVCONTAINERS = r"\.devcontainer/(?:[\w-]+/)?devcontainer\.json|\.devcontainer\.json"


def container_commands(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Commands of container files; they come after what the project names itself."""
    compose = files.first(*_COMPOSE)
    if compose is not None:
        services = ", ".join(list(table(files.yaml(compose), "services"))[:6])
        note = f"services: {services}" if services else ""
        yield ProjectCommand(
            purpose=Purpose.RUN, command="docker compose up", source=compose, rank=2, note=note
        )
    text = files.text("Dockerfile")
    # An image that starts nothing is a part of something else.
    if last := _LAST.findall(text):
        words = re.sub(r'[\[\]",]+', " ", last[-1]).split()
        port = _EXPOSED.search(text)
        note = f"the image starts `{' '.join(words)}`" if words else ""
        name = re.sub(r"[^a-z0-9._-]", "-", files.root.name.lower())
        yield ProjectCommand(
            purpose=Purpose.BUILD,
            command=f"docker build -t {name} .",
            source="Dockerfile",
            rank=4,
            note=note + (f" on port {port['port']}" if port and note else ""),
        )
    for path in files.matching(_DEVCONTAINERS, limit=1):
        document = files.json(path)
        command = at(document, "postCreateCommand")
        line = one_line(command) if isinstance(command, str) else ""
        image = string(document, "image")
        if line:
            yield ProjectCommand(
                purpose=Purpose.SETUP,
                command=line,
                source=path,
                rank=2,
                note=f"development container from {image}" if image else "development container",
            )
