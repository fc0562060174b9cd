"""What the bundle starts: `braindex serve`, with the settings that the user left empty taken out of the environment."""

import os
import sys

from braindex.cli.main import main

# A client that knows no value for a setting hands on the placeholder as it is written in manifest.json.
PLACEHOLDER = "${user_config."


def drop_unset() -> None:
    for name, value in tuple(os.environ.items()):
        if value.startswith(PLACEHOLDER):
            del os.environ[name]


if __name__ == "__main__":
    drop_unset()
    sys.exit(main(["serve"]))
