"""A real Chroma server for the tests of a module, and one in front of it that fails as it is told."""

from collections.abc import Iterator

import pytest
from tests.fakes.chroma import Passing, RealChroma


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealChroma]:
    with RealChroma(tmp_path_factory.mktemp("chroma")) as running:
        yield running


@pytest.fixture
def between(real: RealChroma) -> Iterator[Passing]:
    with Passing(real) as stand_in:
        yield stand_in
