"""The command line as scripts and people use it: real processes over a real project."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
HUNG = 120  # seconds after which a child counts as hung; nothing is expected to come near it

SCAN_KEYS = {"workspace_id", "files", "entities", "added", "changed", "removed", "skipped", "seconds"}
ASK_KEYS = {"workspace_id", "query", "engine", "reason", "answer", "sources"}
SOURCE_KEYS = {
    "name", "kind", "language", "path", "line", "end_line", "signature", "excerpt", "distance", "score", "stale", "id"
}  # fmt: skip
ENTITY_KEYS = {
    "path", "kind", "name", "qualified_name", "parent", "language", "line", "end_line", "signature", "return_type",
    "param_count", "decorators", "has_docstring", "docstring",
}  # fmt: skip


class Box:
    """A home directory, a data folder and a project of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.brain = folder / "brain"
        self.project = self.home / "shop"
        self.project.mkdir(parents=True)
        (self.project / "pyproject.toml").write_text("[project]\nname = 'shop'\n")
        self.write(
            "cart.py",
            '"""The shopping cart."""\n\n\nclass Cart:\n    """Holds what a customer wants to buy."""\n\n'
            "    def add_item(self, name: str, price: float) -> None:\n"
            '        """Puts one item into the cart."""\n        self.items.append((name, price))\n\n\n'
            "def total_price(cart: Cart) -> float:\n"
            '    """Adds up the prices of all items."""\n    return sum(price for _, price in cart.items)\n',
        )

    def write(self, path: str, text: str) -> None:
        (self.project / path).parent.mkdir(parents=True, exist_ok=True)
        (self.project / path).write_text(text, encoding="utf-8")

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP") if name in os.environ}
        home = str(self.home)
        return {
            **kept,
            "HOME": home,
            "USERPROFILE": home,
            "BRAIN_DIR": str(self.brain),
            "PYTHONPATH": str(SOURCE),
            **more,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "braindex", *arguments]

    def run(
        self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(*arguments),
            cwd=cwd or self.project,
            env=self.environment(**environment),
            input=stdin,
            capture_output=True,
            timeout=HUNG,
            check=False,
        )
        out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def json(self, *arguments: str, **more: Any) -> Any:
        done = self.run(*arguments, **more)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_a_scan_prints_the_shape_that_scripts_rely_on_and_a_second_one_has_nothing_to_do(box):
    first = box.json("scan", str(box.project), "--json", cwd=box.home)
    assert first.keys() >= SCAN_KEYS
    assert (first["files"], first["added"], first["changed"], first["removed"]) == (2, 2, 0, 0)
    assert first["entities"] >= 4
    second = box.json("scan", "--json")
    assert second["workspace_id"] == first["workspace_id"]
    assert (second["added"], second["changed"], second["removed"]) == (0, 0, 0)


def test_a_scan_says_in_words_what_it_did(box):
    done = box.run("scan")
    assert done.returncode == 0
    assert done.stdout.startswith("shop: 2 files, ")
    assert done.stderr == ""


def test_a_question_scans_first_and_its_json_has_the_promised_shape(box):
    answer = box.json("ask", "how is the total price of all items added up?", "--json")
    assert answer.keys() >= ASK_KEYS
    assert answer["engine"] == "none"
    assert answer["reason"]
    assert answer["answer"] is None
    first = answer["sources"][0]
    assert first.keys() >= SOURCE_KEYS
    assert (first["name"], first["path"], first["line"]) == ("total_price", "cart.py", 12)


def test_a_question_prints_ranked_citations_with_signature_description_and_excerpt(box):
    done = box.run("ask", "how is the total price of all items added up?", "--no-answer")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(" 1  `total_price` #cart.py:12 (")
    assert lines[1] == "    def total_price(cart: Cart) -> float"
    assert "Adds up the prices of all items." in lines[2]
    assert any(line.startswith("    │ ") for line in lines)
    assert lines[-1].startswith(f"shop ({box.project})")
    assert "\x1b" not in done.stdout


def test_a_question_takes_in_what_changed_since_the_last_scan(box):
    box.json("scan", "--json")
    box.write("refund.py", 'def refund_customer(order: str) -> None:\n    """Pays money back."""\n')
    answer = box.json("ask", "refund_customer", "--json", "--limit", "1")
    assert [one["path"] for one in answer["sources"]] == ["refund.py"]


def test_filters_narrow_a_question(box):
    box.write("docs/cart.md", "# The cart\n\nHow the cart adds up prices.\n")
    found = box.json("ask", "cart prices", "--json", "--path", "docs")
    assert {one["path"] for one in found["sources"]} == {"docs/cart.md"}
    found = box.json("ask", "cart", "--json", "--kind", "class", "--language", "python")
    assert {one["kind"] for one in found["sources"]} == {"class"}


def test_questions_on_standard_input_get_one_line_each_in_their_order(box):
    box.write("приветствие.py", 'def greet() -> str:\n    """Здоровается: 你好 🌍."""\n    return "привет"\n')
    asked = ["total_price", "", "где здоровается 你好 🌍", "x" * 100_000, "a\rb\x00c\u2028d", '(" OR NEAR(*', "\ufeff"]
    stdin = b"\xef\xbb\xbf" + "\r\n".join(asked).encode() + b"\r\n\xff\xfe?"
    done = box.run("ask", "--stdin", "--json", stdin=stdin)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["query"] for one in answers] == [*asked, "\ufffd\ufffd?"]
    assert "empty" in answers[1]["error"]
    assert answers[0]["sources"][0]["name"] == "total_price"
    assert answers[2]["sources"][0]["path"] == "приветствие.py"
    assert "你好 🌍" in done.stdout


def test_a_dialogue_on_standard_input_gets_each_answer_before_the_next_question(box):
    child = subprocess.Popen(
        box.command("ask", "--stdin", "--json"),
        cwd=box.project,
        env=box.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for name in ("total_price", "add_item"):
        child.stdin.write(name.encode() + b"\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["sources"][0]["name"] == name
    child.stdin.close()
    assert child.wait(HUNG) == 0
    child.stdout.close()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_ends_with_130_and_loses_nothing(box):
    child = subprocess.Popen(
        box.command("ask", "--stdin", "--json"),
        cwd=box.project,
        env=box.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"total_price\n")
    child.stdin.flush()
    assert child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=HUNG)
    assert child.returncode == 130
    assert err.decode() == "braindex: interrupted\n"
    assert box.json("status", "--json")["complete"] is True


def test_output_is_utf_8_under_an_ascii_locale(box):
    box.write("greet.py", 'def greet() -> str:\n    """Здоровается 🌍."""\n')
    done = box.run("ask", "greet", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    assert "`greet` #greet.py:1" in done.stdout
    assert "Здоровается 🌍." in done.stdout


def test_status_has_the_promised_shape_before_and_after_a_scan(box):
    before = box.json("status", str(box.project), "--json")
    assert (before["state"], before["files"], before["complete"]) == ("never", 0, False)
    box.json("scan", "--json")
    after = box.json("status", "--json")
    assert after.keys() >= {
        "workspace_id",
        "path",
        "state",
        "files",
        "entities",
        "complete",
        "brief",
        "skipped",
    }
    assert (after["path"], after["state"], after["files"], after["complete"]) == (
        str(box.project), "complete", 2, True
    )  # fmt: skip
    assert "state       complete" in box.run("status").stdout


def test_entities_are_listed_without_a_scan_and_without_storing_anything(box):
    for arguments in (("entities", str(box.project), "--json"), ("entities", "--json")):
        found = box.json(*arguments)
        assert all(one.keys() == ENTITY_KEYS for one in found)
        cart = next(one for one in found if one["name"] == "Cart")
        assert (cart["path"], cart["kind"], cart["line"], cart["docstring"]) == (
            "cart.py", "class", 4, "Holds what a customer wants to buy."
        )  # fmt: skip
    assert "cart.py:12  function  def total_price(cart: Cart) -> float" in box.run("entities").stdout
    assert not box.brain.exists()


def test_workspaces_are_listed_dropped_and_named_by_id(box):
    scanned = box.json("scan", "--json")
    (known,) = box.json("workspaces", "list", "--json")["workspaces"]
    assert (known["id"], known["name"], known["path"]) == (scanned["workspace_id"], "shop", str(box.project))
    assert "shop" in box.run("workspaces", "list").stdout
    refused = box.run("workspaces", "drop", "shop")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert box.json("status", "--workspace", known["id"][:8], "--json")["state"] == "complete"
    dropped = box.run("workspaces", "drop", "shop", "--yes")
    assert dropped.returncode == 0, dropped.stderr
    assert box.json("workspaces", "list", "--json") == {"workspaces": []}
    assert (box.project / "cart.py").exists()


def test_a_moved_folder_is_merged_into_its_new_place(box):
    box.json("scan", "--json")
    moved = box.project.rename(box.home / "store")
    box.json("scan", str(moved), "--json", cwd=box.home)
    done = box.run("workspaces", "merge", "shop", "store", "--yes", cwd=box.home)
    assert done.returncode == 0, done.stderr
    assert [one["name"] for one in box.json("workspaces", "list", "--json", cwd=moved)["workspaces"]] == ["store"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "name a command"),
        (("ask",), 2, "--stdin"),
        (("ask", "q", "--stdin"), 2, "--stdin"),
        (("ask", ""), 2, "question is empty"),
        (("ask", "q", "--limit", "0"), 2, "limit"),
        (("ask", "q", "--limit", "-1"), 2, "limit"),
        (("ask", "q", "--limit", "many"), 2, "invalid int value"),
        (("ask", "q", "--kind", "gadget"), 2, "gadget"),
        (("fly",), 2, "invalid choice"),
        (("scan", "--fast"), 2, "--fast"),
        (("scan", ".", "--workspace", "shop"), 2, "not both"),
        (("scan", "/no/such/folder"), 1, "/no/such/folder"),
        (("scan", "cart.py"), 1, "cart.py"),
        (("scan", "/"), 1, "root of a file system"),
        (("scan", "~"), 1, "home directory"),
        (("status", "--workspace", "nobody"), 1, "nobody"),
        (("workspaces",), 2, "ACTION"),
        (("workspaces", "drop", "nobody", "--yes"), 1, "nobody"),
    ],
)
def test_a_failure_is_one_line_on_standard_error_with_its_exit_code(box, arguments, code, said):
    done = box.run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("braindex: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_home_directory_is_never_taken_because_the_command_runs_in_it(box):
    done = box.run("ask", "q", cwd=box.home)
    assert done.returncode == 1
    assert "home directory" in done.stderr
    plain = box.home.parent / "plain"
    plain.mkdir()
    done = box.run("scan", cwd=plain)
    assert done.returncode == 1
    assert "does not look like a project" in done.stderr
    assert box.run("scan", ".", cwd=plain).returncode == 0


def test_a_command_in_a_folder_of_a_project_means_the_project(box):
    box.write("deep/er/x.py", "x = 1\n")
    status = box.json("status", "--json", cwd=box.project / "deep" / "er")
    assert status["path"] == str(box.project)


def test_wrong_settings_are_reported_together_as_a_usage_error(box):
    done = box.run("scan", MAX_FILE_BYTES="big", QUERY_DISTANCE_THRESHOLD="-1")
    assert done.returncode == 2
    assert "MAX_FILE_BYTES" in done.stderr
    assert "QUERY_DISTANCE_THRESHOLD" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["ask", "--help"], ["serve", "--help"]])
def test_help_and_version_import_nothing_heavy(box, arguments):
    code = (
        "import sys\nfrom braindex.cli.main import main\n"
        f"assert main({arguments!r}) == 0\n"
        "heavy = {'mcp', 'chromadb', 'numpy', 'tree_sitter', 'sqlite3', 'tqdm', 'pydantic', 'asyncio'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=box.environment(), capture_output=True, timeout=HUNG, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.startswith(b"braindex " if arguments == ["--version"] else b"usage: braindex")


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "q", "--limit", "9" * 60_000),
        ("fly" + "z" * 60_000,),
        ("scan", "--" + "w" * 60_000),
        ("scan", "w" * 60_000),
        ("entities", "v" * 60_000),
        ("status", "--workspace", "a/" * 30_000),
        ("ask", "q", "--kind", "k" * 60_000),
        ("ask", "q", "--path", "/" + "p" * 60_000),
        ("workspaces", "drop", "d" * 60_000),
    ],
)
def test_an_error_repeats_a_long_argument_only_in_part(box, arguments):
    done = box.run(*arguments)
    assert done.returncode in {1, 2}
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 4_000


def test_one_answer_a_line_holds_when_every_question_fails(box):
    done = box.run("ask", "--stdin", "--json", "--kind", "gadget", stdin=b"one\n\ntwo")
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    assert [one["query"] for one in answers] == ["one", "", "two"]
    assert all(one["error"] for one in answers)


@pytest.mark.skipif(sys.platform == "win32", reason="the shell's way to close a stream")
@pytest.mark.parametrize(
    ("redirected", "arguments", "code", "said"),
    [
        (">&-", "status", 1, "standard output: it is closed"),
        (">&-", "scan", 1, "standard output: it is closed"),
        (">&-", "--help", 1, "standard output: it is closed"),
        (">&-", "--version", 1, "standard output: it is closed"),
        ("2>&-", "status", 0, ""),
        ("2>&-", "fly", 2, ""),
        ("2>&-", "scan --json", 0, ""),
        ("<&-", "ask --stdin", 2, "standard input is closed"),
        ("<&-", "workspaces drop shop", 2, "--yes"),
        ("<&-", "serve", 1, "standard input or output is closed"),
        (">&- 2>&- <&-", "scan", 1, ""),
    ],
)
def test_a_closed_stream_is_an_expected_failure_or_none(box, redirected, arguments, code, said):
    box.json("scan", "--json")
    done = closed(box, redirected, arguments)
    assert (done.returncode, done.stderr.count(b"\n")) == (code, 1 if said else 0)
    assert said.encode() in done.stderr
    assert box.json("status", "--json")["complete"] is True


def closed(box: Box, redirected: str, arguments: str) -> "subprocess.CompletedProcess[bytes]":
    script = f'exec "$@" {arguments} {redirected}'
    command = ["sh", "-c", script, "sh", *box.command()]
    return subprocess.run(
        command, cwd=box.project, env=box.environment(), capture_output=True, timeout=HUNG, check=False
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", ["status", "--help", "entities --json", "ask total_price"])
def test_a_full_disk_under_the_output_is_one_line(box, arguments):
    done = closed(box, "> /dev/full", arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(b"braindex: the result could not be written to standard output: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("columns", ["0", "1", "-5", "many"])
def test_a_terminal_of_any_width_can_show_help_and_results(box, columns):
    for arguments in (("--help",), ("ask", "--help"), ("status",)):
        done = box.run(*arguments, COLUMNS=columns)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout


class TestAStrangersCheckout:
    """What lies in the folder a command runs in was written by anybody."""

    def test_its_modules_are_not_imported_in_place_of_the_real_ones(self, box):
        for name in ("json.py", "argparse.py", "mcp/__init__.py", "dotenv/__init__.py", "numpy.py", "pathspec.py"):
            box.write(name, "import sys\nsys.exit('a stranger ran')\n")
        box.write(".env", "SKIP_BARE_FILES=csv\n")
        for python in ((sys.executable, "-m"), (sys.executable, "-P", "-m")):
            done = subprocess.run(
                [*python, "braindex", "ask", "total_price", "--json"],
                cwd=box.project, env=box.environment(), capture_output=True, timeout=HUNG, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, b"")
            assert json.loads(done.stdout)["sources"][0]["name"] == "total_price"

    def test_a_relative_search_path_of_the_users_own_still_counts(self, box):
        done = subprocess.run(
            [sys.executable, "-m", "braindex", "--version"],
            cwd=SOURCE.parent, env=box.environment(PYTHONPATH=SOURCE.name), capture_output=True, timeout=HUNG,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(b"braindex ")

    def test_its_data_folder_serves_and_brings_no_settings_of_weight(self, box):
        box.write(".env", "BRAIN_DIR=.brain\n")
        box.write(".brain/.env", "MAX_FILE_BYTES=1\n")
        done = box.run("scan", "--json", BRAIN_DIR="")
        assert json.loads(done.stdout)["files"] == 2
        assert (box.project / ".brain/registry.db").exists()
        assert done.stderr.startswith("braindex: MAX_FILE_BYTES in ")
        assert "does not count" in done.stderr

    @pytest.mark.parametrize("value", [".", "..", ".git", "cart.py", "/etc"])
    def test_a_data_folder_where_none_may_be_is_said_and_the_users_serves(self, box, value):
        box.write(".env", f"BRAIN_DIR={value}\n")
        done = box.run("scan", "--json", BRAIN_DIR="")
        assert (done.returncode, json.loads(done.stdout)["files"]) == (0, 2)
        assert done.stderr.startswith(f"braindex: BRAIN_DIR is '{value}'")
        assert (box.home / ".brain/registry.db").exists()

    @pytest.mark.skipif(sys.platform == "win32", reason="pipes in the file system are POSIX")
    def test_a_pipe_for_its_env_keeps_nobody_waiting(self, box):
        os.mkfifo(box.project / ".env")
        assert box.json("status", "--json")["state"] == "never"
        listed = box.run("entities", "--json")
        assert {one["path"] for one in json.loads(listed.stdout)} == {"cart.py", "pyproject.toml"}
        assert listed.stderr.startswith("left out 1:\n  .env: ")


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_a_data_folder_that_others_could_read_is_closed_when_it_is_opened(box):
    box.json("scan", "--json")
    (workspace,) = (box.brain / "workspaces").iterdir()
    folders = (box.brain, box.brain / "workspaces", workspace)
    for one in folders:
        one.chmod(0o755)
    (workspace / "index.db").chmod(0o644)
    box.json("ask", "total_price", "--json")
    assert [one.stat().st_mode & 0o777 for one in folders] == [0o700] * 3
    assert (workspace / "index.db").stat().st_mode & 0o777 == 0o600


def test_where_the_data_folder_is_the_project_itself_none_of_its_data_is_indexed(box):
    found = [box.json("scan", "--json", BRAIN_DIR=str(box.project)) for _ in range(2)]
    assert [(one["files"], one["changed"], one["added"]) for one in found] == [(2, 0, found[0]["added"]), (2, 0, 0)]
    listed = json.loads(box.run("entities", "--json", BRAIN_DIR=str(box.project)).stdout)
    assert {one["path"] for one in listed} == {"cart.py", "pyproject.toml"}


def test_braindex_own_data_is_no_workspace(box):
    box.json("scan", "--json")
    for arguments in (("scan",), ("status",), ("entities",), ("ask", "q", "--workspace")):
        done = box.run(*arguments, str(box.brain / "workspaces"))
        assert (done.returncode, done.stdout) == (1, "")
        assert "braindex's own data" in done.stderr
    assert len(box.json("workspaces", "list", "--json")["workspaces"]) == 1


@pytest.mark.parametrize(("value", "said"), [("cart.py", "is a file"), ("cart.py/x", "lies below a file")])
def test_a_data_folder_that_cannot_be_is_a_usage_error_that_names_it(box, value, said):
    done = box.run("scan", BRAIN_DIR=str(box.project / value))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "BRAIN_DIR" in done.stderr
    assert said in done.stderr


def test_a_reader_that_closes_early_is_no_error(box):
    box.json("scan", "--json")
    child = subprocess.Popen(
        box.command("entities"),
        cwd=box.project,
        env=box.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.close()
    assert child.stderr is not None
    assert child.stderr.read() == b""
    assert child.wait(HUNG) == 0
    child.stderr.close()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_terminal_sees_a_progress_bar_and_a_pipe_does_not(box):
    import pty
    import termios

    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 100))
    child = subprocess.Popen(
        box.command("scan", "--json"),
        cwd=box.project,
        env=box.environment(TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    out, _ = child.communicate(timeout=HUNG)
    drawn = b""
    try:
        while chunk := os.read(leader, 65_536):
            drawn += chunk
    except OSError:  # the end of a pseudo-terminal
        pass
    os.close(leader)
    assert child.returncode == 0, drawn
    assert json.loads(out)["files"] == 2
    assert b"scanning shop" in drawn
