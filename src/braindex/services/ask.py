"""Answers a question from a workspace's memory: retrieve, rank, verify, excerpt."""

import os
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braindex.domain.citations import citation
from braindex.domain.display import echoed
from braindex.domain.entities import CALLABLE_KINDS, KINDS
from braindex.domain.errors import UsageError
from braindex.domain.excerpts import excerpt, excerpt_lines, looked_at, shares
from braindex.domain.explanation import Explanation
from braindex.domain.mentions import lines_of
from braindex.domain.options import WorkspaceOptions
from braindex.domain.prompt import Quoted
from braindex.domain.question import Analysis, analyse
from braindex.domain.ranking import Candidate
from braindex.domain.recall import Recalled, text_of
from braindex.domain.relations import Relatives
from braindex.domain.rerank import lexical_rerank
from braindex.domain.results import Answer, Question, Source, Workspace
from braindex.domain.secrets import redacted_lines, redacted_source
from braindex.domain.tokens import count_tokens
from braindex.domain.units import WILDCARD, EntityFilter, StoredEntity
from braindex.languages import LANGUAGE_NAMES
from braindex.registry.index import IndexStore
from braindex.services.explaining import Checks, explained, of_memories
from braindex.services.freshness import Freshness
from braindex.services.memories import Memories
from braindex.services.related import related_to
from braindex.services.remembered import as_source, placed, remembered
from braindex.services.retrieve import Arms, Retrieved
from braindex.services.roots import checked_root
from braindex.services.workspaces import Workspaces
from braindex.services.writing import Asked, Writer, Written

if TYPE_CHECKING:
    from braindex.services.verify import Verified, Verifier

LARGEST_LIMIT: Final = 50
EXCERPT_TOKENS: Final = 220  # for all excerpts of an answer of eight sources; more sources get as much each
LONGEST_CITED: Final = 50  # lines of a class or section; a longer one is cited by its header
_DEFAULT_LIMIT: Final = 8
ENGINE_TOKENS: Final = 3000  # for all that an engine is shown of an answer's sources
MEMORY_KINDS: Final = frozenset({"note", "episode"})
_SIGNATURE: Final = 200  # characters of a signature in an answer; the whole one is in the index
_RERANKED: Final = "ENABLE_LEXICAL_RERANK then gave it {:.4f}: 1/distance and the words in its name and description"
_NOT_WANTED: Final = "sources only, as asked"
_NOT_SAVED: Final = Written("none", "")


class EmptyQuestion(UsageError):
    def __init__(self) -> None:
        super().__init__("the question is empty; ask in plain words, or name a symbol")


class LimitOutOfRange(UsageError):
    def __init__(self, limit: int) -> None:
        super().__init__(f"limit is {limit}, and has to be from 1 to {LARGEST_LIMIT}")


class PathOutside(UsageError):
    def __init__(self, path: str, root: Path) -> None:
        super().__init__(f"{echoed(path)} is not in the workspace {root}; give a path or a glob below its root")


class PathNotThere(UsageError):
    def __init__(self, path: str, root: Path) -> None:
        super().__init__(
            f"{echoed(path)} is not in the workspace {root}: it holds no such file or folder (a path starts at the "
            "workspace's root)"
        )


class UnknownFilter(UsageError):
    def __init__(self, what: str, value: str, known: Sequence[str]) -> None:
        super().__init__(f"{echoed(value)!r} is no {what}; known are {', '.join(sorted(known))}")


OptionsOf = Callable[[Path], WorkspaceOptions]


@dataclass(frozen=True, slots=True)
class FoundBy:
    """Where the sources of an answer come from: the code's index, and what was remembered beside it."""

    arms: Arms
    memories: Memories


class Asking:
    """Questions about any known workspace."""

    def __init__(
        self,
        workspaces: Workspaces,
        freshness: Freshness,
        found_by: FoundBy,
        writer: Writer,
        options: OptionsOf,
    ) -> None:
        self._workspaces = workspaces
        self._freshness = freshness
        self._arms = found_by.arms
        self._memories = found_by.memories
        self._writer = writer
        self._options = options

    def ask(self, workspace: Workspace, question: Question, cancelled: Callable[[], bool] = lambda: False) -> Answer:
        """The ranked sources, and the answer where an engine writes one. A workspace that was never scanned is scanned
        by its first question, which waits a few seconds and then answers with what is ready.

        Raises EmptyQuestion, LimitOutOfRange, UnknownFilter, PathOutside, PathNotThere, CloudRefused, and what opening
        the workspace raises. An engine that fails costs the answer and never the sources.
        """
        root = checked_root(workspace.path)
        question = checked_question(question, root)
        self._writer.check(root, question.use_cloud)
        options = self._options(root)
        looked = self._looked(workspace, root, question, options)
        found = looked.found
        sources = [one.source for one in found]
        written = _NOT_SAVED
        if found and question.write:
            written = self._writer.write(
                Asked(workspace, root, question.text, question.use_cloud, sources, lambda: _quoted(found), cancelled)
            )
        self._writer.record(workspace, written, _tokens_saved(found, written))
        return _answer(workspace, question, options, looked, written)

    def sources(self, workspace: Workspace, question: Question) -> Answer:
        """The ranked sources alone, as a step of other work: no engine is asked, and nothing enters the ledger.

        Raises what `ask` raises, CloudRefused only where an estimate is asked for.
        """
        root = checked_root(workspace.path)
        question = replace(checked_question(question, root), write=False)
        options = self._options(root)
        looked = self._looked(workspace, root, question, options)
        answer = _answer(workspace, question, options, looked, _NOT_SAVED)
        if not (question.estimate and looked.found):
            return answer
        asked = Asked(workspace, root, question.text, question.use_cloud, answer.sources, lambda: _quoted(looked.found))
        return replace(answer, estimate=self._writer.estimate(asked))

    def _looked(self, workspace: Workspace, root: Path, question: Question, options: WorkspaceOptions) -> "_Looked":
        looked = self._searched(workspace, root, question, options)
        if not options.lexical_rerank:
            return looked
        found = looked.found
        sources = lexical_rerank(question.text, [one.source for one in found], options.lexical_rerank_weight)
        by_id = {one.source.id: one for one in found}
        reordered = [replace(by_id[source.id], source=source) for source in sources]
        return replace(looked, found=reordered, explanation=_reordered(looked.explanation, sources, options))

    def _searched(self, workspace: Workspace, root: Path, question: Question, options: WorkspaceOptions) -> "_Looked":
        """What the index has to say, as things stand on disk now."""
        from braindex.services.verify import Verifier  # noqa: PLC0415 - a server's start needs no parser

        def look(store: IndexStore) -> _Looked:
            coverage = self._freshness.take_in(workspace, root, store)
            _check_path(question.path, root, store)
            recalled = remembered(self._memories, store, workspace, question, options)
            if question.kind in MEMORY_KINDS:
                asked = analyse(question.text)
                why = of_memories(asked, options.distance_threshold, recalled) if question.explain else None
                return _Looked(_joined([], recalled, asked, question.limit), coverage, None, why)
            retrieved = self._arms.retriever(workspace, self._workspaces.folder(workspace), store).retrieve(
                question.text,
                EntityFilter(question.path, question.kind, question.language),
                options.distance_threshold,
                explain=question.explain,
            )
            checks = Checks() if question.explain else None
            code = self._sources(store, retrieved, Verifier(root, options), question, checks)
            sources = _joined(code, recalled, retrieved.analysis, question.limit)
            coverage = "; ".join(part for part in (coverage, retrieved.note) if part)
            why = _explained(retrieved, options.distance_threshold, sources, checks)
            return _Looked(sources, coverage, related_to(store, question.text), why)

        return self._workspaces.with_index(workspace, look)

    def _sources(
        self,
        store: IndexStore,
        retrieved: Retrieved,
        verifier: "Verifier",
        question: Question,
        checks: Checks | None,
    ) -> "list[_Found]":
        checked: list[tuple[Candidate, Verified]] = []
        for chunk_start in range(0, len(retrieved.candidates), question.limit):
            chunk = retrieved.candidates[chunk_start : chunk_start + question.limit]
            stored = store.entities([one.row for one in chunk])
            for one in chunk:
                seen = _seen(verifier, stored.get(one.row))
                if checks is not None:
                    checks.see(one, stored.get(one.row), seen)
                if seen is not None:
                    checked.append((one, seen))
            if len(checked) >= question.limit:
                break
        found = [(one, seen, _asked_lines(one, seen, retrieved.analysis)) for one, seen in checked[: question.limit]]
        cited = [(one, _by_header(store, seen, asked), asked) for one, seen, asked in found]
        budgets = shares(len(cited), EXCERPT_TOKENS * max(len(cited), _DEFAULT_LIMIT) // _DEFAULT_LIMIT)
        return [
            _Found(_source(one, seen, retrieved.analysis, budget, asked), seen, retrieved.analysis, asked=asked)
            for (one, seen, asked), budget in zip(cited, budgets, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _Found:
    """A source, what its file holds now (None for a memory), the question as it was understood, and the lines of the
    file that it names.
    """

    source: Source
    seen: "Verified | None"
    analysis: Analysis
    recalled: Recalled | None = None
    asked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Looked:
    """The sources, best first, what the index does not cover, and what is related where the question asks for that."""

    found: list[_Found]
    coverage: str
    related: Relatives | None
    explanation: Explanation | None = None


def _answer(
    workspace: Workspace, question: Question, options: WorkspaceOptions, looked: "_Looked", written: Written
) -> Answer:
    sources = [one.source for one in looked.found]
    return Answer(
        workspace=workspace,
        query=question.text,
        engine=written.engine,
        reason=_reason(sources, question, options.distance_threshold, written),
        answer=written.text,
        sources=tuple(sources),
        coverage=looked.coverage,
        removed=written.removed,
        related=looked.related,
        explanation=looked.explanation,
    )


def _explained(
    retrieved: Retrieved, threshold: float, found: "Sequence[_Found]", checks: Checks | None
) -> Explanation | None:
    if retrieved.pool is None or checks is None:
        return None
    cited = [one.source.id if one.recalled is None else one.recalled for one in found]
    ranked = retrieved.candidates
    return explained(
        retrieved.analysis, threshold, retrieved.pool, ranked, cited=cited, checks=checks, note=retrieved.note
    )


def _reordered(
    explanation: Explanation | None, sources: Sequence[Source], options: WorkspaceOptions
) -> Explanation | None:
    """The explanation in the order of the lexical rerank, which came last."""
    if explanation is None:
        return None
    by_id = {one.id: one for one in explanation.placed}
    placed = (replace(by_id[one.id], remark=_RERANKED.format(one.score)) for one in sources)
    return replace(explanation, placed=tuple(placed), rerank=options.lexical_rerank_weight)


def _quoted(found: "Sequence[_Found]") -> list[Quoted]:
    """The sources as an engine is shown them: more of each than an agent gets, within a budget of their own."""
    budgets = shares(len(found), ENGINE_TOKENS)
    return [_quote(one, budget) for one, budget in zip(found, budgets, strict=True)]


def _joined(code: "Sequence[_Found]", memories: Sequence[Recalled], analysis: Analysis, limit: int) -> "list[_Found]":
    """The code with the memories in their places, at most `limit` in all; of the code, the last make room."""
    kept = list(code[: max(0, limit - len(memories))])
    budget = EXCERPT_TOKENS // _DEFAULT_LIMIT * 2
    pinned = analysis.type in {"symbol", "error"} or bool(analysis.mentions)
    for place, one in reversed(placed([found.source for found in kept], memories, pinned=pinned)):
        kept.insert(place, _Found(as_source(one, analysis.text, budget), None, analysis, one))
    return kept


def _quote(found: "_Found", budget: int) -> Quoted:
    source = found.source
    if found.seen is None:
        said = "" if found.recalled is None else text_of(found.recalled.memory)
        text = excerpt(redacted_lines(said.split("\n")), found.analysis.terms, budget)
        return Quoted(source.name, source.kind, "", 0, 0, source.signature, source.remark, text)
    lines, asked = _sent_lines(found.seen, found.asked)
    return Quoted(
        name=source.name,
        kind=source.kind,
        path=source.path,
        line=source.line,
        end_line=source.end_line,
        signature=_cut_signature(redacted_source(found.seen.entity.signature)),
        doc="",  # the lines hold it
        text=excerpt(lines, found.analysis.terms, budget, asked),
    )


def _tokens_saved(found: "Sequence[_Found]", written: Written) -> int:
    """What reading each cited file whole would have cost the agent, beyond what the answer costs it."""
    whole = {one.source.path: one.seen.lines for one in found if one.seen is not None}
    reading = sum(count_tokens("\n".join(lines)) for lines in whole.values())
    told = [citation(one.source.name, one.source.path, one.source.line, one.source.distance) for one in found]
    if written.text is not None:
        told.append(written.text)
    else:
        told += [f"{one.source.signature}\n{one.source.excerpt}" for one in found]
    return max(0, reading - count_tokens("\n".join(told)))


def _check_path(path: str | None, root: Path, store: IndexStore) -> None:
    """Nothing can be found below a path that neither the disk nor the index has: whoever named it means another.

    Raises PathNotThere. One with wildcards is a pattern, which may match nothing.
    """
    if path is None or WILDCARD.search(path) or os.path.lexists(root / path):
        return
    if not store.entity_count(EntityFilter(path)):
        raise PathNotThere(path, root)


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


def _reason(sources: Sequence[Source], question: Question, threshold: float, written: Written) -> str:
    if not sources:
        return _nothing(question)
    reason = written.reason if question.write else _NOT_WANTED
    if all(one.distance is None or one.distance > threshold for one in sources):
        return f"weak matches only: they share words with the question and little else; {reason}"
    return reason


def path_below(root: Path, path: str | None) -> str | None:
    """A path filter relative to the root: `./src`, `src/`, `src/../src` and an absolute path inside the root, also
    through a link, are all `src`.

    Raises PathOutside for a path elsewhere.
    """
    if path is None:
        return None
    text = path.strip().replace("\\", "/") if os.sep == "\\" else path.strip()
    if os.path.isabs(text):
        inside = next((one for one in (Path(text), Path(os.path.realpath(text))) if one.is_relative_to(root)), None)
        if inside is None:
            raise PathOutside(text, root)
        text = inside.relative_to(root).as_posix()
    if ".." in text.split("/"):
        text = posixpath.normpath(text)
        if text.split("/")[0] == "..":
            raise PathOutside(path, root)
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


def _asked_lines(candidate: Candidate, seen: "Verified", analysis: Analysis) -> tuple[int, ...]:
    """The lines of an entity that the question names, where it is at the place that is named."""
    entity = seen.entity
    named = lines_of(analysis.mentions, entity.path) if candidate.pointed else ()
    return tuple(line for line in named if entity.line <= line <= entity.end_line)


def _by_header(store: IndexStore, seen: "Verified", asked: Sequence[int]) -> "Verified":
    """A long class, section or namespace is cited by its header: the whole of it would swallow its members. With a line
    that is asked for, it is cited as far as that.
    """
    entity = seen.entity
    if entity.kind in CALLABLE_KINDS or entity.end_line - entity.line < LONGEST_CITED:
        return seen
    found = store.first_inside(entity.path, entity.start, entity.end, entity.line)
    first = entity.end_line + 1 if found is None else found
    # Never less than a screenful: an agent that opens just these lines has to see what it is about.
    return replace(seen, entity=replace(entity, end_line=max(first - 1, entity.line + LONGEST_CITED - 1, *asked)))


def _source(candidate: Candidate, seen: "Verified", analysis: Analysis, budget: int, asked: Sequence[int]) -> Source:
    entity = seen.entity
    below, places = _shown_lines(seen, asked)
    shown = excerpt_lines(below, analysis.terms, budget, places)
    first = entity.line + len(seen.lines[entity.line - 1 : entity.end_line]) - len(below)
    return Source(
        id=candidate.id,
        name=entity.name,
        kind=entity.kind,
        language=entity.language,
        path=entity.path,
        line=entity.line,
        end_line=entity.end_line,
        signature=_cut_signature(entity.signature),
        doc=entity.docstring,
        excerpt="\n".join(text for _, text in shown),
        distance=candidate.distance,
        score=candidate.score,
        stale=seen.stale,
        excerpt_lines=tuple(None if place is None else first + place for place, _ in shown),
    )


def _shown_lines(seen: "Verified", asked: Sequence[int]) -> tuple[list[str], list[int]]:
    """The lines of an entity below its signature, and where among them the lines are that are asked for. One that is
    within a signature of several lines brings that with it.
    """
    entity = seen.entity
    lines = seen.lines[entity.line - 1 : entity.end_line]
    below = _below_signature(lines, entity.signature) if entity.kind != "file" else list(lines)
    places = [line - entity.line for line in asked]
    above = len(lines) - len(below)
    if any(0 < place < above for place in places):
        return list(lines), places
    return below, [place - above for place in places if place >= above]


def _sent_lines(seen: "Verified", asked: Sequence[int]) -> tuple[list[str], list[int]]:
    """The same as an engine is sent them, without secrets. These are looked for before any line is left out: what says
    that one follows may stand lines above it.
    """
    shown, places = _shown_lines(seen, asked)
    whole = seen.lines[seen.entity.line - 1 : seen.entity.end_line]
    above = len(whole) - len(shown)
    return redacted_lines(whole[: above + looked_at(places)])[above:] + shown[looked_at(places) :], places


def _cut_signature(signature: str) -> str:
    return signature if len(signature) <= _SIGNATURE else signature[: _SIGNATURE - 1] + "…"


def _below_signature(lines: Sequence[str], signature: str) -> list[str]:
    """The lines after the signature, which is shown by itself: as many lines as its text takes in the source."""
    wanted = len("".join(signature.split()))
    read = 0
    for index, line in enumerate(lines):
        read += len("".join(line.split()))
        if read >= wanted:
            return list(lines[index + 1 :]) or list(lines)
    return list(lines)
