"""The text of a tool's answer: what an agent reads when its client shows the text and not the structure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from braindex.domain.citations import citation
from braindex.domain.display import safe_line, safe_path, shortened
from braindex.domain.identity import short_id
from braindex.domain.memories import Note
from braindex.domain.recall import text_of
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
from braindex.domain.routing import NO_ENGINE
from braindex.services.brief import BriefView
from braindex.services.notes import Listed, Saved

# Skipped files and folders that an answer lists, in text and structure alike; the count beside them is exact.
SKIPPED_IN_SUMMARY: Final = 10
SKIPPED_IN_STATUS: Final = 20


def workspace_line(workspace: Workspace) -> str:
    return f"Workspace: {safe_line(workspace.name)} ({safe_path(workspace.path)})"


def answer_text(answer: Answer, *, show_sources: bool) -> str:
    """`Sources:`, one citation a line, a blank line, then the answer or the excerpts under the same names."""
    if not answer.sources and answer.answer is None and answer.related is None:
        return _nothing_found(answer)
    blocks = [_sources_block(answer.sources)] if show_sources and answer.sources else []
    if answer.answer is not None or answer.sources:
        blocks.append(answer.answer if answer.answer is not None else _excerpts(answer.sources, named=show_sources))
    if answer.related is not None:
        blocks.append("\n".join(relatives_lines(answer.related)))
    blocks.append(_footer(answer))
    return "\n\n".join(blocks)


def scan_text(workspace: Workspace, summary: ScanSummary) -> str:
    held = f"{summary.files} files, {summary.entities} entities"
    changes = f"{summary.added} added, {summary.changed} changed, {summary.removed} removed"
    lines = [
        f"Scan complete: {held} ({changes}) in {summary.seconds:.1f} s.",
        *(safe_line(note) for note in summary.notes),
        *_skipped_lines(summary.skipped, SKIPPED_IN_SUMMARY),
        workspace_line(workspace),
    ]
    return "\n".join(lines)


def running_text(workspace: Workspace, progress: ScanProgress, *, refreshes: bool = False) -> str:
    then = " The brief is made anew when it has ended." if refreshes else ""
    return (
        f"The scan is still running: {progress_text(progress)}. It goes on by itself: do not start it again. "
        f"scan_status says how far it is, and query_memory already answers from what is ready.{then}\n"
        f"{workspace_line(workspace)}"
    )


def progress_text(progress: ScanProgress) -> str:
    if not progress.files_total:
        return progress.phase
    done = f"{progress.files_done} of {progress.files_total} files"
    return f"{progress.phase}, {done}, {progress.entities} entities"


def status_text(status: ScanStatus, refresh: str = "") -> str:
    """`refresh` says how a brief that was to be made anew stands, "" where none was."""
    lines = [workspace_line(status.workspace), f"State: {_state(status)}"]
    lines.append(f"Indexed: {status.files} files, {status.entities} entities")
    if status.memory_error:
        lines.append(f"Memory: cannot be read: {safe_line(status.memory_error)}")
    else:
        lines.append(f"Remembered: {status.notes or 0} notes, {status.episodes or 0} episodes")
    if status.freshness:
        lines.append(f"Freshness: {safe_line(status.freshness)}")
    lines.append(f"Brief: {status.brief.standing if status.brief else 'none'}")
    if refresh:
        lines.append(f"Last asked for: {safe_line(refresh)}")
    if status.last_scan:
        lines.append(f"Last scan: {status.last_scan}")
    if status.last_error:
        lines.append(f"Last error: {safe_line(status.last_error)}")
    if status.known_parent:
        lines.append(f"Part of the known workspace {safe_path(status.known_parent.path)}")
    return "\n".join([*lines, *_skipped_lines(status.skipped, SKIPPED_IN_STATUS)])


def brief_text(workspace: Workspace, view: BriefView) -> str:
    return f"{view.text.strip()}\n\nBrief: {view.state.standing}\n{workspace_line(workspace)}"


def updated_text(workspace: Workspace, view: BriefView) -> str:
    return f"The brief was replaced: {view.state.standing}. get_brief shows it.\n{workspace_line(workspace)}"


def saved_text(workspace: Workspace, saved: Saved) -> str:
    note = saved.note
    lines = [f"{'Known already, word for word' if saved.known else 'Remembered'}: note {note.id}."]
    lines += [
        f"Note {one.memory.id} says nearly the same: {safe_line(shortened(text_of(one.memory)))}. If one will do, "
        "forget_memory the other."
        for one in saved.similar
    ]
    return "\n".join([*lines, workspace_line(workspace)])


def notes_text(workspace: Workspace, listed: Sequence[Listed], total: int) -> str:
    lines = [_note_line(one) for one in listed] or ["No notes. save_to_memory keeps one."]
    more = [f"{len(listed)} of {total} notes"] if total > len(listed) else []
    return "\n".join([*lines, *more, workspace_line(workspace)])


def _note_line(one: Listed) -> str:
    note = one.note
    about = ", ".join(tie.qualified_name or tie.path for tie in note.about)
    head = " ".join([note.id, note.created[:10], *([note.category] if note.category else [])])
    head += f" about {about}" if about else ""
    head += f" [may be stale: {one.stale}]" if one.stale else ""
    return f"- {safe_line(head)}: {safe_line(shortened(note.text, 600))}"


def forgotten_text(workspace: Workspace, note: Note) -> str:
    return f"Forgotten: note {note.id}, {safe_line(shortened(note.text))}\n{workspace_line(workspace)}"


def workspaces_text(known: Iterable[Known]) -> str:
    lines = [_known_line(one) for one in known]
    return "\n".join(lines) or "No workspace is known yet. scan_workspace, given a path, makes one."


def _sources_block(sources: Iterable[Source]) -> str:
    return "\n".join(["Sources:", *(_cited(one) for one in sources)])


def _cited(source: Source) -> str:
    stale = " [stale: changed since it was indexed]" if source.stale and not source.is_memory else ""
    stale += f" [{source.kind}{': ' + safe_line(source.remark) if source.remark else ''}]" if source.is_memory else ""
    return citation(source.name, source.path, source.line, source.distance) + stale


def _excerpts(sources: Sequence[Source], *, named: bool) -> str:
    """Each excerpt under its source's name, or under its whole citation where no block above gives it."""
    headings = _headings(sources) if named else [_cited(one) for one in sources]
    return "\n\n".join(_excerpt(one, heading) for one, heading in zip(sources, headings, strict=True))


def _headings(sources: Sequence[Source]) -> list[str]:
    """The names of the sources, each with as much of its citation as tells it from the others: nothing, the
    file's name and the line, or the whole path. Every token is the agent's to pay.
    """
    names = Counter(one.name for one in sources)
    places = Counter(_place(one) for one in sources)
    return [
        f"`{safe_line(one.name)}`"
        if names[one.name] == 1
        else _place(one)
        if places[_place(one)] == 1
        else citation(one.name, one.path, one.line, None)
        for one in sources
    ]


def _place(source: Source) -> str:
    return citation(source.name, source.path.rpartition("/")[2], source.line, None)


def _excerpt(source: Source, heading: str) -> str:
    """The heading, the signature and the lines below it; the description where there is no more than that."""
    body = source.excerpt.strip("\n") or source.doc
    shown = "" if body.startswith(source.signature) else source.signature
    return "\n".join(part for part in (heading, shown, body) if part)


def _footer(answer: Answer) -> str:
    """Who answered and why, where there is something to say of it: an engine that failed is never passed over."""
    parts = [workspace_line(answer.workspace)]
    reason = safe_line(answer.reason)
    if answer.engine != "none":
        parts.append(f"Engine: {answer.engine} ({reason})")
    elif answer.reason != NO_ENGINE:
        parts.append(f"No written answer: {reason}")
    if answer.coverage:
        parts.append(answer.coverage)
    return "\n".join(parts)


def _nothing_found(answer: Answer) -> str:
    again = answer.coverage or "scanning again will not help"
    return f"Nothing found: {answer.reason}; {again}.\n{workspace_line(answer.workspace)}"


def _state(status: ScanStatus) -> str:
    known = {"never": "never scanned (query_memory or scan_workspace starts the first scan)"}
    if status.progress is not None:
        return f"{status.state}: {progress_text(status.progress)}"
    partial = "" if status.complete or status.state == "never" else ", the index is partial"
    return known.get(status.state, status.state) + partial


def _skipped_lines(skipped: tuple[Skipped, ...], at_most: int) -> list[str]:
    if not skipped:
        return []
    shown = [f"- {safe_path(one.path)}: {safe_line(one.reason)}" for one in skipped[:at_most]]
    more = len(skipped) - len(shown)
    return [
        f"Skipped: {len(skipped)}",
        *shown,
        *([f"- and {more} more, which `braindex status --json` names"] if more else []),
    ]


def _known_line(known: Known) -> str:
    one = known.workspace
    scanned = f"last scan {known.last_scan}" if known.last_scan else "never scanned"
    gone = "" if known.exists else " [folder is missing]"
    return (
        f"{short_id(one.id)} {safe_line(one.name)} {safe_path(one.path)}{gone}: "
        f"{known.files} files, {known.entities} entities, {scanned}"
    )
