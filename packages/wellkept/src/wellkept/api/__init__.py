"""`Wellkept` and its edges: wiring, operations, command line, HTTP, MCP, page.

Open `wellkept.py` first: it has `open` and the class. `wiring` builds the store and the models
(`Services`); `methods` and `views` are what can be asked; `operations` is the table that HTTP and
MCP serve; `cli` has a file for each command. Helpers take `Services` or less, never `Wellkept`; a
test keeps the room free of import cycles. Both names load on first use, so importing it is cheap.
"""

# Not from typing: a Tab in a shell pays for this import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept, open  # noqa: A004 - reads `wellkept.open()`

__all__ = ["Wellkept", "open"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from wellkept.api import wellkept

        return getattr(wellkept, name)
    raise AttributeError(f"module 'wellkept.api' has no attribute {name!r}")
