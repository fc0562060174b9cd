"""`braindex serve`: the server on this process's standard input and output, until the client leaves."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from braindex.config import Settings
from braindex.server.leaving import Leaving
from braindex.server.wire import Wire

LOG: Final = logging.getLogger(__name__)

BUG: Final = 3


def serve(
    settings: Settings,
    *,
    workspace_flag: str | None,
    environ: Mapping[str, str],
    cwd: Path,
    log_path: str,
    version: str,
    parent: int,
) -> None:
    """Serves one client; never returns: the process ends with its client, and with its `parent`.

    Raises:
        NoStandardStreams: there is nothing to write to.
    """
    wire = Wire()
    # Imported now that nothing they print can reach the client.
    from braindex.bootstrap import build_app  # noqa: PLC0415 - once the wire is claimed
    from braindex.server.create import create_server  # noqa: PLC0415 - once the wire is claimed
    from braindex.server.frames import checked  # noqa: PLC0415 - once the wire is claimed
    from braindex.services.resolution import home_directory  # noqa: PLC0415 - once the wire is claimed

    app = build_app(settings)

    def stop() -> None:
        wire.finish()
        app.close()

    leaving = Leaving(stop)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        wire.divert()
        try:
            yield
        finally:
            # Input has ended: what is still to be written has until the deadline.
            leaving.within_deadline(0)

    server = create_server(
        app,
        workspace_flag,
        environ=environ,
        cwd=cwd,
        home=home_directory(),
        log_path=log_path,
        version=version,
        lifespan=lifespan,
    )
    leaving.on_signals()
    leaving.with_parent(parent)
    LOG.info("serving, version %s", version)
    wire.hand_over(checked, on_end=leaving.after_input, on_gone=lambda: leaving.now(0))
    _run(server, leaving)


def _run(server: Any, leaving: Leaving) -> None:
    code = BUG
    try:
        server.run("stdio")
        code = 0
    finally:
        if code:
            # The traceback is on its way to the caller's boundary; a thread that reads input must not stop
            # it.
            leaving.within_deadline(code)
    leaving.now(code)
