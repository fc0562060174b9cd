"""`python -m braindex`."""

import sys

from braindex.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
