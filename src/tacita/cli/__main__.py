"""`python -m tacita.cli`: the command line where no script is installed."""

from tacita.cli import main

main()
