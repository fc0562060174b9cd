"""What is taken down of a ranking while it is made, where a question asks to have it explained."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Signal:
    """One term of a score: `value` (0 to 1, as it was added) × `weight`, which the question's type gives it."""

    name: str
    value: float
    weight: float

    @property
    def points(self) -> float:
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class Factor:
    """What a score is multiplied by, and why."""

    factor: float
    reason: str


@dataclass(slots=True)
class Account:
    """How the scores of one question came about, by row of the index: a row's score is the sum of its signals × its
    factors × the factor of its place among the sources of its file (`places`: which one, and its factor).
    """

    signals: dict[int, list[Signal]] = field(default_factory=dict)
    factors: dict[int, tuple[Factor, ...]] = field(default_factory=dict)
    places: dict[int, tuple[int, float]] = field(default_factory=dict)

    def signal(self, name: str, weight: float, rows: Sequence[int], values: Sequence[float]) -> None:
        """One signal of all candidates; one of no worth says nothing."""
        for row, value in zip(rows, values, strict=True):
            if value:
                self.signals.setdefault(row, []).append(Signal(name, value, weight))
