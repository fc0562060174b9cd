"""What a review tells: the change and its entities, similar reviews, callers, an opinion, and what it took."""

from dataclasses import dataclass
from typing import Any, Final

from braindex.domain.changes import Changes
from braindex.domain.diffs import FileDiff
from braindex.domain.entities import EntityHead
from braindex.domain.opinions import Opinion, Verdict
from braindex.domain.relations import Link
from braindex.domain.results import Workspace
from braindex.domain.usage import PICODOLLARS, EngineName, Usage


@dataclass(frozen=True, slots=True)
class Touched:
    """An entity that a change added, changed or removed. Lines are of the new side, of a removed one of the old. `doc`
    is the first line of what documents it.
    """

    head: EntityHead
    signature: str = ""
    doc: str = ""

    @property
    def name(self) -> str:
        return self.head.name

    @property
    def kind(self) -> str:
        return self.head.kind

    @property
    def path(self) -> str:
        return self.head.path

    @property
    def line(self) -> int:
        return self.head.line

    def as_json(self) -> dict[str, Any]:
        head = self.head
        return {"name": head.name, "kind": head.kind, "line": head.line, "end_line": head.end_line}


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What a change did to one file. `withheld` says why its content is shown to nobody, else ""; `remark` why its
    entities are not known, else "".
    """

    diff: FileDiff
    added: tuple[Touched, ...] = ()
    changed: tuple[Touched, ...] = ()
    removed: tuple[Touched, ...] = ()
    withheld: str = ""
    remark: str = ""

    @property
    def entities(self) -> tuple[Touched, ...]:
        return (*self.added, *self.changed, *self.removed)

    def as_json(self) -> dict[str, Any]:
        lines_added, lines_removed = self.diff.counts()
        old_path = self.diff.old_path
        return {
            "path": self.diff.path,
            "old_path": old_path if old_path not in {"", self.diff.path} else None,
            "change": self.diff.kind,
            "binary": self.diff.binary,
            "lines_added": lines_added,
            "lines_removed": lines_removed,
            "entities": {
                "added": [one.as_json() for one in self.added],
                "changed": [one.as_json() for one in self.changed],
                "removed": [one.as_json() for one in self.removed],
            },
            "withheld": self.withheld or None,
            "remark": self.remark or None,
        }


@dataclass(frozen=True, slots=True)
class PastReview:
    """A review of the last 90 days of a similar change: `subject` is what that was about, `summary` what was found.
    `outcome` is the verdict, "" where there was none; `distance` is L2, None where words alone found it.
    """

    id: str
    created: str
    outcome: str
    subject: str
    summary: str
    commit: str = ""
    files: tuple[str, ...] = ()
    distance: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "created": self.created,
            "verdict": self.outcome or None,
            "subject": self.subject,
            "summary": self.summary,
            "commit": self.commit or None,
            "files": list(self.files),
            "distance": None if self.distance is None else round(self.distance, 4),
        }


@dataclass(frozen=True, slots=True)
class Reminder:
    """A note that has to do with the change. `stale` says in a line what it is about has changed since, else ""."""

    id: str
    created: str
    category: str
    text: str
    stale: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "created": self.created,
            "category": self.category or None,
            "text": self.text,
            "stale": self.stale or None,
        }


@dataclass(frozen=True, slots=True)
class Callers:
    """Who calls an entity that changed, by name: two things of one name cannot be told apart."""

    entity: Touched
    links: tuple[Link, ...]
    left_out: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.entity.name,
            "path": self.entity.path,
            "line": self.entity.line,
            "callers": [one.as_json() for one in self.links],
            "left_out": self.left_out,
        }


@dataclass(frozen=True, slots=True)
class Spent:
    """What a review took. `cost` is in picodollars, None where the price of a call is unknown."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cache_hit_tokens: int = 0
    cost: int | None = 0

    @property
    def cost_usd(self) -> float | None:
        return None if self.cost is None else self.cost / PICODOLLARS

    def plus(self, usage: Usage, cost: int | None) -> "Spent":
        """With one call more, whose cost in picodollars is None where it is unknown."""
        return Spent(
            self.calls + 1,
            self.tokens_in + usage.tokens_in,
            self.tokens_out + usage.tokens_out,
            self.cache_hit_tokens + usage.cache_hit_tokens,
            None if self.cost is None or cost is None else self.cost + cost,
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cache_hit_tokens": self.cache_hit_tokens,
            "cost_usd": self.cost_usd,
        }


NOTHING_SPENT: Final = Spent()


@dataclass(frozen=True, slots=True)
class Review:
    """A finished review, or what is known of a change before an engine judges it.

    `opinion` is None where no engine gave one. `reason` says in one line who judged it and why, or why nobody did.
    `subject` is what the change is about, in the words that similar reviews are found by. `notes` say in a line each
    what is missing, or was cut short.
    """

    workspace: Workspace
    changes: Changes
    files: tuple[FileSummary, ...]
    subject: str = ""
    opinion: Opinion | None = None
    engine: EngineName = "none"
    reason: str = ""
    similar: tuple[PastReview, ...] = ()
    reminders: tuple[Reminder, ...] = ()
    callers: tuple[Callers, ...] = ()
    spent: Spent = NOTHING_SPENT
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        return self.opinion.verdict if self.opinion else None

    def as_json(self) -> dict[str, Any]:
        """The review as scripts get it; shapes only gain keys."""
        opinion = self.opinion
        return {
            "workspace_id": self.workspace.id,
            "changes": self.changes.label,
            "subject": self.subject,
            "commit": self.changes.commit or None,
            "verdict": self.verdict,
            "summary": opinion.summary if opinion else None,
            "findings": [one.as_json() for one in opinion.findings] if opinion else [],
            "remarks": [one.as_json() for one in opinion.remarks] if opinion else [],
            "dropped": opinion.dropped if opinion else 0,
            "engine": self.engine,
            "reason": self.reason,
            "files": [one.as_json() for one in self.files],
            "similar": [one.as_json() for one in self.similar],
            "reminders": [one.as_json() for one in self.reminders],
            "callers": [one.as_json() for one in self.callers],
            "usage": self.spent.as_json(),
            "notes": list(self.notes),
        }
