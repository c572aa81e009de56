"""``python -m sightline`` is the same as ``sightline``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is being imported is no traceback."""
    try:
        from sightline.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was begun\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
