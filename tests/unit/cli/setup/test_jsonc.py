"""Edits of JSON with comments: what an edit does not name stays as it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braindex.cli.setup.jsonc import Child, InvalidJson, Node, added, parse, replaced, without


def member(node: Node, key: str) -> Child:
    found = node.member(key)
    assert found is not None
    return found


ENTRY = {"command": "braindex", "args": ["serve"]}

LAYOUTS = [
    '{\n  "a": 1\n}\n',
    '{\n  "a": 1,\n}\n',
    '{\n  "a": 1, // why\n}\n',
    '{\n  "a": 1 // why\n}\n',
    '{\n  "a": 1 /* why */\n  // the end\n}\n',
    '// first\n{\n\t"a": {"b": [1, 2,],},\n\t/* last */\n}',
    '{\r\n    "a": 1\r\n}\r\n',
    '{"a": 1}',
    '{"a":1,}',
    '{\n    "a": "// no comment, \\" }",\n    "b": [\n        {}\n    ]\n}',
    '{ "a": 1,\n  "b": 2 }',
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_member_that_is_added_and_taken_out_leaves_every_byte(text):
    more = added(text, parse(text), ENTRY, "braindex")
    node = parse(more)
    assert node.value == {**parse(text).value, "braindex": ENTRY}
    assert without(more, node, member(node, "braindex")) == text


@pytest.mark.parametrize("text", ["{}", "{\n}", "{ }", "{\n  // nothing yet\n}\n", "{/* a */}", "\t{}\n"])
def test_a_member_is_added_to_an_object_without_any(text):
    more = added(text, parse(text), ENTRY, "braindex")
    node = parse(more)
    assert node.value == {"braindex": ENTRY}
    assert [one for one in ("// nothing yet", "/* a */") if one in text] == [
        one for one in ("// nothing yet", "/* a */") if one in more
    ]
    assert parse(without(more, node, member(node, "braindex"))).value == {}


@pytest.mark.parametrize("text", ["[1]", "[\n  1,\n  2\n]", '[\n\t{\n\t\t"a": 1\n\t},\n]', "[1, /* two */ 2]"])
def test_an_item_that_is_added_and_taken_out_leaves_every_byte(text):
    more = added(text, parse(text), ENTRY)
    node = parse(more)
    assert node.value == [*parse(text).value, ENTRY]
    assert without(more, node, node.children[-1]) == text


def test_a_member_is_laid_out_as_its_neighbours_are():
    assert added('{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n', parse('{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n'), [1], "c") == (
        '{\n\t"a": {\n\t\t"b": 1\n\t},\n\t"c": [\n\t\t1\n\t]\n}\n'
    )
    assert added('{"a": 1}', parse('{"a": 1}'), {"b": 2}, "c") == '{"a": 1, "c": {"b": 2}}'
    assert "\n" not in added('{\r\n  "a": 1\r\n}', parse('{\r\n  "a": 1\r\n}'), ENTRY, "c").replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a":1}', '{"a":1,"c":{"b":[1,2]}}'),
        ('{"a":1, "b":2}', '{"a":1, "b":2, "c":{"b":[1, 2]}}'),
        ('{ "a": 1 }', '{ "a": 1, "c": {"b": [1, 2]} }'),
        ('{"a": 1,"b": 2,}', '{"a": 1,"b": 2,"c": {"b": [1,2]},}'),
    ],
)
def test_a_member_on_one_line_has_the_blanks_that_its_line_has(text, wanted):
    more = added(text, parse(text), {"b": [1, 2]}, "c")
    assert more == wanted
    node = parse(more)
    assert without(more, node, member(node, "c")) == text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a":{},"b":1}', '{"a":{"c":[1,2]},"b":1}'),
        ('{ "a": { } }', '{ "a": {"c": [1, 2]} }'),
        ('{"a": {/* none */}}\n', '{"a": {/* none */"c": [1, 2]}}\n'),
        ('{\n  "a": {}\n}', '{\n  "a": {\n    "c": [\n      1,\n      2\n    ]\n  }\n}'),
    ],
)
def test_an_empty_object_stays_on_the_line_of_a_text_that_is_one(text, wanted):
    assert added(text, member(parse(text), "a").node, [1, 2], "c") == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1, "b": 2}', '{"b": 2}'),
        ('{ "a": 1, "b": 2 }', '{ "b": 2 }'),
        ('{\n  "a": 1,\n  "b": 2\n}', '{\n  "b": 2\n}'),
        ('{"a": 1, /* two */ "b": 2}', '{ /* two */ "b": 2}'),
    ],
)
def test_the_first_member_leaves_its_place_to_the_next(text, wanted):
    node = parse(text)
    assert without(text, node, member(node, "a")) == wanted


@pytest.mark.parametrize("gone", ["a", "b", "c"])
@pytest.mark.parametrize(
    "text", ['{"a": 1, "b": 2, "c": 3}', '{\n  "a": 1, // one\n  "b": 2, // two\n  "c": 3 // three\n}']
)
def test_any_member_can_be_taken_out(text, gone):
    node = parse(text)
    left = parse(without(text, node, member(node, gone))).value
    assert left == {key: value for key, value in node.value.items() if key != gone}


def test_a_value_is_replaced_in_its_place():
    text = '{\n  // kept\n  "a": {\n    "b": 1 // gone\n  }, // kept too\n}'
    more = replaced(text, member(parse(text), "a").node, {"c": 2})
    assert more == '{\n  // kept\n  "a": {\n    "c": 2\n  }, // kept too\n}'


def test_of_several_members_with_one_key_the_last_counts():
    assert member(parse('{"a": 1, "a": 2}'), "a").node.value == 2


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("", 1, 1, "a value"),
        ("{", 1, 2, "more"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "a comma or }"),
        ("{\r\n  a: 1\r\n}", 2, 3, "a text in double quotes"),
        ('{"a" 1}', 1, 6, "a colon"),
        ('{"a": nul}', 1, 7, "a value"),
        ('{"a": 01}', 1, 7, "a value"),
        ("{} {}", 1, 4, "the end of the file"),
        ("{} /* open", 1, 4, "the end of the file"),
        ("<<<<<<< HEAD\n{}", 1, 1, "a value"),
        ("[" * 100_000, 1, 101, "a value"),
    ],
)
def test_what_is_no_json_is_named_by_line_and_column(text, line, column, what):
    with pytest.raises(InvalidJson, match=f"line {line}, column {column} .* {what} was expected"):
        parse(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=4).filter(lambda key: key != "braindex"), _VALUES, min_size=1, max_size=4),
    st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_any_json_is_read_as_python_reads_it_and_comes_back(value, indent):
    text = json.dumps(value, indent=indent)
    assert parse(text).value == value
    more = added(text, parse(text), ENTRY, "braindex")
    assert json.loads(more) == {**value, "braindex": ENTRY}
    node = parse(more)
    assert without(more, node, member(node, "braindex")) == text
