"""Does any text make extraction fail? Seeded inputs, each with a promise to keep; crashes and hangs are pinned to one.

usage: python bench/fuzz.py [--language NAME …] [--minutes 10] [--seed 1] [--state FILE] [--out FOLDER] [FOLDER …]

Inputs are random bytes, runs of telling tokens, and mutations of real files: the samples in tests/languages, and the
files of the folders that are named (ranges deleted, moved or repeated many times, brackets, control and broken UTF-8
bytes put in, line ends mixed, cut off). Checked of each: no exception but the documented, spans nested or disjoint,
lines within the file, ids that differ, names, references with a name and a line, and the CPU time that a file of its
size may take.

A child process works through the seeds of a language and says which one it begins; where it dies or is silent for a
minute, that seed is the finding. `--state` remembers how far each language came and goes on from there. Findings are
made smaller and saved in `--out`. Prints a table; exit code 1 when there is a finding.
"""

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from braindex.indexing.extract import ParseTimeout, TooManyDefinitions
from braindex.indexing.extract_parse import budget_for
from braindex.indexing.passages import Indexed, index_file
from braindex.languages import LANGUAGES, LanguageSpec

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "languages"
SILENT = 60.0  # seconds after which a child counts as hung
LARGEST = 60_000  # bytes of an input, most of the time
OVER = 1.5  # times the documented CPU time, and half a second: the clock is read now and then
TOKENS = (
    b"\r", b"\n", b"\r\n", b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"{", b"}", b"(", b")", b"[", b"]", b"<", b">",
    b"</", b"/*", b"*/", b"//", b"#", b"```", b'"""', b"'", b'"', b"`", b"${", b"@", b"=>", b":", b";", b",", b"\\",
    b"\t", b"> ", b"- [ ] ", b"---\n", b"\xf0\x9f\x9a\x80", b"\xe2\x80\xae", b"class ", b"def f(", b"function ",
    b"async ", b"func ", b"type ", b"<script>", b"<style>", b"<!--", b"=", b"===\n", b"export default ",
    b"interface ", b"lambda: ", b"match x:\n", b"@media ",
)  # fmt: skip


@dataclass
class Tally:
    """What was done of one language."""

    inputs: int = 0
    size: int = 0
    findings: Counter[str] = field(default_factory=Counter)


def corpus(spec: LanguageSpec, folders: list[Path]) -> list[bytes]:
    files = list((SAMPLES / spec.name).glob("sample.*"))
    for folder in folders:
        files += sorted(one for one in folder.rglob("*") if one.suffix.lower() in spec.suffixes and one.is_file())
    return [one.read_bytes()[:LARGEST] for one in files[:2_000]] or [b""]


def made(spec: LanguageSpec, known: list[bytes], seed: int) -> bytes:
    """The input of a seed: the same for the same folders."""
    chance = random.Random(f"{spec.name}/{seed}")
    kind = chance.random()
    if kind < 0.1:
        return chance.randbytes(chance.randrange(2_000))
    if kind < 0.3:
        return b"".join(chance.choice(TOKENS) for _ in range(chance.randrange(400)))
    data = bytearray(chance.choice(known))
    for _ in range(chance.randint(1, 12)):
        chance.choice(MUTATIONS)(data, chance)
    return bytes(data[: 10 * LARGEST])


def _range(data: bytearray, chance: random.Random) -> slice:
    start = chance.randrange(len(data) + 1)
    return slice(start, start + chance.choice((1, 8, 60, 400)))


def _delete(data: bytearray, chance: random.Random) -> None:
    del data[_range(data, chance)]


def _put(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice(TOKENS) * chance.choice((1, 1, 2, 50))


def _repeat(data: bytearray, chance: random.Random) -> None:
    """Nesting: one piece many times, so that what it opens stays open."""
    where = _range(data, chance)
    piece = bytes(data[where])[:60]
    data[where.start : where.start] = piece * min(chance.choice((2, 20, 2_000)), 4 * LARGEST // max(1, len(piece)))


def _move(data: bytearray, chance: random.Random) -> None:
    where = _range(data, chance)
    piece = bytes(data[where])
    del data[where]
    at = chance.randrange(len(data) + 1)
    data[at:at] = piece


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _line_ends(data: bytearray, chance: random.Random) -> None:
    data[:] = data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n", b"\x0c")))


Mutation = Callable[[bytearray, random.Random], None]
MUTATIONS: tuple[Mutation, ...] = (_delete, _delete, _put, _put, _repeat, _move, _cut, _line_ends)


def wrong(spec: LanguageSpec, source: bytes) -> str:
    """Which promise an input breaks, or ""."""
    started = time.thread_time()
    try:
        found = index_file("a" + spec.suffixes[0], source)
    except (ParseTimeout, TooManyDefinitions):  # it takes too long, or is data: the scan says so of the file
        found = []
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        return type(error).__name__
    spent = time.thread_time() - started
    if spent > OVER * budget_for(len(source)).seconds + 0.5:
        return "CPU time"
    lines = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    ends: list[int] = []
    entities = [one.entity for one in found if one.entity.kind not in {"file", "code-block"}]
    for one in entities:
        while ends and ends[-1] <= one.start:
            ends.pop()
        if ends and one.end > ends[-1]:
            return "spans overlap"
        ends.append(one.end)
        if not 1 <= one.line <= one.end_line <= lines or not 0 <= one.start < one.end <= len(source):
            return "lines"
    return _wrong_names(found, lines)


def _wrong_names(found: list[Indexed], lines: int) -> str:
    entities = [one.entity for one in found]
    if not all(one.name for one in entities):
        return "no name"
    references = [one for row in found for one in row.references]
    if not all(name and 1 <= line <= lines for _, name, line in references):
        return "references"
    keys = {(one.kind, one.qualified_name, one.ordinal) for one in entities}
    return "" if len(keys) == len(entities) else "ids"


def _breaks(spec: LanguageSpec, what: str, source: bytes) -> bool:
    return wrong(spec, source) == what


def smaller(source: bytes, breaks: Callable[[bytes], bool]) -> bytes:
    """A part of the input that breaks the same promise: pieces are left out while it does."""
    size = len(source) // 2
    while size:
        at = 0
        while at < len(source):
            less = source[:at] + source[at + size :]
            if breaks(less):
                source = less
            else:
                at += size
        size //= 2
    return source


def child(arguments: argparse.Namespace) -> None:
    """Works through the seeds of one language, a line each before and where something is wrong."""
    [spec] = (one for one in LANGUAGES if one.name == arguments.language[0])
    known = corpus(spec, arguments.folders)
    seed = arguments.seed
    while True:
        source = made(spec, known, seed)
        print(json.dumps({"seed": seed, "size": len(source)}), flush=True)
        what = wrong(spec, source)
        if what:
            part = source if what == "CPU time" else smaller(source, partial(_breaks, spec, what))
            print(json.dumps({"seed": seed, "what": what, "hex": part.hex()}), flush=True)
        seed += 1


def said(spec: LanguageSpec, seed: int, until: float, folders: list[Path]) -> Iterator[dict[str, object]]:
    """What a child says until the time is over, it dies or it hangs: the last two as findings."""
    command = [sys.executable, __file__, "--child", "--language", spec.name, "--seed", str(seed), *map(str, folders)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as process:
        assert process.stdout is not None
        hung = threading.Event()

        def end() -> None:
            hung.set()
            process.kill()

        while time.monotonic() < until:
            watch = threading.Timer(SILENT, end)
            watch.start()
            line = process.stdout.readline()
            watch.cancel()
            if not line:
                yield {"what": "hangs" if hung.is_set() else f"dies ({process.wait()})"}
                return
            yield json.loads(line)
        process.kill()


def run(spec: LanguageSpec, arguments: argparse.Namespace, first: int) -> tuple[Tally, int]:
    """One language for its minutes; what was done, and the seed to go on from."""
    tally, seed = Tally(), first
    known = corpus(spec, arguments.folders)
    until = time.monotonic() + arguments.minutes * 60
    while time.monotonic() < until:
        for one in said(spec, seed, until, arguments.folders):
            if "size" in one:
                seed = int(str(one["seed"]))
                tally.inputs += 1
                tally.size += int(str(one["size"]))
                continue
            tally.findings[str(one["what"])] += 1
            data = bytes.fromhex(str(one["hex"])) if "hex" in one else made(spec, known, seed)
            if arguments.out:
                arguments.out.mkdir(parents=True, exist_ok=True)
                (arguments.out / f"{spec.name}-{seed}{spec.suffixes[0]}").write_bytes(data)
        seed += 1
    return tally, seed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--language", nargs="+", default=[spec.name for spec in LANGUAGES])
    parser.add_argument("--minutes", type=float, default=10.0, help="for each language")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments)
    state: dict[str, int] = {}
    if arguments.state and arguments.state.exists():
        state = json.loads(arguments.state.read_text(encoding="utf-8"))
    found = 0
    print(f"{'language':12}{'inputs':>10}{'MB':>8}  findings")
    for spec in (one for one in LANGUAGES if one.name in arguments.language):
        tally, state[spec.name] = run(spec, arguments, state.get(spec.name, arguments.seed))
        found += tally.findings.total()
        told = ", ".join(f"{count} {what}" for what, count in tally.findings.items()) or "none"
        print(f"{spec.name:12}{tally.inputs:10,}{tally.size / 1e6:8.1f}  {told}", flush=True)
        if arguments.state:
            arguments.state.write_text(json.dumps(state), encoding="utf-8")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
