"""Part `full-disk` of `bench/faults.py`: a scan, questions and notes on a disk without room, and after it got some.

The disk is a small tmpfs that `unshare` mounts for one process and its children alone: this file, run by itself.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from braindex.domain.memories import Note, new_id, now
from braindex.registry.memory import MemoryStore
from faults_processes import run  # type: ignore[import-not-found]  # beside this file
from faults_world import (  # type: ignore[import-not-found]
    Bar,
    content,
    differences,
    lost_memories,
    undisturbed,
    workspace_folder,
    write_project,
)

SMALL, ROOMY = "6m", "200m"
PART = "full-disk"


def full_disk(scratch: Path, _: argparse.Namespace) -> list[Bar]:
    disk = scratch / "disk"
    disk.mkdir()
    mounted = f"mount -t tmpfs -o size={SMALL} none '{disk}' && exec \"$@\""
    alone = ["unshare", "--mount", "sh", "-c", mounted, "sh"]
    try:
        tried = subprocess.run([*alone, "true"], capture_output=True, encoding="utf-8", check=False)
        reason = tried.stderr.strip() or f"exit {tried.returncode}" if tried.returncode else ""
    except FileNotFoundError as error:
        reason = str(error)
    if reason:
        return [Bar(PART, "a small disk of its own", None, f"needs root on Linux: {reason}")]
    command = [*alone, sys.executable, __file__, str(scratch)]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return [Bar(**one) for one in json.loads(done.stdout)]


def remembered(folder: Path) -> dict[str, str]:
    """Notes that are stored while there is room."""
    rows = {new_id(): f"note {number}" for number in range(20)}
    with MemoryStore.open(folder) as memory:
        for key, text in rows.items():
            memory.add_note(Note(id=key, text=text, category="decision", author="bench", created=now(), updated=now()))
    return rows


def without_room(brain: Path, root: Path) -> list[Bar]:
    """A project has grown past the disk: scanning it fails, and nothing else does."""
    full = run(brain, "scan", str(root), "--json")
    clear = full.code == 1 and "Traceback" not in full.err and "space" in full.err.lower()
    asked = run(brain, "ask", "where is a basket charged", "--workspace", str(root), "--json", "--no-answer")
    status = run(brain, "status", str(root), "--json")
    wrong = [one for one in (asked.fault(), status.fault()) if one]
    if not wrong and not asked.json["sources"]:
        wrong.append("a question finds nothing")
    if not wrong and not (asked.json.get("coverage") and status.json["freshness"] != "current"):
        wrong.append("it is not said that changes could not be taken in")
    said = full.err.strip()
    return [
        Bar(PART, "a scan without room is a clear error, exit 1", clear, said[said.find("no ") :][-160:]),
        Bar(
            PART,
            "without room questions and status go on, and say what is behind",
            not wrong,
            "; ".join(wrong) or asked.json["coverage"][:60],
        ),
    ]


def inside(scratch: Path) -> list[Bar]:
    """Where the disk is mounted."""
    brain, root = scratch / "disk" / "brain", scratch / "project"
    write_project(root, 20, 4, 3)
    assert not (fault := run(brain, "scan", str(root), "--json").fault()), fault
    folder = workspace_folder(brain, root)
    rows = remembered(folder)
    write_project(root, 400, 40, 3)
    bars = without_room(brain, root)
    lost = lost_memories(folder, rows)
    subprocess.run(["mount", "-o", f"remount,size={ROOMY}", str(scratch / "disk")], check=True)
    fault = run(brain, "scan", str(root), "--json").fault()
    wrong = [fault] if fault else differences(content(brain, root), undisturbed(root, scratch / "oracle"))
    lost += lost_memories(folder, rows)
    return [
        *bars,
        Bar(PART, "with room the next scan heals", not wrong, "; ".join(wrong[:2]) or "as by an undisturbed scan"),
        Bar(PART, "no row of memory.db lost, without room and with", not lost, f"{len(lost)} of {len(rows)} lost"),
    ]


if __name__ == "__main__":
    print(json.dumps([asdict(one) for one in inside(Path(sys.argv[1]))]))
