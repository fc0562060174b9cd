"""One harness for every language: a sample of what it writes, and exactly what is found in it.

`expected.json` holds the rows that `braindex entities` prints for the sample.
"""

import json
from pathlib import Path

import pytest

from braindex.domain.entities import KINDS
from braindex.indexing.extract import extract_entities, language_of
from braindex.languages import LANGUAGE_NAMES, LANGUAGES, LanguageSpec

HERE = Path(__file__).parent
QUERIES = Path(__file__).resolve().parents[2] / "src" / "braindex" / "languages" / "queries"

every_language = pytest.mark.parametrize("spec", LANGUAGES, ids=lambda spec: spec.name)


def _sample(spec: LanguageSpec) -> Path:
    found = list((HERE / spec.name).glob("sample.*"))
    assert len(found) == 1, f"tests/languages/{spec.name} must hold one sample"
    return found[0]


@every_language
def test_a_language_has_a_sample_in_its_own_suffix(spec: LanguageSpec):
    assert _sample(spec).suffix in spec.suffixes
    assert language_of(_sample(spec).name) == spec.name


@every_language
def test_the_entities_of_a_sample_are_exactly_the_expected_ones(spec: LanguageSpec):
    sample = _sample(spec)
    expected = json.loads((HERE / spec.name / "expected.json").read_text(encoding="utf-8"))
    found = [entity.as_json() for entity in extract_entities(sample.name, sample.read_bytes())]
    assert [row["qualified_name"] for row in found] == [row["qualified_name"] for row in expected]
    for row, wanted in zip(found, expected, strict=True):
        assert row == wanted


@every_language
def test_the_entities_of_a_sample_tell_themselves_apart(spec: LanguageSpec):
    sample = _sample(spec)
    entities = extract_entities(sample.name, sample.read_bytes())
    keys = {(entity.kind, entity.qualified_name, entity.ordinal) for entity in entities}
    assert len(keys) == len(entities)
    assert {entity.kind for entity in entities} <= KINDS
    assert {entity.language for entity in entities} <= LANGUAGE_NAMES


@every_language
def test_windows_line_ends_change_nothing_but_the_offsets(spec: LanguageSpec):
    sample = _sample(spec)
    text = sample.read_bytes().replace(b"\r\n", b"\n")
    unix = [entity.as_json() for entity in extract_entities(sample.name, text)]
    windows = [entity.as_json() for entity in extract_entities(sample.name, text.replace(b"\n", b"\r\n"))]
    assert windows == unix


@every_language
def test_a_byte_order_mark_changes_nothing_but_the_offsets(spec: LanguageSpec):
    sample = _sample(spec)
    plain = extract_entities(sample.name, sample.read_bytes())
    marked = extract_entities(sample.name, b"\xef\xbb\xbf" + sample.read_bytes())
    assert [entity.as_json() for entity in marked] == [entity.as_json() for entity in plain]
    assert [(entity.start - 3, entity.end - 3) for entity in marked] == [(one.start, one.end) for one in plain]


@every_language
def test_what_is_parsed_has_the_length_and_the_lines_of_the_source(spec: LanguageSpec):
    data = _sample(spec).read_bytes()
    prepared = spec.prepare(data)
    assert len(prepared) == len(data)
    assert [at for at, byte in enumerate(prepared) if byte == 10] == [at for at, byte in enumerate(data) if byte == 10]


def test_every_sample_belongs_to_a_language():
    assert {path.name for path in HERE.iterdir() if (path / "expected.json").exists()} == {
        spec.name for spec in LANGUAGES
    }


def test_every_query_file_belongs_to_a_language():
    assert {path.stem for path in QUERIES.glob("*.scm")} == {stem for spec in LANGUAGES for stem in spec.queries}


def test_a_suffix_means_one_language():
    suffixes = [suffix for spec in LANGUAGES for suffix in spec.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in suffixes)
