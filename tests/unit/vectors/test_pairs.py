import numpy as np
import pytest

from braindex.vectors.pairs import near_pairs


def _unit(count: int, dimension: int = 8):
    values = np.random.default_rng(3).standard_normal((count, dimension)).astype("<f4")
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@pytest.mark.parametrize("count", [0, 1, 2, 50, 2500])
def test_every_pair_above_the_cosine_is_found_and_no_other(count: int) -> None:
    values = _unit(count)
    cosines = values.astype("f8") @ values.astype("f8").T
    expected = {(i, j) for i, j in np.argwhere(np.triu(cosines >= 0.8, k=1)).tolist()}
    found = near_pairs(values.tobytes(), count, 0.8, 10**9)
    assert {(one, other) for one, other, _ in found} == expected
    assert all(cosine == pytest.approx(cosines[one, other], abs=1e-5) for one, other, cosine in found)


def test_the_nearest_pairs_come_first_and_are_what_a_limit_keeps() -> None:
    values = _unit(300)
    everything = near_pairs(values.tobytes(), 300, 0.7, 10**9)
    assert [one[2] for one in everything] == sorted((one[2] for one in everything), reverse=True)
    assert near_pairs(values.tobytes(), 300, 0.7, 5) == everything[:5]


def test_the_same_vector_twice_has_a_cosine_of_one() -> None:
    values = np.repeat(_unit(1, 256), 2, axis=0)
    [(one, other, cosine)] = near_pairs(values.tobytes(), 2, 1.0, 10)
    assert (one, other) == (0, 1)
    assert cosine == pytest.approx(1.0, abs=1e-6)
