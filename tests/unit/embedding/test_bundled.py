import base64
import json
import struct
from pathlib import Path

import pytest

from braindex.domain.ports import Passage
from braindex.embedding.bundled import BundledEmbedder

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "embedding.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    return BundledEmbedder()


def _floats(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def _passage(body: str, *, path: str = "", name: str = "", signature: str = "", parent: str = "") -> Passage:
    return Passage(path=path, parent=parent, name=name, signature=signature, doc="", body=body)


@pytest.mark.parametrize("golden", GOLDEN["passages"], ids=lambda one: one["name"])
def test_a_passage_has_the_vector_that_the_reference_encoder_gives(
    embedder: BundledEmbedder, golden: dict[str, str]
) -> None:
    path = "/".join(golden["path"].split("/")[-3:])
    [vector] = embedder.passages(
        [_passage(golden["body"], path=path, name=golden["name"], signature=golden["signature"])]
    )
    assert vector is not None
    assert _floats(vector) == pytest.approx(_floats(base64.b64decode(golden["vector"])), abs=1e-5)


@pytest.mark.parametrize("golden", GOLDEN["questions"], ids=lambda one: one["text"][:20])
def test_a_question_has_the_vector_that_the_reference_encoder_gives(
    embedder: BundledEmbedder, golden: dict[str, str]
) -> None:
    vector = embedder.question(golden["text"])
    assert vector is not None
    assert _floats(vector) == pytest.approx(_floats(base64.b64decode(golden["vector"])), abs=1e-5)


def test_a_vector_does_not_depend_on_what_it_is_embedded_with(embedder: BundledEmbedder) -> None:
    one, other = _passage("merge the cookies of a session"), _passage("open a database")
    assert embedder.passages([one, other])[0] == embedder.passages([one])[0]


def test_a_text_without_a_known_token_has_no_vector(embedder: BundledEmbedder) -> None:
    assert embedder.passages([_passage("∀∃ ☃")]) == [None]
    assert embedder.question("☃ !?") is None
    assert embedder.question("") is None


def test_only_the_last_three_parts_of_a_path_count(embedder: BundledEmbedder) -> None:
    deep, short = embedder.passages([_passage("x", path="a/b/c/d/e.py"), _passage("x", path="c/d/e.py")])
    assert deep == short


def test_a_name_that_says_what_was_asked_is_nearer_than_one_that_does_not(embedder: BundledEmbedder) -> None:
    question = embedder.question("merge cookies")
    assert question is not None
    right, wrong, unknown = embedder.name_similarities(
        question, [("merge_cookies", ""), ("open_socket", ""), ("☃", "")]
    )
    assert right > wrong
    assert unknown == 0.0


def test_words_are_compared_with_the_best_word_of_each_text(embedder: BundledEmbedder) -> None:
    same, none = embedder.word_similarities(["cookies", "☃"], ["src/cookies.py", ""])
    assert same[0] == pytest.approx(1.0, abs=1e-5)
    assert same[1] == 0.0
    assert none == [0.0, 0.0]
