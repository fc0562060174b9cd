"""Text made to be slow, as a stranger's repository or an engine may hold it.

`re` holds the interpreter's lock, so one slow expression stops every thread and every signal. Each test runs in a child
process that is killed after a minute or two: what grows with the square of a text's length would take far longer.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "src"
EVERY_PATTERN = Path(__file__).with_name("every_pattern.py")


def run(*arguments: str, seconds: int = 60) -> str:
    env = {"PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], env=env, capture_output=True, text=True, check=False, timeout=seconds
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("rooms", "least"),
    [
        (["services"], 100),
        (["domain"], 40),
        (["registry", "server", "transport", "config", "cli", "llm", "embedding", "vectors"], 10),
    ],
)
def test_no_expression_gives_back_what_it_took_again_and_again(rooms: list[str], least: int) -> None:
    packages = [f"braindex.{room}" for room in rooms]
    assert int(run(str(EVERY_PATTERN), *packages, seconds=120)) >= least


WORDS = "from braindex.services.briefing.quoting import plain, quote, redacted\n"
PROSE = "from braindex.services.briefing.prose import read_document, todos\n"
CITED = "from braindex.domain.cited import check_citations, keep_citations\n"
NAMES = "from braindex.services.briefing.conventions import style_of\n"
IMPORTS = "from braindex.services.briefing.imports import _javascript_imports, _python_imports\n"
MANIFESTS = (
    "from braindex.services.briefing.manifest_node import package_json\n"
    "from braindex.services.briefing.manifest_others import gemfile, go_mod, pom\n"
)


@pytest.mark.parametrize(
    "code",
    [
        NAMES + "style_of('aA' * 100_000 + '!')",
        NAMES + "style_of('A' + 'a' * 500_000 + '!')",
        IMPORTS + "list(_python_imports('from a import (\\n' * 12_000))",
        IMPORTS + "list(_python_imports('from ' + '.' * 200_000))",
        IMPORTS + "list(_javascript_imports('import\\n' * 30_000))",
        IMPORTS + "list(_javascript_imports('import {a' + ' ' * 200_000 + 'b} from \"./x\"'))",
        IMPORTS + "list(_javascript_imports('export {' + ' ' * 200_000))",
        MANIFESTS + "package_json('package.json', '{' + '\\n' * 200_000 + '}')",
        MANIFESTS + "go_mod('go.mod', 'module a\\n\\t' + 'a.' * 100_000 + '!')",
        MANIFESTS + "gemfile('Gemfile', '\\n' * 200_000)",
        MANIFESTS + "pom('pom.xml', '<parent>' * 25_000 + '<dependencies>' * 14_000)",
        PROSE + "read_document('README.md', ('# ' + ' ' * 490 + 'x\\n') * 120)",
        PROSE + "read_document('README.md', '![' * 30_000)",
        PROSE + "read_document('README.md', 'words ![](' * 6_000)",
        PROSE + "read_document('README.md', '<table>' * 8_000 + '<svg>' * 12_000)",
        PROSE + "read_document('README.md', '*a _b **c ' * 6_000)",
        PROSE + "read_document('README.md', ('words' + ' ' * 3_900 + 'x\\n') * 15)",
        PROSE + "list(todos([('a.py', ('TODO' + '#' * 390 + '\\n') * 500)]))",
        WORDS + "plain(':a' * 200_000)",
        WORDS + "plain('`' + ' ' * 500_000)",
        WORDS + "plain('[a](' + 'a' * 400_000)",
        WORDS + "redacted('a-' * 200_000)",
        WORDS + "redacted('a.' * 200_000)",
        WORDS + "quote('token' + ' ' * 500_000)",
        CITED + "check_citations('#a.py:1 ' + '(' + ' ' * 4_000_000, ())",
        CITED + "check_citations('#a.py:1 ' + '[' * 4_000_000, ())",
        CITED + "check_citations('#a.py:1 ' + '。' * 4_000_000, ())",
        CITED + "check_citations('#a.py:1 x' + ' ' * 4_000_000 + 'x', ())",
        CITED + "keep_citations('+a' * 2_000_000, bool)",
        CITED + "keep_citations('a:1' * 100_000, bool)",
    ],
)
def test_a_hostile_line_or_file_is_read_in_time_that_grows_with_its_length(code: str) -> None:
    run("-c", code)
