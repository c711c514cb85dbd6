"""The application layer: everything that knows settings, projects and which engine is in use.

Open `wellkept.py` first: it has `open` and the `Wellkept` class. `wiring` builds the store and the
models (`Services`); `settings`, `projects`, `imports`, `maintenance`, `graph`, `skills` and
`observer` are the capabilities. May import every package except `cli`, `server` and `clients`.
Helpers take `Services`, or the parts they need, never `Wellkept`; a test keeps the package free of
import cycles. Both names are loaded on first use, so that importing this package is cheap.
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
