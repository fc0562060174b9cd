"""`python -P -m braindex.worker`: reads files for the scan of another process, which talks to it over its pipes.

It ends with its input. What it is asked comes from a thread of its own, so that the end is noticed in the middle of a
file too.
"""

import gc
import os
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO

from braindex.registry.migrations import running_version
from braindex.services import frames
from braindex.services.reading import Reader


def main() -> None:
    """Answers until its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the scan, which ends this process
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no frame
    version, root, options, embeds = frames.greeted(frames.read(incoming))
    if version == running_version():  # else braindex was upgraded meanwhile
        embedder = None
        if embeds:
            from braindex.bootstrap import bundled_model  # noqa: PLC0415 - numpy, where it is needed

            embedder = bundled_model()
        _serve(incoming, outgoing, Reader(root, options, embedder))


def _serve(incoming: BinaryIO, outgoing: BinaryIO, reader: Reader) -> None:
    asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, asked), daemon=True).start()
    gc.disable()  # see `ingest`: it finds nothing in millions of short-lived tuples
    frames.write(outgoing, running_version())
    while True:
        frames.write(outgoing, frames.packed(reader.read(frames.unpacked_tasks(asked.get()))))


def _listen(incoming: BinaryIO, asked: "queue.SimpleQueue[Any]") -> None:
    try:
        while True:
            asked.put(frames.read(incoming))
    except EOFError:
        os._exit(0)  # in the middle of a file too: nobody waits for it any more


if __name__ == "__main__":
    try:
        main()
    except (EOFError, OSError):  # the scan is gone
        sys.exit(1)
