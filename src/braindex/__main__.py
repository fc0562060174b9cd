"""`python -m braindex`.

Under `-m`, Python looks for every module in the current folder first, where a stranger's checkout may have a
`json.py`. `python -P -m braindex` and the `braindex` command never do; without `-P` the folder is forgotten here,
before anything more is imported.
"""

import os
import sys


def _forget_working_directory() -> None:
    """Takes away what `-m` put in front of the search path, and nothing that PYTHONPATH asked for."""
    if sys.flags.safe_path or not sys.path:
        return
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    if sys.path[0] in {"", here}:
        del sys.path[0]


if __name__ == "__main__":
    _forget_working_directory()
    try:
        from braindex.cli.main import main
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(main())
