"""`python -m hopefear`."""

import sys

from hopefear.cli import main

if __name__ == "__main__":
    sys.exit(main())
