"""What the use cases return, and the JSON that scripts and agents rely on (shapes only gain keys)."""

from dataclasses import dataclass, field
from typing import Any, Literal

from braindex.domain.display import safe_line
from braindex.domain.explanation import Explanation
from braindex.domain.relations import Relatives
from braindex.domain.usage import PICODOLLARS, EngineName

State = Literal["never", "running", "complete", "interrupted", "failed"]


@dataclass(frozen=True, slots=True)
class Workspace:
    """A known workspace. `path` is canonical; `created` is a UTC time in ISO 8601."""

    id: str
    name: str
    path: str
    created: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that was left out, and why, in words a user can act on. `path` is relative, with `/`.

    `again` says that the reason may pass without the file changing: a permission, a lock, a failing disk.
    """

    path: str
    reason: str
    again: bool = False

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class ScanSummary:
    """What a finished scan did. `added`, `changed`, `removed` count files; `files`, `entities` what is stored now."""

    workspace_id: str
    files: int
    entities: int
    added: int
    changed: int
    removed: int
    skipped: tuple[Skipped, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "workspace_id": self.workspace_id,
            "files": self.files,
            "entities": self.entities,
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "skipped": [one.as_json() for one in self.skipped],
            "seconds": round(self.seconds, 3),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """How far a running scan is. `phase` is one of waiting, walking, parsing, storing, finished."""

    phase: str
    files_done: int
    files_total: int
    entities: int


@dataclass(frozen=True, slots=True)
class BriefState:
    """How a brief stands. `engine` wrote it, `none` where it was made from the index alone; `given` says that a person
    or an agent did.

    `locked` is a UTC time in ISO 8601. `edited`: changed by hand on disk since. `moved` says in one line how far the
    code has moved since, else ""; `failure` why an engine could not replace it, else "".
    """

    engine: EngineName
    given: bool
    locked: str
    tokens: int
    edited: bool
    moved: str
    failure: str = ""

    @property
    def origin(self) -> str:
        """Who made it, in words."""
        if self.given:
            return "given by hand"
        return "made from the index" if self.engine == "none" else f"written by {self.engine}"

    @property
    def standing(self) -> str:
        """How it stands, on one line that is safe to show."""
        said = [f"{self.origin}, {self.tokens:,} tokens, locked {safe_line(self.locked) or 'at an unknown time'}"]
        said += ["edited by hand since"] * self.edited + [safe_line(self.moved)] * bool(self.moved)
        said += [f"an engine could not replace it: {safe_line(self.failure)}"] * bool(self.failure)
        return "; ".join(said)

    def as_json(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "given": self.given,
            "locked": self.locked,
            "tokens": self.tokens,
            "edited": self.edited,
            "moved": self.moved or None,
            "failure": self.failure or None,
        }


@dataclass(frozen=True, slots=True)
class ScanStatus:
    """What a workspace holds and what is happening to it.

    `freshness` says in one line what is known to be behind the disk, "current" when nothing is, "" when nobody looked.
    `files_known`: how many files the walk of a scan that has not ended came to, None where that is not known. `notes`
    and `episodes` are None where the memory cannot be read, and `memory_error` says why.
    """

    workspace: Workspace
    state: State
    files: int
    entities: int
    complete: bool
    skipped: tuple[Skipped, ...] = ()
    progress: ScanProgress | None = None
    last_scan: str | None = None
    last_error: str | None = None
    known_parent: Workspace | None = None
    brief: BriefState | None = None
    languages: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    freshness: str = ""
    files_known: int | None = None
    notes: int | None = None
    episodes: int | None = None
    memory_error: str = ""

    def as_json(self) -> dict[str, Any]:
        progress = self.progress
        return {
            "workspace_id": self.workspace.id,
            "name": self.workspace.name,
            "path": self.workspace.path,
            "state": self.state,
            "files": self.files,
            "entities": self.entities,
            "complete": self.complete,
            "notes": self.notes,
            "episodes": self.episodes,
            "memory_error": self.memory_error or None,
            "freshness": self.freshness,
            "brief": self.brief.as_json() if self.brief else None,
            "phase": progress.phase if progress else None,
            "files_done": progress.files_done if progress else None,
            "files_total": progress.files_total if progress else None,
            "last_scan": self.last_scan,
            "last_error": self.last_error,
            "parent": self.known_parent.path if self.known_parent else None,
            "languages": self.languages,
            "kinds": self.kinds,
            "skipped": [one.as_json() for one in self.skipped],
        }


@dataclass(frozen=True, slots=True)
class Source:
    """One ranked source of an answer. `distance` is the true L2 distance to the question, None without vectors.

    A note or an episode has no place: `path` is "" and the lines are 0, null in the JSON. `remark` says of it what has
    changed since, else "". `excerpt_lines` is the number in the file of each line of the excerpt, None for a gap.
    """

    id: str
    name: str
    kind: str
    language: str
    path: str
    line: int
    end_line: int
    signature: str
    doc: str
    excerpt: str
    distance: float | None
    score: float
    stale: bool = False
    remark: str = ""
    excerpt_lines: tuple[int | None, ...] = ()

    @property
    def is_memory(self) -> bool:
        return self.kind in {"note", "episode"}

    def as_json(self) -> dict[str, Any]:
        remark = {"remark": self.remark} if self.remark else {}
        return {
            "name": self.name,
            "kind": self.kind,
            "language": self.language,
            "path": None if self.is_memory else self.path,
            "line": None if self.is_memory else self.line,
            "end_line": None if self.is_memory else self.end_line,
            **remark,
            "signature": self.signature,
            "excerpt": self.excerpt,
            "distance": None if self.distance is None else round(self.distance, 4),
            "score": round(self.score, 4),
            "stale": self.stale,
            "id": self.id,
        }


@dataclass(frozen=True, slots=True)
class Question:
    """A question and how it is narrowed. `path` is a prefix or a glob below the root.

    `use_cloud` is the caller's wish, None without one; `write` is false where only sources are wanted, `explain` true
    where the order of the sources is to be explained, `estimate` where it is to be said what an answer would cost.
    """

    text: str
    limit: int = 8
    path: str | None = None
    kind: str | None = None
    language: str | None = None
    use_cloud: bool | None = None
    write: bool = True
    explain: bool = False
    estimate: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an engine's answer would cost, before it is asked for. Tokens are by our own count (bytes ÷ 4).

    `prefix_tokens` are the role text and the brief, `asked_tokens` the sources and the question, `answer_tokens` the
    most that an answer may have. `cached` is the cost in picodollars where the provider's cache holds the prefix,
    `uncached` where it does not; None where no price is known. `reason` says why this engine, or why none.
    """

    engine: EngineName
    model: str
    reason: str
    prefix_tokens: int = 0
    asked_tokens: int = 0
    answer_tokens: int = 0
    cached: int | None = 0
    uncached: int | None = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "model": self.model or None,
            "reason": self.reason,
            "prefix_tokens": self.prefix_tokens,
            "asked_tokens": self.asked_tokens,
            "answer_tokens": self.answer_tokens,
            "cached_usd": None if self.cached is None else self.cached / PICODOLLARS,
            "uncached_usd": None if self.uncached is None else self.uncached / PICODOLLARS,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """The sources of a question, best first, and the written answer where an engine wrote one.

    `reason` says in one line who answered and why, or why nothing was found. `coverage` says in one line how much of
    the workspace could be searched when that is not all of it, else "". `removed` counts citations that no source held:
    they are no longer in the answer. `related` are the callers, members or the like that the question asked for.
    `explanation` says how the sources came to their order, `estimate` what an engine's answer would cost, where the
    question asks for that.
    """

    workspace: Workspace
    query: str
    engine: EngineName
    reason: str
    answer: str | None
    sources: tuple[Source, ...]
    coverage: str = ""
    removed: int = 0
    related: Relatives | None = None
    explanation: Explanation | None = None
    estimate: Estimate | None = None

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "workspace_id": self.workspace.id,
            "workspace": self.workspace.name,
            "query": self.query,
            "engine": self.engine,
            "reason": self.reason,
            "answer": self.answer,
            "sources": [one.as_json() for one in self.sources],
        }
        if self.related:
            found["related"] = self.related.as_json()
        if self.coverage:
            found["coverage"] = self.coverage
        if self.removed:
            found["removed_citations"] = self.removed
        if self.explanation is not None:
            found["explanation"] = self.explanation.as_json()
        if self.estimate is not None:
            found["estimate"] = self.estimate.as_json()
        return found


@dataclass(frozen=True, slots=True)
class WorkspaceInfo:
    """A known workspace as listings show it. `exists` is false when its folder is gone."""

    workspace: Workspace
    files: int
    entities: int
    last_scan: str | None
    exists: bool

    def as_json(self) -> dict[str, Any]:
        one = self.workspace
        return {
            "id": one.id,
            "name": one.name,
            "path": one.path,
            "created": one.created,
            "files": self.files,
            "entities": self.entities,
            "last_scan": self.last_scan,
            "exists": self.exists,
        }
