import struct
import subprocess
import sys

import numpy as np
import pytest

from braindex.embedding.bundled import BundledEmbedder
from braindex.embedding.plain import PlainEmbedder


@pytest.mark.parametrize("text", ["where is the registry opened?", "getUserById", "x " * 500, "Zeichenkette"])
def test_a_question_has_the_same_vector_without_numpy(text):
    plain, whole = PlainEmbedder().question(text), BundledEmbedder().question(text)
    assert plain is not None
    assert whole is not None
    assert np.allclose(struct.unpack("<256f", plain), np.frombuffer(whole, "<f4"), atol=1e-6)


def test_a_question_without_a_known_word_has_no_vector():
    assert PlainEmbedder().question("…") is None


def test_both_are_one_model():
    assert PlainEmbedder.model == BundledEmbedder.model


def test_numpy_is_not_imported_for_it():
    program = (
        "import sys; from braindex.embedding.plain import PlainEmbedder; PlainEmbedder().question('where is it?'); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
