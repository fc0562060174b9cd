"""Answers a question from a workspace's memory: retrieve, rank, verify, excerpt."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braindex.domain.entities import CALLABLE_KINDS, KINDS, LANGUAGE_NAMES
from braindex.domain.errors import UsageError
from braindex.domain.excerpts import excerpt, shares
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ports import Embedder
from braindex.domain.question import Analysis
from braindex.domain.ranking import Candidate
from braindex.domain.rerank import lexical_rerank
from braindex.domain.results import Answer, Question, Source, Workspace
from braindex.domain.units import EntityFilter, StoredEntity
from braindex.registry.index import IndexStore
from braindex.services.freshness import Freshness
from braindex.services.retrieve import Retrieved, Retriever
from braindex.services.roots import checked_root
from braindex.services.scan import OpenDense, Scans
from braindex.services.workspaces import Workspaces

if TYPE_CHECKING:
    from braindex.services.verify import Verified, Verifier

LARGEST_LIMIT: Final = 50
EXCERPT_TOKENS: Final = 220  # for all excerpts of an answer of eight sources; more sources get as much each
LONGEST_CITED: Final = 50  # lines of a class or section; a longer one is cited by its header
_DEFAULT_LIMIT: Final = 8
_SIGNATURE: Final = 200  # characters of a signature in an answer; the whole one is in the index
_NO_ENGINE: Final = "no engine is configured: sources only"


class EmptyQuestion(UsageError):
    def __init__(self) -> None:
        super().__init__("the question is empty; ask in plain words, or name a symbol")


class LimitOutOfRange(UsageError):
    def __init__(self, limit: int) -> None:
        super().__init__(f"limit is {limit}, and has to be from 1 to {LARGEST_LIMIT}")


class PathOutside(UsageError):
    def __init__(self, path: str, root: Path) -> None:
        super().__init__(f"{path} is not in the workspace {root}; give a path or a glob below its root")


class UnknownFilter(UsageError):
    def __init__(self, what: str, value: str, known: Sequence[str]) -> None:
        super().__init__(f"{value!r} is no {what}; known are {', '.join(sorted(known))}")


class Asking:
    """Questions about any known workspace."""

    def __init__(
        self,
        workspaces: Workspaces,
        scans: Scans,
        embedder: Embedder,
        open_dense: OpenDense,
        options: Callable[[Path], WorkspaceOptions],
    ) -> None:
        self._workspaces = workspaces
        self._freshness = Freshness(workspaces, scans, options)
        self._embedder = embedder
        self._open_dense = open_dense
        self._options = options

    def ask(self, workspace: Workspace, question: Question) -> Answer:
        """The ranked sources. A workspace that was never scanned is scanned by its first question, which waits a
        few seconds and then answers with what is ready.

        Raises EmptyQuestion, LimitOutOfRange, UnknownFilter, and what opening the workspace raises.
        """
        from braindex.services.verify import Verifier  # noqa: PLC0415 - a server's start needs no parser

        root = checked_root(workspace.path)
        question = checked_question(question, root)
        options = self._options(root)
        with self._workspaces.open_index(workspace) as store:
            coverage = self._freshness.take_in(workspace, root, store)
            dense = self._open_dense(self._workspaces.folder(workspace), store)
            retrieved = Retriever(store, dense, self._embedder).retrieve(
                question.text,
                EntityFilter(question.path, question.kind, question.language),
                options.distance_threshold,
            )
            sources = self._sources(store, retrieved, Verifier(root, options), question)
        if options.lexical_rerank:
            sources = lexical_rerank(question.text, sources, options.lexical_rerank_weight)
        reason = _reason(sources, question, options.distance_threshold)
        return Answer(workspace, question.text, "none", reason, None, tuple(sources), coverage)

    def _sources(
        self, store: IndexStore, retrieved: Retrieved, verifier: "Verifier", question: Question
    ) -> list[Source]:
        checked: list[tuple[Candidate, Verified]] = []
        for chunk_start in range(0, len(retrieved.candidates), question.limit):
            chunk = retrieved.candidates[chunk_start : chunk_start + question.limit]
            stored = store.entities([one.row for one in chunk])
            for one in chunk:
                seen = _seen(verifier, stored.get(one.row))
                if seen is not None:
                    checked.append((one, seen))
            if len(checked) >= question.limit:
                break
        checked = [(one, _by_header(store, seen)) for one, seen in checked[: question.limit]]
        budgets = shares(len(checked), EXCERPT_TOKENS * max(len(checked), _DEFAULT_LIMIT) // _DEFAULT_LIMIT)
        return [
            _source(one, seen, retrieved.analysis, budget) for (one, seen), budget in zip(checked, budgets, strict=True)
        ]


def checked_question(question: Question, root: Path) -> Question:
    """The question with its filters in their usual form.

    Raises EmptyQuestion, LimitOutOfRange, UnknownFilter or PathOutside.
    """
    kind = question.kind.lower() if question.kind else None
    language = question.language.lower() if question.language else None
    question = replace(question, kind=kind, language=language, path=path_below(root, question.path))
    if not question.text.strip():
        raise EmptyQuestion
    if not 1 <= question.limit <= LARGEST_LIMIT:
        raise LimitOutOfRange(question.limit)
    if question.kind is not None and question.kind not in KINDS:
        raise UnknownFilter("kind of entity", question.kind, tuple(KINDS))
    if question.language is not None and question.language not in LANGUAGE_NAMES:
        raise UnknownFilter("language", question.language, tuple(LANGUAGE_NAMES))
    return question


def _reason(sources: Sequence[Source], question: Question, threshold: float) -> str:
    if not sources:
        return _nothing(question)
    if all(one.distance is None or one.distance > threshold for one in sources):
        return f"weak matches only: they share words with the question and little else; {_NO_ENGINE}"
    return _NO_ENGINE


def path_below(root: Path, path: str | None) -> str | None:
    """A path filter relative to the root: `./src`, `src/`, and an absolute path inside the root are all `src`.

    Raises PathOutside for an absolute path elsewhere.
    """
    if path is None:
        return None
    text = path.strip().replace("\\", "/") if os.sep == "\\" else path.strip()
    if os.path.isabs(text):
        if not Path(text).is_relative_to(root):
            raise PathOutside(text, root)
        text = Path(text).relative_to(root).as_posix()
    text = text.removeprefix("./").rstrip("/")
    return None if text in {"", "."} else text


def _nothing(question: Question) -> str:
    narrowed = [
        f"{name}={value}"
        for name, value in (("path", question.path), ("kind", question.kind), ("language", question.language))
        if value
    ]
    if narrowed:
        asked = ", ".join(narrowed)
        return f"nothing relevant was found with {asked}; try without (a path starts at the workspace's root)"
    return "nothing relevant was found; try the words the code would use, or a symbol's name"


def _seen(verifier: "Verifier", stored: StoredEntity | None) -> "Verified | None":
    return None if stored is None else verifier.verify(stored.id, stored.entity, stored.file_digest)


def _by_header(store: IndexStore, seen: "Verified") -> "Verified":
    """A long class, section or namespace is cited by its header: the whole of it would swallow its members."""
    entity = seen.entity
    if entity.kind in CALLABLE_KINDS or entity.end_line - entity.line < LONGEST_CITED:
        return seen
    inside = [
        one.entity.line
        for one in store.of_file(entity.path)
        if entity.start < one.entity.start and one.entity.end <= entity.end and one.entity.kind != "code-block"
    ]
    first = min((line for line in inside if line > entity.line), default=entity.end_line + 1)
    # Never less than a screenful: an agent that opens just these lines has to see what it is about.
    return replace(seen, entity=replace(entity, end_line=max(first - 1, entity.line + LONGEST_CITED - 1)))


def _source(candidate: Candidate, seen: "Verified", analysis: Analysis, budget: int) -> Source:
    entity = seen.entity
    lines = seen.lines[entity.line - 1 : entity.end_line]
    below = _below_signature(lines, entity.signature) if entity.kind != "file" else list(lines)
    signature = entity.signature
    return Source(
        id=candidate.id,
        name=entity.name,
        kind=entity.kind,
        language=entity.language,
        path=entity.path,
        line=entity.line,
        end_line=entity.end_line,
        signature=signature if len(signature) <= _SIGNATURE else signature[: _SIGNATURE - 1] + "…",
        doc=entity.docstring,
        excerpt=excerpt(below, analysis.terms, budget),
        distance=candidate.distance,
        score=candidate.score,
        stale=seen.stale,
    )


def _below_signature(lines: Sequence[str], signature: str) -> list[str]:
    """The lines after the signature, which is shown by itself: as many lines as its text takes in the source."""
    wanted = len("".join(signature.split()))
    read = 0
    for index, line in enumerate(lines):
        read += len("".join(line.split()))
        if read >= wanted:
            return list(lines[index + 1 :]) or list(lines)
    return list(lines)
