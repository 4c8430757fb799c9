"""`python -m reverie`."""

from reverie.cli import main

main.main()
