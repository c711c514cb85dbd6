"""Wellkept: a memory for coding agents that outlives the session.

    import wellkept

    with wellkept.open() as wk:
        wk.remember("Deploys go through the staging cluster first")
        for hit in wk.recall("how do we deploy?"):
            print(hit.memory.content)

Importing this package is cheap and has no side effects; the engine is loaded by `open`.
"""

# Not from typing: its import would double the start of the hook process.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from wellkept.app import Wellkept, open  # noqa: A004 - the package reads `wellkept.open()`

__all__ = ["Wellkept", "__version__", "open"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name in {"Wellkept", "open"}:
        from wellkept import app

        return getattr(app, name)
    raise AttributeError(f"module 'wellkept' has no attribute {name!r}")
