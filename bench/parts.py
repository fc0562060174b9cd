"""Where the time of a cold scan goes: CPU microseconds an entity, part by part, in one process.

usage: python bench/parts.py REPOSITORY [--chroma] [--json FILE]

The parts are those that a scan runs, one after the other over the whole repository, so that each can be timed alone:
walk, read (decoding and the look for keys), parse (tree-sitter), entities (queries, scopes, signatures, documentation),
passages, embed, terms, frames (what worker processes send), store (SQLite and its full-text index). `--chroma` adds
what ChromaDB would take for the same vectors. The sum over two cores is the most that a scan can reach on them.
"""

import argparse
import gc
import json
import marshal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from braindex.domain.options import WorkspaceOptions
from braindex.domain.units import FileRecord, FileUnits
from braindex.embedding.bundled import BundledEmbedder
from braindex.indexing.decode import SourceText, read_text
from braindex.indexing.extract import extract_entities, language_of
from braindex.indexing.extract_grammars import grammar_of
from braindex.indexing.extract_parse import budget_for, parse
from braindex.indexing.passages import index_file, terms_of
from braindex.languages import language_for
from braindex.registry.index import IndexStore
from braindex.services import frames
from braindex.services.ingest import BATCH_UNITS
from braindex.services.reading import Outcome, Reader, Task, chunks
from braindex.services.survey import survey
from braindex.vectors.index import DenseIndexes

SPENT: dict[str, float] = {}


@contextmanager
def spent(part: str) -> Iterator[None]:
    started = time.process_time()
    yield
    SPENT[part] = SPENT.get(part, 0.0) + time.process_time() - started


def store_all(outcomes: list[list[Outcome]], folder: Path) -> None:
    with IndexStore.open(folder) as store:
        batch: list[FileUnits] = []
        for outcome in (one for some in outcomes for one in some if one.skipped is None):
            record = FileRecord(outcome.path, 1, 1, outcome.digest, language_of(outcome.path) or "text", 1)
            batch.append(FileUnits(record, outcome.units))
            if sum(len(one.units) for one in batch) >= BATCH_UNITS:
                store.write(batch)
                batch = []
        store.write(batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--chroma", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    root, options, model = arguments.repository.resolve(), WorkspaceOptions(), BundledEmbedder()
    # Grammars and the table are loaded once a process, and not counted.
    for suffix in (".py", ".js", ".ts", ".tsx", ".html", ".css", ".md"):
        index_file(f"warm{suffix}", b"")
    model.question("warm")
    gc.disable()  # as a scan does
    with spent("walk"):
        todo = survey(root, {}, options, root / ".brain").todo.new
    with spent("read"):
        texts = [(one, read_text(root, one, options.max_file_bytes)) for one in todo]
    read = [(one.path, text.data) for one, text in texts if isinstance(text, SourceText)]
    code = [(spec, data) for path, data in read if (spec := language_for(path)) is not None]
    with spent("parse"):
        for spec, data in code:
            parse(grammar_of(spec), spec.prepare(data), budget_for(len(data)))
    with spent("entities"):
        for path, data in read:
            extract_entities(path, data)
    with spent("passages"):
        units = [one for path, data in read for one in index_file(path, data)]
    SPENT["passages"] -= SPENT["entities"]
    SPENT["entities"] -= SPENT["parse"]
    with spent("embed"):
        for start in range(0, len(units), 300):
            model.passages([one.passage for one in units[start : start + 300]])
    with spent("terms"):
        for one in units:
            terms_of(one.passage)
    reader = Reader(root, options, model)
    outcomes = [reader.read(some) for some in chunks(Task(one) for one in todo)]
    with spent("frames"):
        sent = [marshal.dumps(frames.packed(some)) for some in outcomes]
        for data in sent:
            frames.unpacked(marshal.loads(data))  # noqa: S302 - made two lines above
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with spent("store"):
            store_all(outcomes, folder)
        if arguments.chroma:
            with IndexStore.open(folder) as store:
                index = DenseIndexes(exact_limit=0).of(folder, store)
                index.sync()  # imports ChromaDB and makes its folder
                store.outbox_all()
                with spent("ChromaDB (not part of a scan)"):
                    index.sync()
    size = sum(len(data) for _, data in read) / 1e6
    report(len(units), f"{len(units):,} entities of {len(read):,} files, {size:.1f} MB")
    if arguments.json:
        arguments.json.write_text(json.dumps({part: seconds / len(units) for part, seconds in SPENT.items()}))


def report(count: int, title: str) -> None:
    print(title)
    for part, seconds in SPENT.items():
        print(f"  {part:32}{seconds / count * 1e6:8.0f} µs")
    total = sum(seconds for part, seconds in SPENT.items() if not part.startswith("ChromaDB"))
    most = f"at most {2 * count / total:,.0f} a second on two cores"
    print(f"  {'sum':32}{total / count * 1e6:8.0f} µs: {most}")


if __name__ == "__main__":
    main()
