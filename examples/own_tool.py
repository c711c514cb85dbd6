"""A tool of your own: a plain function. Its schema comes from its types."""

from pathlib import Path

from wellkept_agent import Agent


def count_lines(file_path: str, skip: str | None) -> int:
    """Count the lines of a file of this project, without those that begin with `skip`."""
    lines = Path(file_path).read_text().splitlines()
    return sum(1 for line in lines if not (skip and line.startswith(skip)))


agent = Agent("anthropic:claude-sonnet-4-5", tools=[count_lines])
print(agent.run_sync("How long is orders.py without comments?").output)
