"""Ask: a question, the sources as an agent gets them, why each is where it is, and an engine's answer on request."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.responses import Response

from braindex.dashboard.asked import Asked
from braindex.dashboard.desk import Desk, Room, Way, address, sent_to, workspace_of
from braindex.dashboard.editor import NAMES, editor_link
from braindex.dashboard.markdown import blocks
from braindex.dashboard.works import Cancelled
from braindex.domain.entities import KINDS
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.explanation import SIGNALS_SAID, Placed, by_points
from braindex.domain.question import MAX_CHARACTERS
from braindex.domain.results import Answer, Question, Source, Workspace
from braindex.languages import LANGUAGE_NAMES
from braindex.services.ask import LARGEST_LIMIT

ROOM_NAME: Final = "ask"
DEFAULT_LIMIT: Final = 8
WHO: Final = (("", "as the settings say"), ("cloud", "the cloud"), ("local", "this machine"))
_CLOUD: Final[Mapping[str, bool]] = {"cloud": True, "local": False}
_FIELDS: Final = ("q", "path", "kind", "language", "limit", "who")


@dataclass(frozen=True, slots=True)
class Shown:
    """A source with why it is where it is, the number of each line of its excerpt, and where a click leads."""

    source: Source
    why: Placed
    lines: tuple[tuple[int | None, str], ...]
    link: str


def shown(desk: Desk, asked: Asked) -> Response:
    """The form, and below it the sources of the question in it. No engine is asked, and nothing enters the ledger."""
    workspace, fields = workspace_of(desk, asked), _fields(asked)
    if not fields["q"].strip():
        return _page(desk, asked, workspace, fields)
    question = replace(_question(fields), explain=True, estimate=True)
    try:
        answer = desk.app.asking.sources(workspace, question)
    except UsageError as refusal:
        page = _page(desk, asked, workspace, fields, refusal=str(refusal))
        page.status_code = 400
        return page
    return _page(desk, asked, workspace, fields, answer=answer, found=_shown(desk, workspace, answer))


def begin(desk: Desk, asked: Asked) -> Response:
    """Has an engine answer, in the background; its cost was shown beside the button that leads here."""
    workspace, fields = workspace_of(desk, asked), _fields(asked)
    question = _question(fields)

    def call(cancelled: Cancelled) -> Answer:
        return desk.app.asking.ask(workspace, question, cancelled)

    mark = _mark(fields)
    desk.works.begin(_key(workspace, mark), call)
    if asked.partial:
        return _written(desk, asked, workspace, mark)
    return sent_to(f"{address(workspace, ROOM_NAME, 'written')}?work={mark}")


def written(desk: Desk, asked: Asked) -> Response:
    """The answer, or that it is being written: asked for every second meanwhile."""
    return _written(desk, asked, workspace_of(desk, asked), asked.word("work"))


def stop(desk: Desk, asked: Asked) -> Response:
    """Asks the engine to stop; the sources are not lost."""
    workspace, mark = workspace_of(desk, asked), asked.form.get("work", "")
    work = desk.works.get(_key(workspace, mark))
    if work is not None:
        work.left.set()
    if asked.partial:
        return _written(desk, asked, workspace, mark)
    return sent_to(f"{address(workspace, ROOM_NAME, 'written')}?work={_plain(mark)}")


def _written(desk: Desk, asked: Asked, workspace: Workspace, mark: str) -> Response:
    work = desk.works.get(_key(workspace, mark))
    running = work is not None and work.running  # looked at once: it may end while the page is made
    values: dict[str, Any] = {"work": work, "running": running, "mark": _plain(mark), "answer": None, "failure": ""}
    if work is not None and not running:
        error = work.future.exception()
        if error is None:
            answer: Answer = work.future.result()
            values |= {"answer": answer, "blocks": blocks(answer.answer or "")}
        else:
            expected = isinstance(error, BraindexError)
            values["failure"] = str(error) if expected else f"a bug in braindex: {type(error).__name__}"
    if asked.partial:
        return desk.part(asked, "_written.html", workspace=workspace, **values)
    return desk.page(asked, "ask_written.html", ROOM_NAME, "Answer", workspace, **values)


def _page(
    desk: Desk,
    asked: Asked,
    workspace: Workspace,
    fields: Mapping[str, str],
    *,
    answer: Answer | None = None,
    found: tuple[Shown, ...] = (),
    refusal: str = "",
) -> Response:
    return desk.page(
        asked,
        "ask.html",
        ROOM_NAME,
        "Ask",
        workspace,
        fields=fields,
        answer=answer,
        found=found,
        refusal=refusal,
        kinds=sorted(KINDS),
        languages=sorted(LANGUAGE_NAMES),
        who=WHO,
        longest=MAX_CHARACTERS,
        most=LARGEST_LIMIT,
        by_points=by_points,
        said=SIGNALS_SAID,
        editor=NAMES.get(desk.app.settings.editor_link, ""),
    )


def _fields(asked: Asked) -> dict[str, str]:
    given = asked.form or asked.query
    return {name: given.get(name, "") for name in _FIELDS}


def _question(fields: Mapping[str, str]) -> Question:
    limit = fields["limit"].strip()
    return Question(
        text=fields["q"],
        limit=int(limit) if limit.isascii() and limit.isdecimal() and len(limit) < 6 else DEFAULT_LIMIT,
        path=fields["path"].strip() or None,
        kind=fields["kind"].strip() or None,
        language=fields["language"].strip() or None,
        use_cloud=_CLOUD.get(fields["who"]),
    )


def _shown(desk: Desk, workspace: Workspace, answer: Answer) -> tuple[Shown, ...]:
    if answer.explanation is None:
        return ()
    editor, placed = desk.app.settings.editor_link, answer.explanation.placed
    return tuple(
        Shown(one, why, _numbered(one), editor_link(editor, workspace, one.path, one.line))
        for one, why in zip(answer.sources, placed, strict=True)
    )


def _numbered(source: Source) -> tuple[tuple[int | None, str], ...]:
    lines = source.excerpt.split("\n") if source.excerpt else []
    numbers = source.excerpt_lines if len(source.excerpt_lines) == len(lines) else (None,) * len(lines)
    return tuple(zip(numbers, lines, strict=True))


def _mark(fields: Mapping[str, str]) -> str:
    """What tells one question from another: the same one asked twice at once is answered once."""
    text = "\0".join(fields[name] for name in _FIELDS)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _plain(mark: str) -> str:
    return "".join(one for one in mark[:32] if one in "0123456789abcdef")


def _key(workspace: Workspace, mark: str) -> str:
    return f"ask {workspace.id} {_plain(mark)}"


ROOM: Final = Room(
    ROOM_NAME,
    "Ask",
    (
        Way("/workspaces/{workspace}/ask", shown),
        Way("/workspaces/{workspace}/ask", shown, "POST"),
        Way("/workspaces/{workspace}/ask/answer", begin, "POST"),
        Way("/workspaces/{workspace}/ask/written", written),
        Way("/workspaces/{workspace}/ask/stop", stop, "POST"),
    ),
    of_workspace=True,
)
