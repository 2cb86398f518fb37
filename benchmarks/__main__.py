"""``python -m benchmarks``: list, run and render benchmarks."""

import sys

from benchmarks.threads import pin_environment


def main() -> int:
    """Pin the threads, then load everything that imports NumPy."""
    pin_environment(sys.argv[1:])
    from benchmarks.cli import run_command

    return run_command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
