"""The Chroma server that CHROMA_URL names, and the collections that earlier indexes left on servers."""

from collections.abc import Iterator
from typing import Final

from braindex.domain.health import Check, counted
from braindex.services.doctor.parts import AskedServer, Installation

SERVER: Final = "Chroma server"
_MEANWHILE: Final = "until then questions are answered from index.db"


def server(here: Installation) -> Iterator[Check]:
    """Whether it can be used now. Nothing is said where none is configured."""
    if here.server is not None:
        yield _said(here.server)


def _said(asked: AskedServer) -> Check:
    version, trouble = asked.answer
    if not trouble:
        return Check(SERVER, "ok", f"{asked.where}, version {version}")
    what, _, hint = trouble.partition(": ")
    remedy = f"{hint or 'see that it runs, and that CHROMA_URL is its address'}; or unset CHROMA_URL; {_MEANWHILE}"
    return Check(SERVER, "broken", what, remedy)


def left_collections(here: Installation) -> Iterator[Check]:
    """Collections that nobody needs any more, and that no scan has been able to delete."""
    for left in here.parts.left_collections():
        detail = f"{counted(left.count, 'collection')} of earlier indexes or dropped workspaces left at {left.where}"
        remedy = (
            f"nothing has to be done: a scan with the CHROMA_URL of then, at {left.where}, deletes what is left there"
        )
        yield Check("collections", "note", detail, remedy)
