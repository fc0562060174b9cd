"""Questions that ask for a relation, and what related entities look like."""

from dataclasses import replace

import pytest

from braindex.domain.relations import Link, Related, Relatives, asked_relation, related_lines, relatives_lines


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("who calls parse_date", ("callers", "parse_date")),
        ("What calls the function `parse_date()`?", ("callers", "parse_date")),
        ("where is parse_date used?", ("callers", "parse_date")),
        ("where is Parser.parse called", ("callers", "Parser.parse")),
        ("find all usages of Basket", ("callers", "Basket")),
        ("callers of the method weigh", ("callers", "weigh")),
        ("what does load call", ("calls", "load")),
        ("subclasses of Field", ("derived", "Field")),
        ("which classes extend", None),
        ("what implements the interface Store", ("derived", "Store")),
        ("which class inherits from Base", ("derived", "Base")),
        ("base classes of Van", ("bases", "Van")),
        ("methods of Van", ("members", "Van")),
        ("who imports shop", ("importers", "shop")),
        ("who imports src/my-shop/base.py", ("importers", "src/my-shop/base.py")),
        ("what calls Van#load", ("callers", "Van#load")),
        ("who calls cafe\u0301", ("callers", "caf\u00e9")),
        ("where is parse_date defined", None),
        ("how are callers of an API told about errors", None),
        ("list members of the team page in the footer", None),
        ("who calls " + "x" * 500, None),
    ],
)
def test_a_question_may_ask_for_a_relation_and_a_name(question: str, asked: tuple[str, str] | None):
    assert asked_relation(question) == asked


VAN = Related(
    "id", "Van", "class", "a.py", 3, 9,
    {"bases": (Link("Vehicle"),), "callers": (Link("load", "function", "b.py", 7), Link("drive", "method", "c.py", 2, 4))},
    {"callers": 5},
)  # fmt: skip


def test_related_entities_are_cited_one_a_line_and_said_to_be_by_name():
    assert related_lines(VAN) == [
        "`Van` #a.py:3",
        "derives from, by name:",
        "  `Vehicle` (not in this workspace)",
        "called by, by name:",
        "  `load` #b.py:7",
        "  `drive` #c.py:2 (one of 5 of this name)",
        "  … and 5 more",
    ]
    assert "nothing in this workspace" in related_lines(replace(VAN, links={}, left_out={}))[1]


def test_where_one_relation_was_asked_for_only_that_is_said_to_be_missing():
    bare = replace(VAN, links={}, left_out={}, asked="derived", also=(Link("Van", "class", "b.py", 4),))
    assert related_lines(bare) == [
        "`Van` #a.py:3",
        "`Van` #b.py:4",
        "nothing in this workspace derives from it by name",
    ]


def test_definitions_that_are_not_shown_are_counted_and_one_of_them_is_named():
    bare = replace(VAN, links={}, left_out={})
    assert relatives_lines(Relatives((bare, bare), 2)) == [*related_lines(bare), "", *related_lines(bare)]
    [*_, blank, last] = relatives_lines(Relatives((bare,), 1_002, "app.Van"))
    assert (blank, last) == (
        "",
        "… and 1,001 more definitions of this name; a class or a file before it means fewer: `app.Van`",
    )
    assert relatives_lines(Relatives((bare,), 2))[-1] == "… and 1 more definition of this name"
    told = Relatives((VAN, bare), 3).as_json()
    assert (told["id"], told["definitions"], len(told["more"])) == ("id", 3, 1)


def test_names_of_strangers_cannot_fool_a_terminal():
    evil = Related("id", "a\x1b[2J", "class", "a.py", 1, 1, {"bases": (Link("b\u202e"),)})
    assert not {"\x1b", "\u202e"} & set("".join(related_lines(evil)))
