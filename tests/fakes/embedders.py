"""A choice of embedders that is none."""

from collections.abc import Callable
from dataclasses import dataclass

from braindex.domain.ports import WordModel
from braindex.domain.results import Workspace


@dataclass(frozen=True)
class OneEmbedder:
    """The same model for every workspace, for vectors and for words."""

    local: WordModel

    def of(self, _: Workspace, stopped: Callable[[], bool] = lambda: False) -> WordModel:  # noqa: ARG002 - the port's
        return self.local
