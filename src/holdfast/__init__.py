"""Holdfast: a memory for coding agents that outlives the session.

    import holdfast

    with holdfast.open() as hf:
        hf.remember("Deploys go through the staging cluster first")
        for hit in hf.recall("how do we deploy?"):
            print(hit.memory.content)

Importing this package is cheap and has no side effects; the engine is loaded by `open`.
"""

# Not from typing: its import would double the start of the hook process.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.app import Holdfast, open  # noqa: A004 - the package reads `holdfast.open()`

__all__ = ["Holdfast", "__version__", "open"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name in {"Holdfast", "open"}:
        from holdfast import app

        return getattr(app, name)
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
