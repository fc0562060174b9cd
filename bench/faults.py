"""Does braindex survive it? Eight processes on one workspace, kills at random moments, a full disk, vanishing clients.

usage: python bench/faults.py [together] [kills] [servers] [full-disk] [--seconds 120] [--processes 8] [--rounds 3]
                              [--kills 200] [--idle 60] [--seed 1] [--json FILE]

Everything is done to the installed `braindex`, in whole processes with fresh data folders, and checked against what an
undisturbed scan of the same tree stores: every entity with its lines, signature, vector and words. What a user would
call an error counts (an exit code, a traceback, an error of a tool call). Without a name all parts run; in full they
take half an hour on two cores.

together    long-lived readers, scans, servers, writers of notes and an editor share one workspace; what is cited has to
            be there, what was written has to be found
kills       `braindex scan` is killed, of a small project and of one that worker processes read, cold and after edits
servers     clients are killed, servers are ended while they scan; one idles
full-disk   a disk without room, which then gets some

Prints each bar with what was seen; `--json` writes the same. Exit code 1 when a bar is missed. Linux: it reads /proc;
`full-disk` mounts a small tmpfs in a private namespace, which needs root, and is skipped without.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

from faults_disk import full_disk  # type: ignore[import-not-found]  # beside this file
from faults_kills import kills  # type: ignore[import-not-found]
from faults_servers import servers  # type: ignore[import-not-found]
from faults_together import one_round  # type: ignore[import-not-found]
from faults_world import Bar  # type: ignore[import-not-found]

PARTS = ("together", "kills", "servers", "full-disk")
Job = Callable[[Path, argparse.Namespace], list[Bar]]


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """What is to be done, each with a folder of its own."""
    wanted = options.parts or PARTS
    if "together" in wanted:
        yield from (partial(one_round, number=number) for number in range(options.rounds))
    yield from (
        job for name, job in (("kills", kills), ("servers", servers), ("full-disk", full_disk)) if name in wanted
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seconds", type=int, default=120, help="length of a round of `together`")
    parser.add_argument("--processes", type=int, default=8, help="in each round, besides the editor")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--idle", type=int, default=60, help="seconds that a server idles")
    parser.add_argument("--seed", type=int, default=1, help="of the edits, the questions and the moments of kills")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    if not sys.platform.startswith("linux"):
        sys.exit("bench/faults.py looks for processes in /proc: it runs on Linux")
    options = arguments()
    bars: list[Bar] = []
    for job in jobs(options):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            for bar in job(Path(scratch).resolve(), options):
                bars.append(bar)
                print(bar.line(), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in bars], indent=1), encoding="utf-8")
    sys.exit(any(one.held is False for one in bars))


if __name__ == "__main__":
    main()
