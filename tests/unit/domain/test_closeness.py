import math
import struct

from braindex.domain.closeness import distances


def vector(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def test_each_vector_has_its_distance_to_the_question():
    found = dict(distances(vector(1, 0), ["a", "b", "c"], vector(1, 0) + vector(0, 1) + vector(-1, 0)))
    assert found == {"a": 0.0, "b": math.sqrt(2), "c": 2.0}


def test_vectors_of_another_length_give_nothing():
    assert list(distances(vector(1, 0), ["a"], vector(1, 0, 0))) == []
    assert list(distances(vector(1, 0), [], b"")) == []
