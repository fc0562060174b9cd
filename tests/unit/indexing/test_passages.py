from braindex.domain.identity import entity_id
from braindex.indexing.passages import Indexed, index_file, terms_of

SOURCE = b'''"""Cookies of a session."""

import os


class Jar:
    """Holds cookies."""

    size = 3

    def merge(self, other):
        """Merge another jar."""
        return other


run()
stop()
jar = Jar()
'''


def _by_name(units: list[Indexed]) -> dict[str, Indexed]:
    return {one.entity.name: one for one in units}


def test_a_file_has_its_own_entity_its_definitions_and_its_statements() -> None:
    units = index_file("src/jar.py", SOURCE)
    assert [(one.entity.kind, one.entity.name, one.entity.line) for one in units] == [
        ("file", "jar.py", 1),
        ("class", "Jar", 6),
        ("method", "merge", 11),
        ("variable", "jar", 18),
        ("code-block", "run()", 16),
    ]


def test_a_class_is_known_by_what_is_not_its_members() -> None:
    units = _by_name(index_file("src/jar.py", SOURCE))
    assert "Holds cookies" in units["Jar"].passage.body
    assert "return other" not in units["Jar"].passage.body
    assert "return other" in units["merge"].passage.body


def test_a_leading_comment_is_part_of_what_a_function_is_known_by() -> None:
    source = b"/** Charges a card. */\nfunction charge(card) { return gateway(card); }\n"
    passage = _by_name(index_file("pay.js", source))["charge"].passage
    assert passage.body.startswith("Charges a card.")
    assert passage.doc == "Charges a card."


def test_an_entity_that_only_moved_keeps_its_id_and_its_digest() -> None:
    before = _by_name(index_file("src/jar.py", SOURCE))["merge"]
    after = _by_name(index_file("src/jar.py", SOURCE.replace(b"import os\n", b"import os\nimport sys\n\n\n")))["merge"]
    assert after.entity.line == before.entity.line + 3
    assert (after.id, after.digest) == (before.id, before.digest)
    assert before.id == entity_id("src/jar.py", "method", "Jar.merge", 0)


def test_a_changed_body_changes_the_digest_and_not_the_id() -> None:
    before = _by_name(index_file("src/jar.py", SOURCE))["merge"]
    after = _by_name(index_file("src/jar.py", SOURCE.replace(b"return other", b"return self")))["merge"]
    assert after.id == before.id
    assert after.digest != before.digest


def test_ids_are_unique_in_a_file_of_twins() -> None:
    source = b"if x:\n    def f(): pass\nelse:\n    def f(): return 1\n" * 3
    ids = [one.id for one in index_file("a.py", source)]
    assert len(ids) == len(set(ids))


def test_a_text_file_is_one_entity_unless_its_suffix_is_to_be_skipped() -> None:
    [unit] = index_file("notes/list.csv", b"# Prices\na,b\n1,2\n")
    assert (unit.entity.kind, unit.entity.language, unit.entity.end_line) == ("file", "text", 3)
    assert unit.passage.doc == "Prices"
    assert index_file("notes/list.CSV", b"a,b\n", (".csv",)) == []


def test_lines_are_counted_alike_whatever_ends_them() -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        source = end.join([b"import os", b"", b"def f():", b"    pass", b"run()", b"stop()"])
        lines = {one.entity.name: (one.entity.line, one.entity.end_line) for one in index_file("a.py", source)}
        assert (lines["f"], lines["run()"]) == ((3, 4), (5, 6)), end


def test_terms_are_split_by_field() -> None:
    terms = terms_of(_by_name(index_file("src/jar.py", SOURCE))["merge"].passage)
    assert terms.name == "merg"
    assert terms.parent == "jar"
    assert "jar" in terms.path.split()
    assert {"return", "other"} & set(terms.body.split())


def test_functions_inside_each_other_repeat_what_they_enclose_only_so_deep():
    depth = 300
    source = b"".join(b"function f%d(){ /* %s */ " % (n, b"x" * 50) for n in range(depth)) + b"}" * depth
    bodies = {one.entity.name: one.passage.body for one in index_file("a.js", source) if one.entity.kind == "function"}
    assert len(bodies) == depth
    assert "function f1()" in bodies["f0"]
    assert "function f8()" in bodies["f7"]
    assert "function f9()" not in bodies["f8"]
    assert sum(map(len, bodies.values())) < 10 * len(source)


def test_deep_nesting_keeps_ids_apart_and_names_short():
    source = ("function f(){" * 3_000 + "}" * 3_000).encode()
    units = index_file("a.js", source)
    assert len({one.id for one in units}) == len(units) == 3_001
    assert max(len(one.entity.qualified_name) for one in units) < 1_000
    assert [one.id for one in index_file("a.js", source)] == [one.id for one in units]
