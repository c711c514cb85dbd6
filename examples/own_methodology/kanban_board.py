"""A way of working of your own, as a plugin: cards on a board.

It says which phase a column stands for, finds the card in a branch name, and says what one column
hands on to the next. `pyproject.toml` beside it registers it; install it with
`pip install ./own_methodology`.
"""

from collections.abc import Iterable

from wellkept import hookimpl
from wellkept.core.types import MemoryType, Phase
from wellkept.observe.methodology.protocol import CustomType, Methodology, Relay
from wellkept.observe.methodology.table import Level, TableMethodology

BOARD = TableMethodology(
    id="board",
    title="Cards on a board",
    phases={"ready": Phase.DEFINE, "doing": Phase.IMPLEMENT, "checking": Phase.VALIDATE},
    levels=(Level("card"),),
    relays=(
        Relay(source="ready", target="doing", types=(MemoryType.REQUIREMENT,)),
        Relay(source="doing", target="checking"),
    ),
    custom_types=(
        CustomType(name="wip_limit", kept_as=MemoryType.CONVENTION, doc="How much at once."),
    ),
    state=(),
)


@hookimpl
def wellkept_methodologies() -> Iterable[Methodology]:
    return [BOARD]
