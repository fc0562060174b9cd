"""Part `servers` of `bench/faults.py`: clients that vanish, servers that have to end, a server that idles."""

import argparse
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from faults_kills import LARGE_FILES, LARGE_FUNCTIONS  # type: ignore[import-not-found]  # beside this file
from faults_processes import Server, all_gone, cpu_seconds, workers  # type: ignore[import-not-found]
from faults_world import Bar, write_project  # type: ignore[import-not-found]

VANISHED, ENDED = 20, 10  # times
GONE, END, FIRST_CALL = 3.0, 1.0, 10.0  # seconds
IDLE_CPU = 0.05  # seconds
SETTLING = 3.0  # seconds after an answer, in which a server may still finish what it began
CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from faults_processes import Server
server = Server(Path(sys.argv[2]), Path(sys.argv[3]))
server.begin("scan_workspace")
print("asked", flush=True)
sys.stdin.read()
"""


def vanished_clients(scratch: Path, root: Path, chance: random.Random) -> Bar:
    """A client that holds the pipes of a scanning server is killed, and with it goes everything."""
    left = read = 0
    here = str(Path(__file__).parent)
    for number in range(VANISHED):
        brain = scratch / f"vanished{number}"
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, here, str(brain), str(root)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as client:  # fmt: skip
            assert client.stdout is not None
            assert client.stdout.readline() == b"asked\n"
            time.sleep(chance.uniform(0.0, 2.0))
            read += workers(brain) > 0
            client.kill()
            client.wait()
            left += not all_gone(brain, GONE)
    what = f"{VANISHED} clients killed during a scan leave no process after {GONE:.0f} s"
    return Bar("servers", what, not left, f"{left} did; {read} scans had worker processes")


def endings(scratch: Path, root: Path, how: str, chance: random.Random) -> Bar:
    """The longest that a server took to end while it scanned, with its worker processes."""
    longest, read = 0.0, 0
    for number in range(ENDED):
        brain = scratch / f"{how}{number}"
        server = Server(brain, root)
        server.begin("scan_workspace")
        time.sleep(chance.uniform(0.2, 2.0))
        read += workers(brain) > 0
        started = time.monotonic()
        if how == "SIGTERM":
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(30)
        else:
            server.close()
        gone = all_gone(brain, 30)
        longest = max(longest, time.monotonic() - started if gone else 30.0)
    what = f"{how} ends a scanning server within {END:.0f} s, {ENDED} times"
    return Bar("servers", what, longest <= END, f"at most {longest:.2f} s; {read} scans had worker processes")


def idles(scratch: Path, root: Path, seconds: float) -> list[Bar]:
    server = Server(scratch / "idle", root)
    error = server.call("query_memory", query="where is a basket charged").get("error", "")
    first = time.monotonic() - server.started
    time.sleep(SETTLING)
    before = cpu_seconds(server.process.pid)
    time.sleep(seconds)
    spent = cpu_seconds(server.process.pid) - before
    server.close()
    answered, cost = (
        f"the first call with nothing loaded answers within {FIRST_CALL:.0f} s",
        f"{seconds} s idle cost at most {IDLE_CPU} CPU s",
    )
    return [
        Bar("servers", answered, first <= FIRST_CALL and not error, error or f"{first:.1f} s"),
        Bar("servers", cost, spent < IDLE_CPU, f"{spent:.2f} CPU s"),
    ]


def servers(scratch: Path, options: argparse.Namespace) -> list[Bar]:
    chance = random.Random(options.seed)
    large, small = scratch / "large", scratch / "small"
    write_project(large, LARGE_FILES, LARGE_FUNCTIONS, 1)
    write_project(small, 40, 6, 2)
    bars = [vanished_clients(scratch, large, chance)]
    bars += [endings(scratch, large, how, chance) for how in ("end of input", "SIGTERM")]
    return bars + idles(scratch, small, options.idle)
