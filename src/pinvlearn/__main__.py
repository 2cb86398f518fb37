"""``python -m pinvlearn`` is the command ``pinvlearn``."""

from pinvlearn.cli import main

main()
