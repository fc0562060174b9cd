"""Long lists are shown a page at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The rows of one page. `number` counts from 1; `total` is how many rows there are in all."""

    rows: Sequence[T]
    number: int
    size: int
    total: int

    @property
    def last(self) -> int:
        return max(1, -(-self.total // self.size))

    @property
    def first_row(self) -> int:
        return (self.number - 1) * self.size + 1 if self.rows else 0

    @property
    def last_row(self) -> int:
        return self.first_row + len(self.rows) - 1 if self.rows else 0


def page_of(rows: Sequence[T], number: int, size: int) -> Page[T]:
    """A page of what is all in memory; a number past the end is the last page."""
    number = min(number, max(1, -(-len(rows) // size)))
    start = (number - 1) * size
    return Page(rows[start : start + size], number, size, len(rows))


def query_with(query: Mapping[str, str], **changes: object) -> str:
    """A query string with other values; None takes one out. Starts with `?`."""
    merged = {**query, **{name: None if value is None else str(value) for name, value in changes.items()}}
    return "?" + urlencode({name: value for name, value in merged.items() if value})
