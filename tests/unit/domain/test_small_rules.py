import pytest

from braindex.domain.citations import citation
from braindex.domain.display import safe, safe_line, safe_path
from braindex.domain.identity import entity_id, short_id, workspace_id
from braindex.domain.rerank import keyword_hits, lexical_rerank, rerank_score
from braindex.domain.results import Source
from braindex.domain.tokens import count_tokens


def test_a_citation_has_the_form_that_editors_make_clickable() -> None:
    assert (
        citation("extract_entities", "code_indexer.py", 184, 0.352) == "`extract_entities` #code_indexer.py:184 (0.35)"
    )


def test_a_citation_without_a_distance_has_no_brackets() -> None:
    assert citation("f", "a b/ç.py", 1, None) == "`f` #a b/ç.py:1"


def test_hidden_characters_are_shown_escaped() -> None:
    assert safe("a\u202eb\x1b[31m\u200b\ttab\n") == "a\\u202eb\\x1b[31m\\u200b\ttab\n"
    assert safe_line("two\n lines\r") == "two lines"
    assert safe_path("a  b\n.py") == "a  b\\n.py"
    assert safe("\ud800\U000e0041") == "\\ud800\\U000e0041"


def test_text_of_any_script_is_shown_as_it_is() -> None:
    assert safe("Ativação 数据 Слияние 🎉") == "Ativação 数据 Слияние 🎉"


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("数据", 2)])
def test_tokens_are_utf8_bytes_by_four_rounded_up(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_ids_are_the_same_on_every_machine() -> None:
    assert workspace_id("/srv/project") == "a3abee87-ca0d-52ed-89f4-4623f454a724"
    assert workspace_id("/srv/项目一") != workspace_id("/srv/项目二")
    assert short_id("0123456789abcdef") == "01234567"
    assert entity_id("a.py", "function", "f", 0) == "2b4541753587f77f4d3db219"
    assert entity_id("a.py", "function", "f", 0) != entity_id("a.py", "function", "f", 1)
    assert len(entity_id("a.py", "function", "\ud800", 0)) == 24


def _source(name: str, distance: float | None, doc: str = "") -> Source:
    return Source(name, name, "function", "python", "a.py", 1, 2, name, doc, "", distance, 0.0)


def test_keyword_hits_count_words_of_the_question_in_name_and_docstring() -> None:
    assert keyword_hits("extract function for parsing entities", "extract_entities", "Parses a file.") == 3


@pytest.mark.parametrize(("distance", "hits", "score"), [(0.5, 2, 2.1), (0.0, 0, 1000.0), (2.0, 4, 0.7)])
def test_the_rerank_score_is_one_over_distance_plus_weighted_hits(distance: float, hits: int, score: float) -> None:
    assert rerank_score(distance, hits, 0.05) == pytest.approx(score)


def test_the_rerank_moves_a_named_function_above_a_vague_summary_and_drops_nothing() -> None:
    vague, exact = _source("summary", 0.80), _source("parse_entities", 0.82)
    found = lexical_rerank("parse entities", [vague, exact, _source("far", None)], 0.05)
    assert [one.name for one in found] == ["parse_entities", "summary", "far"]


def test_a_rerank_of_weight_zero_orders_by_distance_alone() -> None:
    near, named = _source("near", 0.4), _source("parse_entities", 0.5)
    assert [one.name for one in lexical_rerank("parse entities", [named, near], 0.0)] == ["near", "parse_entities"]
