import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from braindex.server.wire import WireWriter

SOURCE = Path(__file__).resolve().parents[3] / "src"


def child(code: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True, timeout=60)


def test_frames_end_in_a_line_feed_alone_under_a_text_layer_that_writes_windows_line_ends():
    reader, writer = os.pipe()
    gone: list[bool] = []
    text = io.TextIOWrapper(WireWriter(writer, lambda: gone.append(True)), encoding="utf-8", newline="\r\n")
    text.write('{"text":"a\\r\\nb 🌍"}\n{}\n')
    text.flush()
    os.close(writer)
    assert os.read(reader, 1000) == '{"text":"a\\r\\nb 🌍"}\n{}\n'.encode()
    os.close(reader)
    assert gone == []


def test_a_client_that_is_gone_is_noticed_when_it_is_written_to():
    reader, writer = os.pipe()
    os.close(reader)
    gone: list[bool] = []
    wire = WireWriter(writer, lambda: gone.append(True))
    wire.write(b"{}\n")
    with pytest.raises(BrokenPipeError):
        wire.flush()
    assert gone
    wire.raw.close()
    os.close(writer)


def test_what_others_print_reaches_standard_error_once_the_wire_is_claimed():
    done = child(
        "import os, subprocess, sys\n"
        "from braindex.server.intake import Checked\n"
        "from braindex.server.wire import Wire\n"
        "wire = Wire()\n"
        "print('python'); os.write(1, b'extension\\n'); subprocess.run([sys.executable, '-c', 'print(1 + 1)'])\n"
        "wire.hand_over(lambda line: Checked((line,)), on_end=lambda: None, on_gone=lambda: None)\n"
        "frames = sys.stdout.buffer\n"
        "wire.divert()\n"
        "frames.write(b'frame\\n'); frames.flush()\n"
        "print('late')\n"
    )
    assert done.stdout == b"frame\n"
    assert {b"python", b"extension", b"2", b"late"} <= set(done.stderr.split())


def test_a_closed_standard_output_is_a_clear_error():
    done = child(
        "import os, sys\n"
        "from braindex.server.wire import NoStandardStreams, Wire\n"
        "os.close(1)\n"
        "try:\n    Wire()\nexcept NoStandardStreams as error:\n    sys.stderr.write(str(error))\n"
        "sys.stdout = None\n"
    )
    assert b"standard input or output is closed" in done.stderr


def test_lines_of_two_threads_never_mix_whatever_the_text_layer_cuts():
    reader, writer = os.pipe()
    wire = WireWriter(writer, lambda: None)
    wire.write(b'{"half":')
    wire.flush()
    wire.write_line(b'{"other":1}')
    wire.write(b'2}\n{"a')
    wire.flush()
    os.close(writer)
    assert os.read(reader, 1000) == b'{"other":1}\n{"half":2}\n'
    os.close(reader)


PASS_ALL = (
    "import os, subprocess, sys\n"
    "from braindex.server.intake import Checked\n"
    "from braindex.server.wire import Wire\n"
    "wire = Wire()\n"
    "def hand_over():\n"
    "    wire.hand_over(lambda line: Checked((line,)), on_end=lambda: None, on_gone=lambda: None)\n"
)


def test_what_others_read_is_the_end_of_input_once_the_wire_is_claimed():
    code = PASS_ALL + (
        "child = subprocess.run([sys.executable, '-c', 'import sys; sys.exit(len(sys.stdin.read()))'])\n"
        "hand_over()\n"
        "frames = sys.stdin.buffer\n"
        "wire.divert()\n"
        "late = sys.stdin.read()\n"
        "sys.stderr.write(repr((child.returncode, late, frames.readline())))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=b"frame\n",
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=True,
        timeout=60,
    )
    assert done.stderr == b"(0, '', b'frame\\n')"


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors of a child are set up the POSIX way")
def test_with_standard_error_closed_nothing_else_reaches_the_wire(tmp_path):
    script = tmp_path / "serve.py"
    script.write_text(
        PASS_ALL
        + "os.write(1, b'out'); os.write(2, b'err')\n"
        + "assert os.open(os.devnull, os.O_RDONLY) > 2\n"
        + "hand_over()\n"
        + "sys.stdout.write('frame\\n'); sys.stdout.flush()\n"
    )
    done = child(f"import os, sys; os.close(2); os.execv(sys.executable, [sys.executable, {str(script)!r}])")
    assert done.stdout == b"frame\n"
