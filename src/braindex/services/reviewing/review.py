"""Reviews: what a change touches, similar reviews, who calls what changed, and an engine's opinion if there is one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from braindex.domain.changes import Changes, Repository, Wanted
from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS
from braindex.domain.errors import BraindexError
from braindex.domain.memories import Episode, Memory
from braindex.domain.options import WorkspaceOptions
from braindex.domain.penalties import is_test
from braindex.domain.recall import Recalled
from braindex.domain.results import Workspace
from braindex.domain.review_text import structural_subject
from braindex.domain.reviews import Callers, FileSummary, PastReview, Review, Touched
from braindex.domain.secrets import redacted
from braindex.registry.index import IndexStore
from braindex.services.freshness import Freshness
from braindex.services.memories import Memories, quietly
from braindex.services.related_links import callers
from braindex.services.reviewing.noted import noted
from braindex.services.roots import checked_root
from braindex.services.ties import Ties
from braindex.services.workspaces import Workspaces

KIND: Final = "review"  # of the episodes that reviews are stored as
SIMILAR: Final = 5
SIMILAR_DAYS: Final = 90
_CALLED: Final = CALLABLE_KINDS | TYPE_KINDS
_MOST_CALLED: Final = 15  # entities whose callers are looked for
_MOST_CALLERS: Final = 5  # of each
# From so many entities of one name on, whoever calls it means another one more often than not: only callers in the
# entity's own file are told then.
_COMMON: Final = 3
_MOST_READ: Final = 200
NOT_WANTED: Final = "no engine was asked, as wished: structure, similar reviews and callers only"


class NothingToReview(BraindexError):
    def __init__(self, label: str) -> None:
        super().__init__(
            f"there is nothing to review: {label} hold no change in this workspace; name others as REV..REV, with "
            "--staged or with --pr-base BRANCH"
        )


class Judge(Protocol):
    """Who has an engine judge a change."""

    def judged(self, root: Path, looked: Review, recall: Callable[[str], tuple[PastReview, ...]]) -> Review:
        """The review with an opinion, or with the reason why there is none. `recall` finds the past reviews that are
        similar to a change in other words than its structure. Never raises for an engine's failure.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReviewParts:
    """What reviews are made with. `repository` gives the one around a workspace's root; it may raise what
    `Repository.changes` raises.
    """

    memories: Memories
    repository: Callable[[Path], Repository]
    options: Callable[[Path], WorkspaceOptions]
    judge: Judge


class Reviews:
    """Reviews of changes to any known workspace."""

    def __init__(self, workspaces: Workspaces, freshness: Freshness, parts: ReviewParts) -> None:
        self._workspaces = workspaces
        self._freshness = freshness
        self._memories = parts.memories
        self._repository = parts.repository
        self._options = parts.options
        self._judge = parts.judge

    def review(
        self,
        workspace: Workspace,
        wanted: Wanted,
        *,
        with_engine: bool = True,
        refresh: Callable[[], None] = lambda: None,
    ) -> Review:
        """The review of the changes that are asked for. Nothing is stored and nothing posted. `refresh` brings the
        index up to date; it is called when there is something to review.

        Raises NothingToReview, what the repository raises, and what opening the workspace raises. An engine that fails
        costs the opinion and nothing else.
        """
        looked = self.looked(workspace, wanted, refresh)
        if not with_engine:
            return replace(looked, reason=NOT_WANTED)
        return self._judge.judged(
            Path(workspace.path), looked, lambda subject: self.similar(workspace, subject, looked)
        )

    def looked(self, workspace: Workspace, wanted: Wanted, refresh: Callable[[], None] = lambda: None) -> Review:
        """All that is known of a change without an engine. Raises what `review` raises."""
        root = checked_root(workspace.path)
        repository = self._repository(root)
        changes = repository.changes(wanted)
        if not changes.files:
            raise NothingToReview(changes.label)
        refresh()

        def look(store: IndexStore) -> Review:
            coverage = self._freshness.take_in(workspace, root, store)
            files = self._structure(store, root, repository, changes)
            with store.snapshot():
                found = _callers(store, files)
            subject = structural_subject(files)
            ties = Ties(store, root, self._options(root))
            reminders = noted(self._memories, workspace, ties, files, subject)
            notes = (*changes.remarks, *([coverage] if coverage else []))
            return Review(workspace, changes, files, subject, reminders=reminders, callers=found, notes=notes)

        looked = self._workspaces.with_index(workspace, look)
        troubles = list[BraindexError]()
        similar = self.similar(workspace, looked.subject, looked, troubles.append)
        unread = (f"the memory could not be searched for notes and similar reviews: {one}" for one in troubles)
        return replace(looked, similar=similar, notes=(*looked.notes, *unread))

    def similar(
        self,
        workspace: Workspace,
        subject: str,
        looked: Review | None = None,
        told: Callable[[BraindexError], None] = lambda _: None,
    ) -> tuple[PastReview, ...]:
        """The reviews of similar changes in this workspace, at most five of the last 90 days, nearest first, none of
        the very change that is `looked` at, and none where the memory cannot be read; `told` learns why.
        """

        def is_same(one: Memory) -> bool:
            return looked is not None and isinstance(one, Episode) and _is_same(one, looked)

        def search() -> list[Recalled]:
            return self._memories.similar(
                workspace, subject, SIMILAR, what="episode", days=SIMILAR_DAYS, kind=KIND, leave_out=is_same
            )

        found = quietly(search, list[Recalled](), told)
        return tuple(_past(one.memory, one.distance) for one in found if isinstance(one.memory, Episode))

    def _structure(
        self, store: IndexStore, root: Path, repository: Repository, changes: Changes
    ) -> tuple[FileSummary, ...]:
        from braindex.services.reviewing.structure import Indexing, Structures  # noqa: PLC0415 - a server's start needs no parser

        indexed = Indexing(store.files().keys(), {one.path: one.reason for one in store.skipped()})
        return Structures(root, repository, self._options(root)).of(changes, indexed)


def _callers(store: IndexStore, files: Sequence[FileSummary]) -> tuple[Callers, ...]:
    """Who calls what was changed or removed, by name; what was added nobody calls who did not change with it."""
    touched = [one for file in files if not is_test(file.diff.path) for one in (*file.removed, *file.changed)]
    types = {one.name for one in touched if one.kind in TYPE_KINDS}
    # A constructor is called by its class's name.
    called = [
        one for one in touched
        if one.kind in _CALLED and not (one.kind == "constructor" and one.head.parent in types)
    ]  # fmt: skip
    found = [_called_by(store, one) for one in called[:_MOST_CALLED]]
    return tuple(one for one in found if one.links)


def _called_by(store: IndexStore, one: Touched) -> Callers:
    name = one.head.parent if one.kind == "constructor" and one.head.parent else one.name
    heads = store.heads(store.rows_by_name([name])).values()
    if sum(head.name == name and head.kind in _CALLED for head in heads) < _COMMON:
        links, left_out = callers(store, one.head, _MOST_CALLERS)
        return Callers(one, links, left_out)
    links, _ = callers(store, one.head, _MOST_READ)
    near = [link for link in links if link.path == one.path]
    return Callers(one, tuple(near[:_MOST_CALLERS]), max(0, len(near) - _MOST_CALLERS))


def _is_same(one: Episode, looked: Review) -> bool:
    """Whether a review was of the same commit, or where there is none yet, of a change told in the same words."""
    commit = looked.changes.commit
    return one.commit == commit if commit and one.commit else one.prompt == redacted(looked.subject)


def _past(one: Episode, distance: float | None) -> PastReview:
    return PastReview(one.id, one.created, one.outcome, one.prompt, one.summary, one.commit, one.files, distance)
