"""What `bench/extraction.py` counts, and the table it prints."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

EXAMPLES = 10
FOUND = 0.97  # least recall and precision
PLACED = 0.99  # least share of right lines and parents
PLACES = ("start line", "end line", "parent")


def is_utf8(source: bytes) -> bool:
    """Whether a scan would read the very same text: it decodes other encodings first."""
    try:
        source.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass
class Score:
    """Definitions of one language: how many another parser knows, how many of them were found, what differs.

    `cut` are signatures too long to be compared; `left_out` what is no entity by choice, and may be found.
    """

    name: str
    files: int = 0
    passed_over: int = 0
    expected: int = 0
    found: int = 0
    cut: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    left_out_found: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    differences: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def differs(self, what: str, where: str) -> None:
        self.differences[what] += 1
        if len(self.examples[what]) < EXAMPLES:
            self.examples[what].append(where)

    def attribute(self, what: str, *, same: bool, said: str) -> None:
        """One property of a definition that both have."""
        self.compared[what] += 1
        self.right[what] += same
        if not same:
            self.differs(what, said)

    @property
    def recall(self) -> float:
        return self.found / self.expected if self.expected else 1.0

    @property
    def precision(self) -> float:
        told = self.found + self.differences["invented"]
        return self.found / told if told else 1.0

    def share(self, what: str) -> float:
        return self.right[what] / self.compared[what] if self.compared[what] else 1.0

    @property
    def passes(self) -> bool:
        """Whether it is above the bars; what was not compared at all holds no bar."""
        placed = all(self.share(what) >= PLACED for what in PLACES)
        return self.expected > 0 and min(self.recall, self.precision) >= FOUND and placed

    def lines(self) -> Iterator[str]:
        yield (
            f"{self.name}: {self.files:,} files ({self.passed_over:,} passed over), {self.expected:,} definitions, "
            f"{self.found:,} found, {self.differences['missed']:,} missed, {self.differences['invented']:,} invented; "
            f"recall {self.recall:.4f}, precision {self.precision:.4f}"
        )
        for what in self.compared:
            wrong = self.compared[what] - self.right[what]
            yield f"  {what:16} {self.share(what):.4f}  ({wrong:,} of {self.compared[what]:,} differ)"
        if self.cut:
            yield f"  signatures too long to be shown whole, and not compared: {self.cut:,}"
        for what, count in sorted(self.left_out.items()):
            yield f"  left out by choice: {what}, {count:,} ({self.left_out_found[what]:,} found)"

    def examples_lines(self) -> Iterator[str]:
        for what, some in self.examples.items():
            yield f"{self.name}, {what} ({self.differences[what]:,}):"
            yield from (f"  {one}" for one in some)

    def as_json(self) -> dict[str, Any]:
        shares = {what: self.share(what) for what in self.compared}
        return {
            "language": self.name,
            "files": self.files,
            "passed_over": self.passed_over,
            "definitions": self.expected,
            "found": self.found,
            "recall": self.recall,
            "precision": self.precision,
            "attributes": shares,
            "cut": self.cut,
            "left_out": dict(self.left_out),
            "differences": dict(self.differences),
            "examples": dict(self.examples),
        }
