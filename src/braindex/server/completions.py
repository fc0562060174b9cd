"""Values for the arguments of the prompts and of a brief's URI, while a person types them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from braindex.bootstrap import App
from braindex.domain.display import safe_path
from braindex.domain.results import Workspace
from braindex.languages import language_named
from braindex.server.adding_a_language import GRAMMARS
from braindex.server.prompts import STAGED

VALUES_AT_MOST: Final = 100  # as many as the protocol lets an answer hold


class Completions:
    """What an argument may be, by its name; of any other argument nothing is known. Every method blocks."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._sources: Mapping[str, Callable[[str], Sequence[str]]] = {
            "workspace": self._references,
            "workspace_id": self._ids,
            "changes": lambda typed: _beginning(typed, (STAGED, "HEAD")),
            "language": lambda typed: _beginning(typed, [one for one in GRAMMARS if language_named(one) is None]),
        }

    def of(self, argument: str, typed: str) -> Sequence[str]:
        """All values that go on from what was typed, the likeliest first. Raises BraindexError."""
        source = self._sources.get(argument)
        return source(typed.strip()) if source is not None else ()

    def _references(self, typed: str) -> list[str]:
        """Workspaces by what names them alone: the name, else the path. An id that is being typed stays an id."""
        known = self._known()
        names = Counter(one.name for one in known)
        return [_reference(one, typed, names) for one in _meant(typed, known)]

    def _ids(self, typed: str) -> list[str]:
        return [one.id for one in _meant(typed, self._known())]

    def _known(self) -> list[Workspace]:
        """Those whose names and paths can be shown as they are: a value is shown and then sent back."""
        known = (one.workspace for one in self._app.workspaces.list())
        return [one for one in known if safe_path(one.path) == one.path and safe_path(one.name) == one.name]


def _meant(typed: str, known: Sequence[Workspace]) -> list[Workspace]:
    """The workspaces whose id, path or name begins so, or whose name holds it; the first kind comes first."""
    wanted = typed.casefold()
    begin = [one for one in known if _begins(one, typed)]
    return begin + [one for one in known if one not in begin and wanted in one.name.casefold()]


def _begins(one: Workspace, typed: str) -> bool:
    wanted = typed.casefold()
    return one.name.casefold().startswith(wanted) or one.id.startswith(wanted) or one.path.startswith(typed)


def _reference(one: Workspace, typed: str, names: Mapping[str, int]) -> str:
    wanted = typed.casefold()
    if names[one.name] == 1 and wanted in one.name.casefold():
        return one.name
    return one.id if wanted and one.id.startswith(wanted) else one.path


def _beginning(typed: str, values: Sequence[str]) -> list[str]:
    return [one for one in values if one.casefold().startswith(typed.casefold())]
