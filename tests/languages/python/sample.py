"""Module docstring: not an entity."""

from typing import Final, TypeAlias, overload

# How often a call is tried
# before it fails.
RETRIES: Final = 3
_registry = {
    "one": 1,
}
Pair: TypeAlias = tuple[int, int]
type Table[K] = dict[K, int]

# A comment that a blank line parts from what follows.

try:
    import fast
except ImportError:
    fast = None

if RETRIES:

    def twin():
        return 1

else:

    def twin():
        return 2


@register(
    "shape",
)
# Between the decorators.
@final
class Shape(Base, metaclass=Meta):
    R'''A shape with \d corners.

        indented

    Last line.
    '''

    LIMIT = 10
    width: int = 3
    size: Final[int] = 4

    def __init__(self, width: int, /, *sides, name="(", **extra) -> None:  # why
        "One line."

        def helper(): return width

    @property
    def area(self) -> float:
        return 1.0

    @area.setter
    def area(self, value): ...

    @overload
    def scale(self, by: int) -> int: ...
    @overload
    def scale(self, by: str) -> str: ...
    def scale(
        self,
        by,  # a factor
        options: dict[str, int] = {
            "a": 1,
        },
    ):
        f"not {by} documentation"
        return by
        # the end of a body is its last statement

    @staticmethod
    async def load(path): pass

    if RETRIES:
        @functools.cached_property
        def cached(self): pass

    class Inner:
        def deep(self): pass


async def main[T](item: T) -> "list[T]":
    match item:
        case 1:
            def in_match(): pass
    with item:
        class Local: pass
    local = 1


def one(): pass; other = 2
