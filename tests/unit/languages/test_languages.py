import pytest

from braindex.languages import LANGUAGES, LanguageSpec, language_for
from braindex.languages.css import CSS
from braindex.languages.html import HTML
from braindex.languages.markdown import MARKDOWN
from braindex.languages.python import PYTHON


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.py", "python"),
        ("types/a.PYI", "python"),
        ("a.min.js", "javascript"),
        ("a.d.ts", "typescript"),
        ("a.tsx", "tsx"),
        ("windows\\path\\a.css", "css"),
        ("page.vue", "html"),
        ("README.MD", "markdown"),
    ],
)
def test_the_last_suffix_tells_the_language(path: str, name: str):
    spec = language_for(path)
    assert spec is not None
    assert spec.name == name


@pytest.mark.parametrize("path", ["Makefile", "a.rs", "py", "folder.py/a", "", "a."])
def test_a_path_without_a_known_suffix_has_no_language(path: str):
    assert language_for(path) is None


def test_languages_that_share_a_grammar_differ_in_name():
    assert len({spec.name for spec in LANGUAGES}) == len(LANGUAGES)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ('"plain"', "plain"),
        ("'''  Padded.\n\n        Two.\n          Three.\n    '''", "Padded.\n\nTwo.\n  Three."),
        (r'r"raw \d \n"', r"raw \d \n"),
        (r'"tab\tquote\" slash\\ accent\u00e9 \x41"', 'tab     quote" slash\\ accent\u00e9 A'),
        ('"one" "two"', "onetwo"),
        ('("in "\n "parts")', "in parts"),
        ('"""never closed', "never closed"),
        ('f"computed {x}"', ""),
        ('b"bytes"', ""),
        ('"""windows\r\n    line\r\n    """', "windows\nline"),
        ('"""joined \\\nline"""', "joined line"),
    ],
)
def test_a_docstring_is_read_as_python_reads_it(literal: str, value: str):
    assert PYTHON.clean_doc(literal) == value


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("Plain", "Plain"),
        ("`code` and ``a ` b``", "code and a ` b"),
        ("[link](https://example.org/a_(b) 'title') [ref][1]", "link ref"),
        ("![logo](a.png) [![badge](b.svg)](c)", "logo badge"),
        ("**bold** *it* __bold__ _it_ ~~gone~~", "bold it bold it gone"),
        ("snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"),
        ("`__init__` and `<tag>`", "__init__ and <tag>"),
        ('<a name="x"></a>HTML <b>bold</b>', "HTML bold"),
        ("Mail <me@example.org> at <https://example.org>", "Mail me@example.org at https://example.org"),
        (r"\# not \*marked\*", "# not *marked*"),
        ("Title {#custom-id}", "Title"),
        ("C#", "C#"),
        ("数据 — 🚀", "数据 — 🚀"),
    ],
)
def test_a_markdown_name_is_what_a_reader_sees(written: str, seen: str):
    assert MARKDOWN.clean_name(written) == seen


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("<h1>A <b>bold</b>\n  title</h1>", "A bold title"),
        ("&lt;now&gt; &amp; later&nbsp;", "<now> & later"),
        ("<title><!-- no --></title>", ""),
        ("<h1 class=a", ""),
    ],
)
def test_an_html_name_is_what_a_reader_sees(written: str, seen: str):
    assert HTML.clean_name(written) == seen


MARKS = ("`", "*", "_a", "[", "](", "<a ", "<!--", '"', '" ', "\\", "/*", "\n", "@a", "<textarea")


@pytest.mark.parametrize("spec", LANGUAGES, ids=lambda spec: spec.name)
@pytest.mark.parametrize("mark", MARKS)
def test_text_of_one_repeated_mark_is_cleaned_to_an_end(spec: LanguageSpec, mark: str):
    """A pattern that backtracks would run for minutes here."""
    assert len(spec.clean_name(mark * 1000)) <= 2 * len(mark) * 1000
    assert len(spec.clean_doc(mark * 50_000)) <= 8 * len(mark) * 50_000
    assert len(spec.prepare(mark.encode() * 50_000)) == len(mark) * 50_000


def test_what_stands_in_a_text_area_is_no_element():
    data = b"<textarea id=a>\n<p></textarea><TEXTAREA><b></TextArea><textarea><i>"
    assert HTML.prepare(data) == b"<textarea id=a>\n   </textarea><TEXTAREA>   </TextArea><textarea><i>"


def test_css_is_parsed_without_what_its_grammar_stumbles_over():
    assert CSS.prepare("a{content:'/*é*/'}".encode()) == b"a{content:'xxxx*/'}"
    assert CSS.prepare(b"@plugin 'x';\n@import 'y';\n") == b"             \n@import 'y';\n".replace(
        b" " * 13, b" " * 12
    )
    assert CSS.prepare(b"a{content:'@x;'} /* '/* */") == b"a{content:'@x;'} /* '/* */"


def test_a_selector_is_named_as_written_without_comments():
    assert CSS.clean_name(".a /* b */ ,\n  .c>d") == ".a, .c>d"
