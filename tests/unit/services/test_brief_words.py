from braindex.services.briefing.conventions import style_of
from braindex.services.briefing.prose import deprecations, read_document, todos, topics
from braindex.services.briefing.quoting import code, listed, place, plain, quote, redacted
from braindex.services.briefing.roles import role_of

README = """<h1 align="center">
  <img
    src="logo.svg">
</h1>

[![build](https://x/y.svg)](https://x) [![npm][npm-image]][npm-url]

# Shop

> [!NOTE]
> Moved.

**Shop** is a [web shop](https://example.org) for
small towns, with <b>carts</b> &amp; bills.

| a | b |
| - | - |

```sh
pip install shop
```

Roadmap
-------

- [x] carts
- [ ] bills that
  span pages

[npm-image]: https://z
"""


def test_the_first_paragraph_of_a_readme_is_prose_without_badges_or_markup() -> None:
    document = read_document("README.md", README)
    assert [(one.text, one.line) for one in document.paragraphs] == [
        ("Shop is a web shop for small towns, with carts & bills.", 13)
    ]


def test_headings_and_open_items_are_read_with_their_lines() -> None:
    document = read_document("README.md", README)
    assert document.headings == ((1, "Shop", 8), (2, "Roadmap", 23))
    assert [(under, one.text, one.line, done) for under, one, done in document.items] == [
        ("Roadmap", "carts", 26, True), ("Roadmap", "bills that span pages", 27, False),
    ]  # fmt: skip
    assert topics(document) == [("Roadmap", 23)]


def test_a_chinese_paragraph_is_prose() -> None:
    document = read_document("README.md", "# 天气\n\n天气小站是一个查询天气的网页服务。\n")
    assert [one.text for one in document.paragraphs] == ["天气小站是一个查询天气的网页服务。"]


def test_one_endless_line_is_no_trouble() -> None:
    for text in ("x" * 1_000_000, "[" * 1_000_000, "<a " * 300_000, "*" * 1_000_000, "# " + "`" * 1_000_000):
        assert all(len(one.text) <= 60_000 for one in read_document("README.md", text).paragraphs)


def test_todo_comments_are_found_with_their_lines_and_names_of_things_are_not() -> None:
    text = "x = 1  # TODO(anna): sort\nTODO_LIST = []\n# FIXME broken\nprint('TODO')\n// XXX: later\n"
    found = [(one.tag, one.text, one.line) for one in todos([("a.py", text)])]
    assert found == [("TODO", "sort", 1), ("FIXME", "broken", 3), ("XXX", "later", 5)]


def test_lines_that_deprecate_are_counted() -> None:
    text = "warnings.warn('x', DeprecationWarning)\n# deprecated, they say\n/** @deprecated */\n"
    assert list(deprecations([("a.py", text), ("b.py", "")])) == [("a.py", 2)]


def test_a_quotation_is_one_line_that_cannot_end_itself() -> None:
    text = quote('He said "stop".\n## Heading\n```\n<script> ![x](http://y) \u202e', 200)
    assert text == "\"He said 'stop'. ## Heading ' &lt;script> ![x] (http://y) \\u202e\""


def test_a_quotation_is_cut_at_a_sentence_or_a_word() -> None:
    assert quote("One sentence here. Another one that is longer.", 30) == '"One sentence here."'
    assert quote("one long clause without any end at all", 20) == '"one long clause…"'


def test_code_spans_hold_no_backtick_and_no_line_end() -> None:
    assert code("a`b``c\nd") == "`a'b'c d`"
    assert place("we`ird\n/ü.py", 3) == "`we'ird\\n/ü.py:3`"


def test_what_may_be_a_secret_is_left_out() -> None:
    assert (
        redacted("deploy --token=abc123 && curl https://u:pw@example.org")
        == "deploy --token=… && curl https://…@example.org"
    )
    assert redacted("API_KEY: 'sk_1'") == "API_KEY: '…'"
    assert redacted("x ghp_0123456789abcdefghijklmnopqrstuvwxyz") == "x …"
    assert redacted("Authorization: Bearer abc.def") == "Authorization: …"


def test_markup_is_shown_as_a_reader_sees_it() -> None:
    assert plain("[![i](a)](b) **bold** _it_ [link](c) <br> :ref:`name <t>` List<int> [short] snake_case_name") == (
        "i bold it link name List<int> short snake_case_name"
    )


def test_marks_that_set_nothing_off_stay() -> None:
    for text in ("2 * 3 ** 4", "snake_case_name_", "*a", "**/x", "_a_b", "* a*", "**f*g"):
        assert plain(text) == text
    assert plain("*a\nb*") == "*a b*"
    assert plain("*a b* __c_d__ ***all*** **f*g") == "a b c_d all **f*g"


def test_roles_and_links_of_a_document_are_shown_by_their_words() -> None:
    assert plain("py:class:`Cart <shop.Cart>` :c:d:`x` `the site <https://a>`__ :a `b` ::`c`") == (
        "pyCart x the site :a `b` ::`c`"
    )


def test_text_between_two_kinds_of_badges_stays() -> None:
    text = "[![npm][i]][n] A web shop for towns that are small [![build](u)](v)"
    assert [one.text for one in read_document("README.md", text).paragraphs] == ["A web shop for towns that are small"]


def test_an_element_that_is_never_closed_takes_nothing_with_it() -> None:
    text = "<table>\nA web shop for towns that are small.\n\n<svg>\n<b>x</b></svg>\nIt sells what people need there, daily.\n"
    found = [(one.text, one.line) for one in read_document("README.md", text).paragraphs]
    assert found[-1] == ("It sells what people need there, daily.", 6)


def test_lists_tell_what_they_leave_out() -> None:
    assert listed("abcd", 2) == "a, b and 2 more"
    assert listed("ab", 2) == "a, b"
    assert listed("ab", 2, total=30) == "a, b and 28 more"


def test_files_are_told_apart_by_what_they_are_for() -> None:
    assert {path: role_of(path) for path in ("src/a.py", "src/docs/a.py", "lib/tools/x.js", "packages/zod/src/a.ts")} == {
        "src/a.py": "source", "src/docs/a.py": "source", "lib/tools/x.js": "source", "packages/zod/src/a.ts": "source",
    }  # fmt: skip
    assert [role_of(path) for path in ("tests/x.py", "src/a/test_b.py", "src/a.test.ts", "src/__tests__/a.js")] == [
        "test"
    ] * 4
    assert [role_of(path) for path in ("docs/conf.py", "README.md", "packages/docs/a.ts")] == ["docs"] * 3
    assert [role_of(path) for path in ("examples/a.py", "scripts/x.py", ".github/x.yml", "vite.config.ts")] == [
        "example", "tooling", "tooling", "tooling",
    ]  # fmt: skip


def test_names_have_styles() -> None:
    names = ("get_user", "getUser", "GetUser", "GET_USER", "get-user", "get", "_private_one", "URL")
    assert [style_of(one) for one in names] == [
        "snake_case", "camelCase", "PascalCase", "UPPER_CASE", "kebab-case", "", "snake_case", "UPPER_CASE",
    ]  # fmt: skip
