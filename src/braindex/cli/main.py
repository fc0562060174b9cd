"""The entry point."""

import signal
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; see `dispatch.run`. A hook, which a client waits for, loads none of the other commands."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is meant for the client
        try:
            from braindex.cli.hooking import run_hook  # noqa: PLC0415 - see above
        except ImportError:  # an installation that is being replaced at this moment breaks no client: no answer
            return 0
        return run_hook(arguments[1:])
    from braindex.cli.dispatch import run  # noqa: PLC0415 - see above

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
