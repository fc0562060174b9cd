"""Another user of the machine: what braindex does for one who is not the superuser, whoever runs the tests."""

import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOBODY = 65534


def as_nobody(action: Callable[[], object], told: Path) -> Any:
    """What a child process without a superuser's rights makes of it, as JSON in a file that it may write."""
    told.touch()
    told.chmod(0o666)
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            told.write_text(json.dumps(action()))
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must not go on as a second test run
            traceback.print_exc()
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return json.loads(told.read_text())


def given_to_nobody(folder: Path) -> None:
    """Makes everything in a folder that user's, where the tests are the superuser's; else it is theirs as it is."""
    if os.geteuid() == 0:
        for one in (folder, *folder.rglob("*")):
            os.chown(one, NOBODY, NOBODY)
