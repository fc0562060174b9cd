"""Memory: notes and episodes found, filtered and shown a page at a time; edited, merged, deleted, exported."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from braindex.dashboard.asked import Asked
from braindex.dashboard.desk import Desk, Room, Way, address, sent_to, workspace_of
from braindex.dashboard.paging import Page
from braindex.domain.duplicates import LEAST, NEARLY_SAME
from braindex.domain.errors import UsageError
from braindex.domain.memories import MemoryType, Note, NoteChanged
from braindex.domain.results import Workspace
from braindex.registry.memory_browsing import MemoryFilter
from braindex.services.curation import Curation, Kept, days

ROOM_NAME: Final = "memory"
A_PAGE: Final = 50
GROUPS_A_PAGE: Final = 20
_TYPES: Final[Mapping[str, MemoryType]] = {"note": "note", "episode": "episode"}
_FIELDS: Final = ("q", "what", "category", "kind", "client", "since", "until", "path", "stale")
NO_CATEGORY: Final = "-"  # of the filter: notes without a category; no note has it by itself alone


class NotADay(UsageError):
    def __init__(self, text: str) -> None:
        super().__init__(f"'{text[:40]}' is no day; give one such as 2026-11-01")


def shown(desk: Desk, asked: Asked) -> Response:
    """What the filters let through, the newest first."""
    workspace = workspace_of(desk, asked)
    fields = {name: asked.word(name) for name in _FIELDS}
    curation, number = desk.app.curation, asked.number("page")
    refusal = ""
    try:
        page = _paged(curation, workspace, fields, number)
    except UsageError as error:
        refusal, page = str(error), Page([], 1, A_PAGE, 0)
        fields |= {"since": "", "until": ""}  # a field for a day takes nothing else
    answer = desk.page(
        asked,
        "memory.html",
        ROOM_NAME,
        "Memory",
        workspace,
        page=page,
        fields=fields,
        labels=curation.labels(workspace),
        refusal=refusal,
        no_category=NO_CATEGORY,
        filtered=any(fields.values()),
    )
    answer.status_code = 400 if refusal else 200
    return answer


def one(desk: Desk, asked: Asked) -> Response:
    """A note or an episode, whole."""
    workspace = workspace_of(desk, asked)
    return desk.page(
        asked,
        "memory_one.html",
        ROOM_NAME,
        "Memory",
        workspace,
        kept=desk.app.curation.kept(workspace, asked.place["id"]),
    )


def edit(desk: Desk, asked: Asked) -> Response:
    """A note in a form."""
    workspace = workspace_of(desk, asked)
    note = desk.app.memories.note(workspace, asked.place["id"])
    return _editing(desk, asked, workspace, note, {}, refusal="")


def save(desk: Desk, asked: Asked) -> Response:
    """Takes the form in. What cannot be stored stays in it, with the reason."""
    workspace, form = workspace_of(desk, asked), asked.form
    note = desk.app.memories.note(workspace, asked.place["id"])
    try:
        desk.app.curation.edit(
            workspace,
            note.id,
            text=form.get("text", "").replace("\r\n", "\n"),
            category=form.get("category", ""),
            about=[each for each in form.get("about", "").replace("\r\n", "\n").split("\n") if each.strip()],
            renew=form.get("renew") == "yes",
            seen=form.get("seen", ""),
        )
    except (UsageError, NoteChanged) as refusal:
        return _editing(desk, asked, workspace, note, form, refusal=str(refusal))
    return sent_to(_of(workspace, note.id), "note-edited")


def confirm_forget(desk: Desk, asked: Asked) -> Response:
    """Shows once more what is to be deleted."""
    workspace = workspace_of(desk, asked)
    return desk.page(
        asked,
        "memory_forget.html",
        ROOM_NAME,
        "Forget",
        workspace,
        kept=desk.app.curation.kept(workspace, asked.place["id"]),
    )


def forget(desk: Desk, asked: Asked) -> Response:
    """Deletes it for good."""
    workspace = workspace_of(desk, asked)
    desk.app.memories.forget_memory(workspace, desk.app.memories.memory(workspace, asked.place["id"]))
    return sent_to(address(workspace, ROOM_NAME), "forgotten")


def duplicates(desk: Desk, asked: Asked) -> Response:
    """Notes that say nearly the same, in groups."""
    workspace = workspace_of(desk, asked)
    least = _percent(asked.word("least"))
    groups = desk.app.curation.duplicates(workspace, least)
    number = min(asked.number("page"), max(1, -(-len(groups) // GROUPS_A_PAGE)))
    start = (number - 1) * GROUPS_A_PAGE
    page = Page(groups[start : start + GROUPS_A_PAGE], number, GROUPS_A_PAGE, len(groups))
    return desk.page(
        asked,
        "memory_duplicates.html",
        ROOM_NAME,
        "Notes that say nearly the same",
        workspace,
        page=page,
        least=round(100 * least),
        lowest=round(100 * LEAST),
    )


def plan(desk: Desk, asked: Asked) -> Response:
    """What a merge would leave, keep and lose, in a form where the text can be changed."""
    workspace = workspace_of(desk, asked)
    found = desk.app.curation.plan_merge(workspace, asked.form.get("keep", ""), asked.all_of("note"))
    return desk.page(asked, "memory_merge.html", ROOM_NAME, "Merge notes", workspace, plan=found, refusal="")


def merge(desk: Desk, asked: Asked) -> Response:
    """Puts one note in place of several, with the text of the form."""
    workspace = workspace_of(desk, asked)
    keep, others = asked.form.get("keep", ""), asked.all_of("note")
    text = asked.form.get("text", "").replace("\r\n", "\n")
    given = None if text.strip() == asked.form.get("joined", "").replace("\r\n", "\n").strip() else text
    try:
        found = desk.app.curation.merge(workspace, keep, others, given)
    except UsageError as refusal:
        again = desk.app.curation.plan_merge(workspace, keep, others)
        page = desk.page(
            asked, "memory_merge.html", ROOM_NAME, "Merge notes", workspace, plan=again, refusal=str(refusal)
        )
        page.status_code = 400
        return page
    return sent_to(_of(workspace, found.note.id), "merged")


def export(desk: Desk, asked: Asked) -> Response:
    """The export of the command line, as a file."""
    workspace = workspace_of(desk, asked)
    markdown, episodes = asked.word("as") == "markdown", asked.word("episodes") == "yes"
    lines = desk.app.notes.exported(workspace, markdown=markdown, episodes=episodes)
    name, kind = ("notes.md", "text/markdown") if markdown else ("notes.jsonl", "application/jsonl")
    headers = {"Content-Disposition": f'attachment; filename="braindex-{name}"'}
    text = (f"{line}\n".encode("utf-8", "replace") for line in lines)
    return StreamingResponse(text, media_type=f"{kind}; charset=utf-8", headers=headers)


def _paged(curation: Curation, workspace: Workspace, fields: Mapping[str, str], number: int) -> Page[Kept]:
    narrowed, stale = _filter(fields), bool(fields["stale"])
    found = curation.page(workspace, narrowed, stale=stale, limit=A_PAGE, offset=(number - 1) * A_PAGE)
    if not found.items and found.total:  # past the end, where something was deleted meanwhile
        number = -(-found.total // A_PAGE)
        found = curation.page(workspace, narrowed, stale=stale, limit=A_PAGE, offset=(number - 1) * A_PAGE)
    return Page(found.items, number, A_PAGE, found.total)


def _filter(fields: Mapping[str, str]) -> MemoryFilter:
    """Raises NotADay."""
    since, until = days(_day(fields["since"]), _day(fields["until"]))
    category = "" if fields["category"] == NO_CATEGORY else fields["category"] or None
    return MemoryFilter(
        words=fields["q"],
        what=_TYPES.get(fields["what"]),
        category=category,
        kind=fields["kind"] or None,
        client=fields["client"] or None,
        since=since,
        until=until,
        path=fields["path"].strip("/") or None,
    )


def _day(text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise NotADay(text) from None


def _percent(text: str) -> float:
    return int(text) / 100 if text.isascii() and text.isdecimal() and len(text) < 4 else NEARLY_SAME


def _editing(
    desk: Desk, asked: Asked, workspace: Workspace, note: Note, form: Mapping[str, str], *, refusal: str
) -> Response:
    values: dict[str, Any] = {
        "text": form.get("text", note.text),
        "category": form.get("category", note.category),
        "about": form.get("about", "\n".join(tie.written for tie in note.about)),
        "seen": form.get("seen", note.updated),
    }
    labels = desk.app.curation.labels(workspace)
    page = desk.page(
        asked,
        "memory_edit.html",
        ROOM_NAME,
        "Edit a note",
        workspace,
        kept=desk.app.curation.kept(workspace, note.id),
        values=values,
        categories=[name for name in labels.categories if name],
        refusal=refusal,
    )
    page.status_code = 400 if refusal else 200
    return page


def _of(workspace: Workspace, identifier: str) -> str:
    return address(workspace, ROOM_NAME, "of", identifier)


ROOM: Final = Room(
    ROOM_NAME,
    "Memory",
    (
        Way("/workspaces/{workspace}/memory", shown),
        Way("/workspaces/{workspace}/memory/of/{id}", one),
        Way("/workspaces/{workspace}/memory/of/{id}/edit", edit),
        Way("/workspaces/{workspace}/memory/of/{id}/edit", save, "POST"),
        Way("/workspaces/{workspace}/memory/of/{id}/forget", confirm_forget),
        Way("/workspaces/{workspace}/memory/of/{id}/forget", forget, "POST"),
        Way("/workspaces/{workspace}/memory/duplicates", duplicates),
        Way("/workspaces/{workspace}/memory/plan", plan, "POST"),
        Way("/workspaces/{workspace}/memory/merge", merge, "POST"),
        Way("/workspaces/{workspace}/memory/export", export),
    ),
    of_workspace=True,
)
