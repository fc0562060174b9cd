"""A request as a view is given it, when the guard and its form have been looked at."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from braindex.dashboard.access import Session
from braindex.domain.errors import BraindexError, UsageError

FORM: Final = "application/x-www-form-urlencoded"
CSRF_FIELD: Final = "csrf"
MOST_FIELDS: Final = 200
MOST_PAGE: Final = 1_000_000


class NotAForm(UsageError):
    def __init__(self) -> None:
        super().__init__("what was sent is no form of this page")


class ForeignForm(BraindexError):
    """A form without the token of the session that sends it."""

    def __init__(self) -> None:
        super().__init__("the form is not of this session, so nothing was done; load the page again and send it anew")


class NoSuchPage(BraindexError):
    def __init__(self) -> None:
        super().__init__("there is no such page")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that passed the guard. Of a name that comes several times in a query or form, the last value counts
    in `query` and `form`, and all of them in `values`. `partial`: htmx asks for a part of a page.
    """

    session: Session
    place: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    values: tuple[tuple[str, str], ...] = ()
    partial: bool = False

    def word(self, name: str, default: str = "") -> str:
        """A value of the query, without the space around it."""
        return self.query.get(name, default).strip() or default

    def number(self, name: str, default: int = 1, most: int = MOST_PAGE) -> int:
        """A whole number of the query between 1 and `most`; what is none is the default."""
        text = self.word(name)
        if not (text.isascii() and text.isdecimal()) or len(text) > 9:
            return default
        return max(1, min(int(text), most))

    def all_of(self, name: str) -> list[str]:
        """Every value of a name that may come several times."""
        return [value for key, value in self.values if key == name]


async def asked_of(request: Request) -> Asked:
    """The request as its view is given it.

    Raises NotAForm, ForeignForm: no view sees a form that was not filled in on a page of its session.
    """
    session: Session = request.state.session
    query = _pairs(request.scope.get("query_string", b""))
    partial = request.headers.get("hx-request") == "true"
    if request.method != "POST":
        return Asked(session, dict(request.path_params), dict(query), {}, tuple(query), partial)
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != FORM:
        raise NotAForm
    form = _pairs(await request.body())
    fields = dict(form)
    if not hmac.compare_digest(fields.pop(CSRF_FIELD, "").encode(), session.csrf.encode()):
        raise ForeignForm
    return Asked(session, dict(request.path_params), dict(query), fields, tuple(form), partial)


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(encoded.decode("utf-8"), keep_blank_values=True, errors="replace", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise NotAForm from None
