"""Whatever the bytes: no exception, spans nested or disjoint, lines inside the file, every entity told apart."""

import random
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braindex.domain.entities import KINDS
from braindex.indexing.extract import ParseTimeout, extract
from braindex.languages import LANGUAGES

SAMPLES = {path.suffix: path.read_bytes() for path in sorted(Path(__file__).parents[2].glob("languages/*/sample.*"))}
SUFFIXES = sorted(suffix for spec in LANGUAGES for suffix in spec.suffixes)
TOKENS = (
    b"\r", b"\n", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"{", b"}", b"(", b")", b"<", b"</", b"/*", b"*/", b"#", b"```",
    b'"""', b"'", b"`${", b"@", b"=>", b"class ", b"def f(", b"\t", b"> ", b"- [ ] ", b"---\n", b"\xf0\x9f\x9a\x80", b"a.()", b"new ", b"import ",
)  # fmt: skip
bounded = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _check(path: str, source: bytes) -> None:
    try:
        extracted = extract(path, source)
    except ParseTimeout:  # a few broken texts of a few bytes send a grammar into endless error recovery
        return
    entities = extracted.entities
    lines = len(source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
    for entity in entities:
        assert entity.kind in KINDS
        assert entity.name
        assert 1 <= entity.line <= entity.end_line <= lines
        assert 0 <= entity.start < entity.end <= len(source)
    assert len({(one.kind, one.qualified_name, one.ordinal) for one in entities}) == len(entities)
    assert [one.start for one in entities] == sorted(one.start for one in entities)
    for references in (extracted.outside, *extracted.references):
        assert all(name and 1 <= line <= lines for _, name, line in references)
    open_ends: list[int] = []
    for entity in entities:
        while open_ends and open_ends[-1] <= entity.start:
            open_ends.pop()
        assert not open_ends or entity.end <= open_ends[-1]
        open_ends.append(entity.end)


@bounded
@given(st.sampled_from(SUFFIXES), st.binary(max_size=400))
def test_any_bytes_are_taken(suffix: str, source: bytes):
    _check("a" + suffix, source)


@bounded
@given(st.sampled_from(SUFFIXES), st.lists(st.sampled_from(TOKENS), max_size=60))
def test_any_run_of_telling_tokens_is_taken(suffix: str, tokens: list[bytes]):
    _check("a" + suffix, b"".join(tokens))


@bounded
@given(st.sampled_from(sorted(SAMPLES)), st.randoms(use_true_random=False))
def test_a_mutilated_sample_is_taken(suffix: str, chance: random.Random):
    data = bytearray(SAMPLES[suffix])
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(data) + 1)
        if chance.random() < 0.5:
            del data[at : at + chance.randint(1, 40)]
        else:
            data[at:at] = chance.choice(TOKENS) * chance.randint(1, 3)
    _check("a" + suffix, bytes(data))


@bounded
@given(st.sampled_from(sorted(SAMPLES)), st.text(max_size=200))
def test_text_and_its_utf8_bytes_give_the_same(suffix: str, text: str):
    source = text.encode("utf-8", "surrogatepass")
    assert extract("a" + suffix, text) == extract("a" + suffix, source)
