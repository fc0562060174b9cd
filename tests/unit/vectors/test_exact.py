from array import array
from pathlib import Path

import numpy as np
import pytest

from braindex.vectors.exact import REDUCED_FROM, Block, Matrix, MatrixCache, blend, nearest_of_blocks


def matrix_of(vectors: dict[int, bytes]) -> Matrix:
    return Matrix.of_vectors(vectors)


@pytest.fixture
def vectors(crowd, pack) -> dict[int, bytes]:
    return {10 + 3 * i: pack(numbers) for i, numbers in enumerate(crowd(200).values())}


def by_hand(vectors: dict[int, bytes], question: bytes) -> list[tuple[int, float]]:
    asked = np.frombuffer(question, "<f4").astype(float)
    found = [
        (row, float(np.linalg.norm(np.frombuffer(one, "<f4").astype(float) - asked))) for row, one in vectors.items()
    ]
    return sorted(found, key=lambda one: (one[1], one[0]))


@pytest.mark.parametrize("limit", [1, 7, 199, 200, 1000])
def test_the_nearest_come_with_their_true_distances(limit, vectors, pack) -> None:
    question = pack([1.0, 2.0] + [0.5] * 14)
    found = matrix_of(vectors).nearest(question, limit)
    expected = by_hand(vectors, question)[:limit]
    assert [row for row, _ in found] == [row for row, _ in expected]
    assert [distance for _, distance in found] == pytest.approx([distance for _, distance in expected], abs=1e-6)


def test_a_vector_is_at_no_distance_from_itself(vectors) -> None:
    row, vector = next(iter(vectors.items()))
    assert matrix_of(vectors).nearest(vector, 1) == [(row, 0.0)]


def test_equal_distances_come_by_row_and_the_cut_keeps_the_first(pack) -> None:
    same = pack([1, 1, 0])
    found = matrix_of(dict.fromkeys((9, 4, 7, 1), same) | {5: pack([0, 0, 1])})
    assert [row for row, _ in found.nearest(pack([1, 0, 0]), 3)] == [1, 4, 7]


@pytest.mark.parametrize("share", [3, 150])
def test_a_search_can_be_restricted_to_some_rows(share, vectors, pack) -> None:
    question = pack([0.1] * 16)
    rows = list(vectors)[:share]
    found = matrix_of(vectors)
    positions = found.positions([*rows, 1, 11, 10**6, rows[0]])
    assert [row for row, _ in found.nearest(question, 2, positions)] == [
        row for row, _ in by_hand({row: vectors[row] for row in rows}, question)[:2]
    ]


def test_rows_that_have_no_vector_have_no_position(vectors) -> None:
    assert list(matrix_of(vectors).positions([1, 11, 10**9])) == []
    assert list(matrix_of(vectors).positions([])) == []


def test_a_block_is_a_view_of_what_the_store_gave(pack) -> None:
    rows, values = array("q", [1, 2]), bytearray(pack([1, 0]) + pack([0, 1]))
    found = Block.of(rows, values)
    assert np.shares_memory(found.values, np.frombuffer(values, dtype=np.uint8))


def in_blocks(vectors: dict[int, bytes], size: int) -> Matrix:
    items = list(vectors.items())
    parts = [dict(items[start : start + size]) for start in range(0, len(items), size)]
    return Matrix(Block.of(array("q", part), b"".join(part.values())) for part in parts)


@pytest.mark.parametrize("size", [1, 7, 199])
def test_how_vectors_are_cut_into_blocks_changes_no_answer(size, vectors, pack) -> None:
    question, whole, blocks = pack([0.3] * 16), matrix_of(vectors), in_blocks(vectors, size)
    assert blocks.nearest(question, 20) == whole.nearest(question, 20)
    among = list(vectors)[20:180:3]
    assert blocks.nearest(question, 9, blocks.positions(among)) == whole.nearest(question, 9, whole.positions(among))
    assert blocks.distances(question, blocks.positions(among)) == whole.distances(question, whole.positions(among))


def test_a_change_copies_only_the_blocks_that_it_touches(vectors) -> None:
    before, rows = in_blocks(vectors, 50), sorted(vectors)
    changed = {rows[60]: vectors[rows[0]]}
    after = before.updated(Matrix.of_vectors(changed), len(rows), lambda: array("q", rows))
    assert after is not None
    shared = [new is old for new, old in zip(after.blocks, before.blocks, strict=True)]
    assert shared == [True, False, True, True]


def test_a_vector_that_comes_late_to_an_old_row_gets_its_place(vectors, pack) -> None:
    rows = sorted(vectors)
    before = in_blocks(vectors, 50)
    late = {rows[49] + 1: pack([1.0] * 16), rows[0] - 1: pack([-1.0] * 16), rows[-1] + 1: pack([2.0, *[0.0] * 15])}
    after = before.updated(Matrix.of_vectors(late), len(rows) + 3, lambda: array("q"))
    assert after is not None
    assert after.rows.tolist() == sorted([*rows, *late])
    for row, vector in late.items():
        assert after.nearest(vector, 1) == [(row, 0.0)]


@pytest.fixture(scope="module")
def many() -> dict[int, bytes]:
    """More vectors than are searched in full, near a space of fewer dimensions, as embeddings are."""
    chance = np.random.default_rng(7)
    numbers = chance.standard_normal((REDUCED_FROM + 500, 40)) @ chance.standard_normal((40, 96))
    numbers += 0.2 * chance.standard_normal(numbers.shape)
    numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
    return {2 * row: one.astype("<f4").tobytes() for row, one in enumerate(numbers, 1)}


def test_many_vectors_are_searched_by_their_principal_components_and_measured_in_full(many) -> None:
    plain, reduced = in_blocks(many, 4096), in_blocks(many, 4096).reduced()
    assert reduced.nbytes > plain.nbytes
    hits = 0
    for row in list(many)[::2000]:
        expected, found = plain.nearest(many[row], 10), reduced.nearest(many[row], 10)
        assert found[0] == (row, 0.0)
        assert set(found) - set(expected) == set() or found[-1][1] >= expected[-1][1]
        hits += len(set(found) & set(expected))
    assert hits >= 0.99 * 10 * len(list(many)[::2000])


def test_few_vectors_and_short_ones_are_searched_in_full(vectors, many) -> None:
    few = matrix_of(vectors)
    assert few.reduced() is few
    short = Matrix.of(array("q", many), b"".join(one[: 4 * 64] for one in many.values()))
    assert short.reduced() is short


def test_a_changed_matrix_is_searched_by_principal_components_as_before(many) -> None:
    before, rows = in_blocks(many, 4096).reduced(), list(many)
    moved = {rows[5]: many[rows[900]], rows[-1] + 1: many[rows[17]]}
    gone = rows[30_000]
    left = sorted({*rows, *moved} - {gone})
    after = before.updated(Matrix.of_vectors(moved), len(left), lambda: array("q", left))
    assert after is not None
    assert [row for row, _ in after.nearest(many[rows[900]], 2)] == [rows[5], rows[900]]
    assert [row for row, _ in after.nearest(many[rows[17]], 2)] == [rows[17], rows[-1] + 1]
    assert gone not in [row for row, _ in after.nearest(many[gone], 5)]


def test_blocks_give_the_answer_of_the_whole(vectors, pack) -> None:
    question = pack([0.3] * 16)
    items = list(vectors.items())
    blocks = (matrix_of(dict(items[start : start + 33])) for start in range(0, 200, 33))
    assert nearest_of_blocks(blocks, question, 20) == matrix_of(vectors).nearest(question, 20)


def test_feedback_moves_the_question_towards_the_vectors_and_keeps_it_a_unit(pack) -> None:
    question, near, far = pack([1, 0, 0]), pack([0, 1, 0]), pack([0, 0, 1])
    mixed = np.frombuffer(blend(question, [(near, 3.0), (far, 4.0)], 0.5), "<f4")
    expected = np.array([1, 0.5 * 3 / 5, 0.5 * 4 / 5])
    assert mixed == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


def test_feedback_of_nothing_is_the_question(pack) -> None:
    question = pack([1, 2, 3])
    assert np.frombuffer(blend(question, [], 0.4), "<f4") == pytest.approx(np.frombuffer(question, "<f4"))


MANY = 10**9


def never(generation: int, matrix: Matrix) -> Matrix | None:
    return None


def test_a_matrix_is_loaded_once_for_a_generation(vectors) -> None:
    cache, loads = MatrixCache(2, MANY), []

    def load() -> Matrix:
        loads.append(1)
        return matrix_of(vectors)

    first = cache.get(Path("a"), 1, load, never)
    assert cache.get(Path("a"), 1, load, never) is first
    assert cache.get(Path("a"), 2, load, never) is not first
    assert len(loads) == 2
    cache.forget(Path("a"))
    cache.get(Path("a"), 2, load, never)
    assert len(loads) == 3


def test_a_matrix_of_an_earlier_generation_is_brought_up_to_date(vectors) -> None:
    cache = MatrixCache(2, MANY)
    first, second = matrix_of(vectors), matrix_of(vectors)
    cache.get(Path("a"), 1, lambda: first, never)
    seen: list[tuple[int, Matrix]] = []

    def update(generation: int, matrix: Matrix) -> Matrix:
        seen.append((generation, matrix))
        return second

    assert cache.get(Path("a"), 5, lambda: first, update) is second
    assert seen == [(1, first)]


@pytest.mark.parametrize(("most", "bytes_kept"), [(2, MANY), (9, 2)])
def test_only_the_workspaces_used_last_are_kept(most: int, bytes_kept: int, vectors) -> None:
    cache, loads = MatrixCache(most, bytes_kept * matrix_of(vectors).nbytes), []

    def load(name: str) -> None:
        def read() -> Matrix:
            loads.append(name)
            return matrix_of(vectors)

        cache.get(Path(name), 1, read, never)

    for name in ("a", "b", "a", "c", "a", "b"):
        load(name)
    assert loads == ["a", "b", "c", "b"]


def test_a_matrix_larger_than_the_bound_is_kept_alone(vectors) -> None:
    cache = MatrixCache(9, 1)
    first = cache.get(Path("a"), 1, lambda: matrix_of(vectors), never)
    assert cache.get(Path("a"), 1, lambda: matrix_of(vectors), never) is first


@pytest.mark.parametrize("gone", [0, 2])
def test_an_updated_matrix_has_new_vectors_for_changed_rows_and_none_for_gone_ones(gone: int, vectors) -> None:
    rows = sorted(vectors)
    changed = {rows[3]: vectors[rows[4]], rows[-1] + 7: vectors[rows[5]]}
    expected = {row: vector for row, vector in {**vectors, **changed}.items() if row not in rows[:gone]}
    made = matrix_of(vectors).updated(Matrix.of_vectors(changed), len(expected), lambda: array("q", sorted(expected)))
    assert made is not None
    assert made.rows.tolist() == sorted(expected)
    assert b"".join(block.values.tobytes() for block in made.blocks) == b"".join(expected[row] for row in made.rows)


def test_a_matrix_that_misses_a_row_is_not_brought_up_to_date(vectors) -> None:
    rows = array("q", [*sorted(vectors)[1:], 10**6])
    assert matrix_of(vectors).updated(Matrix.of_vectors({}), len(rows) + 1, lambda: rows) is None
