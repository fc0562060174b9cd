"""Which of some thousand vectors lie nearest to each other: all pairs, exactly."""

from typing import Final

import numpy as np

_BLOCK: Final = 1024  # rows: of 10,000 vectors, 40 MB of cosines at once


def near_pairs(matrix: bytes | bytearray, count: int, least: float, most: int) -> list[tuple[int, int, float]]:
    """(place, later place, cosine) of the pairs of unit vectors whose cosine is at least `least`: the best `most`,
    best first, ties by place. `matrix` is `count` float32 vectors one after the other.
    """
    if count < 2:
        return []
    values = np.frombuffer(matrix, dtype="<f4").reshape(count, -1)
    found = np.empty(0, dtype=[("cosine", "f8"), ("one", "i8"), ("other", "i8")])
    for start in range(0, count, _BLOCK):
        cosines = values[start : start + _BLOCK] @ values[start:].T
        ones, others = np.nonzero(np.triu(cosines >= least - 1e-6, k=1))
        fresh = np.empty(len(ones), dtype=found.dtype)
        fresh["cosine"] = np.round(np.minimum(cosines[ones, others], 1.0).astype("f8"), 6)
        fresh["one"], fresh["other"] = ones + start, others + start
        everything = np.concatenate([found, fresh])
        found = everything[np.lexsort((everything["other"], everything["one"], -everything["cosine"]))[:most]]
    return [(int(one), int(other), float(cosine)) for cosine, one, other in found]
