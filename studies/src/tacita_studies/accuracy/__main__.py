"""`python -m tacita_studies.accuracy`, which `make accuracy` calls. Other processes cannot import this module."""

import sys

from tacita_studies.accuracy.command import main

if __name__ == "__main__":
    sys.exit(main())
