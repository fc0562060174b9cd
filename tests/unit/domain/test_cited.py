import pytest

from braindex.domain.cited import check_citations
from braindex.domain.results import Source


def source(path: str, line: int, end_line: int, name: str = "thing", distance: float | None = 0.5) -> Source:
    return Source("id", name, "function", "python", path, line, end_line, "def thing()", "", "", distance, 1.0)


SOURCES = [
    source("src/cart.py", 10, 20, "add"),
    source("src/cart.py", 1, 40, "Cart", 0.7),
    source("docs/Ativação b.md", 3, 3, "Ativação", None),
    source("app/(shop)/[id].tsx", 5, 9, "Page"),
]


@pytest.mark.parametrize(
    "text",
    [
        "`add` #src/cart.py:10 (0.50) puts it in.",
        "It is `add` #src/cart.py:10.",
        "The lines #src/cart.py:12-15 do it (see `Cart` #src/cart.py:1-40).",
        "As `Ativação` #docs/Ativação b.md:3 says.",
        "`Page` #app/(shop)/[id].tsx:5 renders it.",
        "At 10:30 the server `localhost:8080` and http://example.com:8080/x answer `lines[self.start:10]` with a:3.",
        "No citation at all, `a` and (b).",
    ],
)
def test_a_true_citation_and_what_is_none_stay_as_they_are(text):
    checked = check_citations(text, SOURCES)
    assert (checked.text, checked.removed) == (text, 0)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("`gone` #src/gone.py:3 (0.31) does it.", "`gone` does it."),
        ("The lines #src/cart.py:41 do it.", "The lines do it."),
        ("It does (#src/cart.py:35-50).", "It does."),
        ("See src/other.py:7 and #lib/x:9.", "See and."),
        ("[`gone`](src/gone.py#L3-L9) does it", "`gone` does it"),
        ("First:\n- #src/gone.py:3\n- `add` #src/cart.py:10", "First:\n- `add` #src/cart.py:10"),
        ("`#src/gone.py:3` it is", "it is"),
        ("It is (see #src/gone.py:3, and #src/lost.py:4 ).", "It is."),
        ("It is here  \t #src/gone.py:3 .", "It is here."),
    ],
)
def test_a_false_citation_is_taken_out_without_a_trace(text, left):
    checked = check_citations(text, SOURCES)
    assert checked.text == left
    assert checked.removed >= 1


def test_each_false_citation_is_counted():
    text = "`add` #src/cart.py:10 (0.50), #a.py:1, #b.py:2 and #c.py:3."
    assert check_citations(text, SOURCES).removed == 3


@pytest.mark.parametrize("text", ["src/cart.py:10", "./src/cart.py:10", "src/cart.py#L10", "#./src/cart.py:10"])
def test_a_true_citation_in_another_form_becomes_the_clickable_one(text):
    assert check_citations(f"`add` {text}", SOURCES).text == "`add` #src/cart.py:10"


def test_an_invented_distance_is_set_right():
    assert check_citations("`add` #src/cart.py:10 (0.01)", SOURCES).text == "`add` #src/cart.py:10 (0.50)"


@pytest.mark.parametrize("text", ["#" * 100_000, "a/" * 50_000, "#a:" * 50_000, "(" * 100_000, " " * 100_000 + "x"])
def test_any_text_is_read_in_linear_time(text):
    assert check_citations(text, SOURCES).removed == 0


def test_a_citation_directly_after_another_is_one_of_its_own():
    checked = check_citations("#src/cart.py:10、src/cart.py:12—#src/gone.py:3", SOURCES)
    assert checked.text == "#src/cart.py:10、#src/cart.py:12—"
    assert checked.removed == 1


@pytest.mark.parametrize("link", ["file:///etc/passwd#L1", "vscode://file/etc/passwd:1", "command:workbench.reload"])
def test_a_link_that_leaves_the_workspace_is_taken_out(link):
    checked = check_citations(f"`add` #src/cart.py:10, see [this]({link}).", SOURCES)
    assert (checked.text, checked.removed) == ("`add` #src/cart.py:10, see this.", 1)


def test_a_block_of_sources_is_braindexs_alone_to_write():
    assert (
        check_citations("Sources:\n`add` #src/cart.py:10\nIt adds.", SOURCES).text == "`add` #src/cart.py:10\nIt adds."
    )
