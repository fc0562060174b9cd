import pytest

from braindex.domain.lines import split_lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\nb\n", ["a", "b"]),
        ("a\r\nb\rc\n", ["a", "b", "c"]),
        ("a\n\n", ["a", ""]),
        ("a\x0cb\u2028c", ["a\x0cb\u2028c"]),
    ],
)
def test_lines_end_as_editors_end_them(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines
