"""When is a memory told unasked? The thresholds of recall, over commits that say which issue they are about.

usage: python bench/recall.py REPOSITORY … [--grid] [--most 600]
       python bench/recall.py --places FOLDER …

A repository is a git directory. Its memories are the messages of its last commits (without issue numbers, hashes and
names), as notes in a real store. A prompt is the subject of a commit; related to it are the others that name the same
issue. Asked are also prompts that no memory has to do with: those of the next repository, and what people say to an
agent in between ("thanks, that works"). Prints, of each repository, how many prompts with something related were told
of it among at most five, what share of the told was related (issues are named by few, so this is a lower bound), and
how many of the prompts that nothing has to do with were told anything. `--grid` compares other thresholds.

`--places` asks the questions of questions/topics.tsv of folders named after its projects, which it scans: how many are
told a file that answers, what share of the told answers, and again how many prompts are told anything that nothing has
to do with.
"""

import argparse
import itertools
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from braindex.bootstrap import App, build_app, bundled_model
from braindex.config import load_settings
from braindex.domain import recall
from braindex.domain.memories import Note, new_id, now
from braindex.domain.recall import RECALLED
from braindex.domain.results import Workspace
from braindex.services.memories import Memories
from braindex.services.recalling import places

TOPICS = Path(__file__).parent / "questions" / "topics.tsv"
ISSUE = re.compile(r"#(\d{1,6})\b")
NOISE = re.compile(
    r"\(?#\d+\)?|\b(?:closes|fixes|fixed|fix|refs?|resolves)\b:?\s*(?=\(?#|$)|^(?:Signed-off-by|Co-authored-by|"
    r"Reviewed-by|PR-URL|cc):?.*$|https?://\S+|\b[0-9a-f]{7,40}\b",
    re.IGNORECASE | re.MULTILINE,
)
MERGE = re.compile(
    r"^(merge|bump|release|version|changelog|v?\d+\.\d+|\[pre-commit|build\(deps|chore\(deps)", re.IGNORECASE
)
SMALL_TALK = (
    "thanks, that works", "ok", "yes please", "continue", "go on", "looks good to me", "no, undo that", "try again",
    "can you explain that again?", "run the tests", "commit this", "what do you think?", "fix it", "please be brief",
    "make it shorter", "why?", "which files did you change?", "show me the diff", "now do the same for the others",
    "write a test for it", "is this ready?", "great, next one", "let's start over", "add a comment there", "hello",
)  # fmt: skip


@dataclass(frozen=True)
class Commit:
    text: str
    subject: str
    issues: frozenset[str]


def commits(repository: Path, most: int) -> list[Commit]:
    told = subprocess.run(
        ["git", f"--git-dir={repository}", "log", "--no-merges", "-n", str(8 * most), "--format=%s%x00%b%x01"],
        capture_output=True, check=True,
    ).stdout.decode("utf-8", "replace")  # fmt: skip
    found = [one for part in told.split("\x01") if (one := _commit(part.strip("\n"))) is not None]
    return found[:most]


def _commit(part: str) -> Commit | None:
    subject, _, body = part.partition("\0")
    if MERGE.match(subject):
        return None
    plain = " ".join(NOISE.sub(" ", subject).split())
    text = "\n".join(line for line in (plain, *NOISE.sub(" ", body).splitlines()) if line.strip())
    return Commit(text[:2_000], plain, frozenset(ISSUE.findall(part))) if len(plain.split()) >= 4 else None


class Store:
    """The commits of one repository as notes, and what the parts of the score are for any prompt."""

    def __init__(self, folder: Path, found: list[Commit]) -> None:
        model = bundled_model()
        self.commits = {new_id(): one for one in found}
        self._folder = folder
        folder.mkdir()
        self.memories = Memories(self, model, model)
        self.workspace = Workspace("w", "w", str(folder))
        when = now()
        self.memories.take(
            self.workspace, [Note(name, one.text, created=when, updated=when) for name, one in self.commits.items()]
        )

    def folder(self, _: Workspace) -> Path:
        return self._folder

    def register(self, _: Workspace) -> None:
        pass

    def told(self, prompt: str, leave: str = "") -> list[str]:
        """Ids of what a prompt is told, without its own commit, as a conversation is not told what it has seen."""
        found = self.memories.similar(self.workspace, prompt, RECALLED + 1, what="note", unasked=True)
        return [one.memory.id for one in found if one.memory.id != leave][:RECALLED]


@dataclass
class Tally:
    asked: int = 0
    recalled: int = 0
    told: int = 0
    right: int = 0
    unrelated: int = 0
    alarmed: int = 0
    talk: int = 0
    talked: int = 0

    def line(self, name: str) -> str:
        return (
            f"{name:24} recalled {_share(self.recalled, self.asked)} of {self.asked:4}  told a prompt "
            f"{self.told / max(1, self.asked):.2f}, related {_share(self.right, self.told)}  "
            f"other projects {_share(self.alarmed, self.unrelated)}  small talk {_share(self.talked, self.talk)}"
        )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "  -  "


def measured(store: Store, others: list[Commit]) -> Tally:
    tally = Tally()
    for name, one in store.commits.items():
        related = {other for other, commit in store.commits.items() if other != name and commit.issues & one.issues}
        if not related:
            continue
        told = store.told(one.subject, name)
        tally.asked += 1
        tally.recalled += bool(related & set(told))
        tally.told += len(told)
        tally.right += len(related & set(told))
    for one in others[:200]:
        tally.unrelated += 1
        tally.alarmed += bool(store.told(one.subject))
    for text in SMALL_TALK:
        tally.talk += 1
        tally.talked += bool(store.told(text))
    return tally


def topics() -> dict[str, list[tuple[str, frozenset[str]]]]:
    """By project, the questions and the files that answer or help."""
    found: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
    for line in TOPICS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            project, question, *files = line.split("\t")
            found[project].append((question, frozenset(path for part in files for path in part.split(";"))))
    return found


def measure_places(folders: list[Path]) -> None:
    known, whole = topics(), Tally()
    with tempfile.TemporaryDirectory() as brain:
        app = build_app(load_settings({"BRAIN_DIR": brain}, Path(brain)))
        for number, folder in enumerate(folders):
            workspace = app.workspaces.open(folder)
            app.scans.run(workspace)
            told = partial(_told_places, app, workspace)
            for question, files in known[folder.name]:
                paths = told(question)
                whole.asked += 1
                whole.recalled += any(path in files for path in paths)
                whole.told += len(paths)
                whole.right += sum(path in files for path in paths)
            for question, _ in known[folders[(number + 1) % len(folders)].name]:
                whole.unrelated += 1
                whole.alarmed += bool(told(question))
            for text in SMALL_TALK:
                whole.talk += 1
                whole.talked += bool(told(text))
            print(whole.line(f"to {folder.name}"), flush=True)
        app.close()


def _told_places(app: App, workspace: Workspace, prompt: str) -> list[str]:
    found = app.workspaces.with_index(workspace, lambda store: places(store, prompt))
    return [one.path for one in found][: recall.ENTITIES]


def _grid() -> Iterator[tuple[float, float]]:
    yield from itertools.product((0.55, 0.6, 0.65, 0.7, 0.75), (0.0, 0.6, 0.9, 1.2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--grid", action="store_true", help="compare other thresholds")
    parser.add_argument("--most", type=int, default=600, help="commits of a repository")
    parser.add_argument("--places", action="store_true", help="the places in the code instead of memories")
    arguments = parser.parse_args()
    if arguments.places:
        measure_places([path.resolve() for path in arguments.repositories])
        return
    known = [commits(path, arguments.most) for path in arguments.repositories]
    with tempfile.TemporaryDirectory() as folder:
        stores = [Store(Path(folder) / str(number), found) for number, found in enumerate(known)]
        for enough, held in _grid() if arguments.grid else [(recall.ENOUGH, recall.ENOUGH_HELD)]:
            recall.ENOUGH, recall.ENOUGH_HELD = enough, held  # type: ignore[misc]
            whole = Tally()
            for number, (path, store) in enumerate(zip(arguments.repositories, stores, strict=True)):
                tally = measured(store, known[(number + 1) % len(known)] if len(known) > 1 else [])
                if not arguments.grid:
                    print(tally.line(path.parent.name if path.name == "repo" else path.name), flush=True)
                for part, value in vars(tally).items():
                    setattr(whole, part, getattr(whole, part) + value)
            print(whole.line(f"score {enough} held {held}"), flush=True)


if __name__ == "__main__":
    main()
