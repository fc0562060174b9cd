"""The command line. Starting it imports nothing heavy; a command imports what it needs when it runs."""

import os
from typing import Final

STARTED_BY: Final = os.getppid()  # asked first of all: a client may be gone before a server has imported what it needs
