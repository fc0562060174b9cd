"""How results look on a terminal. Everything that comes from files or names is escaped."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from braindex.cli.output import Style
from braindex.domain.citations import citation
from braindex.domain.display import safe, safe_line, safe_path
from braindex.domain.entities import CodeEntity
from braindex.domain.identity import short_id
from braindex.domain.relations import relatives_lines
from braindex.domain.results import (
    Answer,
    ScanProgress,
    ScanStatus,
    ScanSummary,
    Skipped,
    Source,
    Workspace,
)
from braindex.domain.results import WorkspaceInfo as Known

SKIPPED_SHOWN: Final = 10
LEFT_OUT_SHOWN: Final = 20
_INDENT: Final = "    "


def answer_lines(answer: Answer, style: Style) -> Iterator[str]:
    """The written answer first, then each source: citation, signature, first line of its description,
    excerpt.
    """
    if answer.answer is not None:
        yield safe(answer.answer)
        yield ""
    if answer.related is not None:
        yield from relatives_lines(answer.related)
        yield ""
    for rank, source in enumerate(answer.sources, start=1):
        yield from _source_lines(rank, source, style)
        yield ""
    if not answer.sources and answer.answer is None and answer.related is None:
        yield f"Nothing found: {safe_line(answer.reason)}"
    yield style.dim(_footer(answer))


def scan_lines(workspace: Workspace, summary: ScanSummary) -> list[str]:
    changes = f"{summary.added} added, {summary.changed} changed, {summary.removed} removed"
    done = f"{_counted(summary.files, 'file')}, {_entities(summary.entities)} ({changes})"
    return [
        f"{safe_line(workspace.name)}: {done} in {summary.seconds:.1f} s",
        *(safe_line(note) for note in summary.notes),
        *_skipped_lines(summary.skipped),
    ]


def status_lines(status: ScanStatus) -> list[str]:
    workspace = status.workspace
    state = status.state if status.complete or status.state == "never" else f"{status.state} (the index is partial)"
    rows = [
        ("workspace", safe_line(workspace.name)),
        ("path", safe_path(workspace.path)),
        ("id", workspace.id),
        ("state", "never scanned" if state == "never" else state),
        ("scan", _progress(status.progress)),
        ("files", f"{status.files:,}"),
        ("entities", f"{status.entities:,}"),
        ("notes", "" if status.notes is None else f"{status.notes:,}"),
        ("episodes", "" if status.episodes is None else f"{status.episodes:,}"),
        ("memory", f"cannot be read: {safe_line(status.memory_error)}" if status.memory_error else ""),
        ("languages", _tally(status.languages)),
        ("kinds", _tally(status.kinds)),
        ("brief", status.brief.standing if status.brief else "none"),
        ("last scan", status.last_scan or ""),
        ("freshness", safe_line(status.freshness)),
        ("last error", safe_line(status.last_error or "")),
        ("part of", safe_path(status.known_parent.path) if status.known_parent else ""),
    ]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows if value] + _skipped_lines(status.skipped)


def entity_line(entity: CodeEntity) -> str:
    place = f"{safe_path(entity.path)}:{entity.line}"
    return f"{place}  {entity.kind}  {safe_line(entity.signature or entity.qualified_name)}"


def left_out_lines(left_out: Sequence[Skipped]) -> list[str]:
    """What a listing of entities leaves out."""
    return [f"left out {len(left_out):,}:", *_reasons(left_out, LEFT_OUT_SHOWN, "")]


def workspace_lines(known: Sequence[Known]) -> list[str]:
    """A table: short id, name, counts, last scan, path."""
    if not known:
        return ["No workspace is known yet; `braindex scan PATH` makes one."]
    rows = [("ID", "NAME", "FILES", "ENTITIES", "LAST SCAN", "PATH"), *(_known_row(one) for one in known)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]]) for row in rows]


def _source_lines(rank: int, source: Source, style: Style) -> Iterator[str]:
    stale = style.dim(" (changed since it was indexed)") if source.stale and not source.is_memory else ""
    stale += style.dim(f" ({safe_line(source.remark)})") if source.remark else ""
    cited = citation(source.name, source.path, source.line, source.distance)
    yield f"{style.dim(f'{rank:>2}')}  {style.bold(cited)}{stale}"
    signature, excerpt = source.signature.strip(), source.excerpt.strip("\n")
    doc = source.doc.strip().split("\n", 1)[0]
    if signature:
        yield _INDENT + style.accent(safe_line(signature))
    if doc and doc not in excerpt:  # an excerpt may begin with the description: once is enough
        yield _INDENT + style.dim(safe_line(doc))
    if excerpt.strip() != signature:
        for text in excerpt.splitlines():
            yield (_INDENT + style.dim("│ ") + safe(text)).rstrip()


def _footer(answer: Answer) -> str:
    workspace = f"{safe_line(answer.workspace.name)} ({safe_path(answer.workspace.path)})"
    said = safe_line(answer.reason) if answer.sources else ""
    if answer.engine != "none":
        said = f"{answer.engine}: {said}"
    return " · ".join(part for part in (workspace, said, safe_line(answer.coverage)) if part)


def _progress(progress: ScanProgress | None) -> str:
    if progress is None:
        return ""
    total = f" of {progress.files_total}" if progress.files_total else ""
    return f"{progress.phase}, {progress.files_done}{total} files, {progress.entities} entities"


def _tally(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered)


def _skipped_lines(skipped: Sequence[Skipped]) -> list[str]:
    if not skipped:
        return []
    return [f"skipped {len(skipped)}:", *_reasons(skipped, SKIPPED_SHOWN, " (--json lists them all)")]


def _reasons(skipped: Sequence[Skipped], at_most: int, hint: str) -> list[str]:
    shown = [f"  {safe_path(one.path)}: {safe_line(one.reason)}" for one in skipped[:at_most]]
    more = len(skipped) - len(shown)
    return [*shown, *([f"  and {more:,} more{hint}"] if more else [])]


def _known_row(known: Known) -> tuple[str, ...]:
    one = known.workspace
    path = safe_path(one.path) + ("" if known.exists else "  (missing)")
    name = safe_line(one.name)
    return short_id(one.id), name, f"{known.files:,}", f"{known.entities:,}", known.last_scan or "never", path


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _entities(count: int) -> str:
    return "1 entity" if count == 1 else f"{count:,} entities"


def joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)
