"""Whatever changes, and however git shows it: every line stands at its number on its side, and none is missing."""

import os
import subprocess
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.repository import ENVIRONMENT

from braindex.domain.diffs import FileDiff, parse_diff

LINES = st.sampled_from(
    ["a", "b", "", " ", "-a", "+b", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "\\ No", "c\r", "diff --git a/x b/x", "é"]
)
TEXT = st.tuples(st.lists(LINES, max_size=12), st.booleans())
bounded = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def text_of(given_text: tuple[list[str], bool]) -> str:
    lines, ends = given_text
    return "\n".join(lines) + ("\n" if ends and lines else "")


def lines_of(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def diff(old: str, new: str, context: int) -> tuple[FileDiff, ...]:
    """As git writes it between two files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("x", old), ("y", new)):
            Path(folder, name).write_bytes(text.encode("utf-8"))
        command = [
            "git",
            "diff",
            "--no-index",
            "--no-color",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            f"-U{context}",
            "x",
            "y",
        ]
        done = subprocess.run(command, cwd=folder, env={**os.environ, **ENVIRONMENT}, capture_output=True, check=False)
    return parse_diff(done.stdout.decode("utf-8"))


@bounded
@given(TEXT, TEXT, st.integers(0, 4))
def test_every_line_of_a_diff_stands_at_its_number(old_text, new_text, context):
    old, new = text_of(old_text), text_of(new_text)
    found = diff(old, new, context)
    assert len(found) == (old != new)
    before, after = lines_of(old), lines_of(new)
    for one in found:
        removed: set[int] = set()
        added: set[int] = set()
        for sign, old_line, new_line, text in (entry for hunk in one.hunks for entry in hunk.numbered()):
            if sign != "+":
                assert before[old_line - 1] == text
            if sign != "-":
                assert after[new_line - 1] == text
            removed |= {old_line} if sign == "-" else set()
            added |= {new_line} if sign == "+" else set()
        assert [text for at, text in enumerate(before, 1) if at not in removed] == [
            text for at, text in enumerate(after, 1) if at not in added
        ]
        assert one.counts() == (len(added), len(removed))
        assert all(one.cited(line, line) == (line, line) for line in added)


@bounded
@given(
    st.lists(
        st.sampled_from(
            [
                "diff --git a/x b/x",
                "--- a/x",
                "+++ /dev/null",
                "@@ -1,9 +1 @@",
                "+a",
                "-b",
                " c",
                "rename from x",
                '"',
                "",
                "new file mode 1",
                "index 1..2 3",
                "Binary files x",
            ]
        ),
        max_size=20,
    )
)
def test_whatever_it_reads_it_says_something(lines):
    for one in parse_diff("\n".join(lines)):
        assert one.path
        assert one.counts() >= (0, 0)
        assert all(first <= last for first, last in one.citable)
