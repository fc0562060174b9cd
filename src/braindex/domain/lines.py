"""Lines as editors count them."""


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends, which are LF, CR LF or a lone CR, as parsers and editors count them.

    Not `str.splitlines`, which also ends lines at form feeds and Unicode separators. A final line end opens no line.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines
