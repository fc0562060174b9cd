"""The dashboard's one error boundary: every failure of a view becomes a page that says what to do."""

import logging
from typing import Final

from starlette.responses import Response

from braindex.dashboard.asked import Asked, ForeignForm, NoSuchPage
from braindex.dashboard.desk import Desk, View
from braindex.dashboard.guard import BodyTooLarge
from braindex.domain.display import shortened
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.memories import UnknownMemory
from braindex.domain.names import UnknownWorkspace

LOG: Final = logging.getLogger(__name__)

LONGEST_MESSAGE: Final = 3000  # characters; a longer one repeats what somebody forgot to cut
_STATUS: Final[tuple[tuple[type[BraindexError], int], ...]] = (
    (UnknownWorkspace, 404),
    (NoSuchPage, 404),
    (UnknownMemory, 404),
    (ForeignForm, 403),
    (BodyTooLarge, 413),
    (UsageError, 400),
    (BraindexError, 409),
)


def answered(desk: Desk, view: View, asked: Asked, log_path: str) -> Response:
    """What a view returns; an expected failure as its message, any other as a bug with the place of its traceback."""
    try:
        return view(desk, asked)
    except BraindexError as error:
        return told(desk, asked, error)
    except Exception as error:  # the boundary: one page, and a traceback in the log
        LOG.exception("a view failed unexpectedly")
        where = f" The traceback is in {log_path}." if log_path else ""
        return _page(desk, asked, 500, f"This is a bug in braindex ({type(error).__name__}); nothing was lost.{where}")


def told(desk: Desk, asked: Asked, error: BraindexError) -> Response:
    """An expected failure, in its own words."""
    status = next(number for kind, number in _STATUS if isinstance(error, kind))
    return _page(desk, asked, status, shortened(str(error), LONGEST_MESSAGE))


def _page(desk: Desk, asked: Asked, status: int, message: str) -> Response:
    if asked.partial:
        page = desk.part(asked, "_failure.html", message=message)
    else:
        page = desk.page(asked, "failure.html", "", "That did not work", message=message)
    page.status_code = status
    return page
