"""Starts the command ``sightline`` of the distribution ``sightline-exams``, unless another owns the package.

Another distribution on PyPI is called ``sightline`` and brings a package of that name too. Where both are
installed, each has overwritten files of the other. This module lies beside the package: nothing overwrites it.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution

NAME = "sightline-exams"
NAMESAKE = "sightline"


class NamesakeError(ImportError):
    """The other distribution is installed as well, or has left holes in this one."""


@cache
def refuse_namesake() -> None:
    """Raise a NamesakeError where the other distribution is installed beside this one, with what to do about it."""
    mend = f"pip uninstall {NAMESAKE}, then pip install --force-reinstall --no-deps {NAME}"
    other = _installed(NAMESAKE)
    if other is not None and _installed(NAME) is not None:
        raise NamesakeError(
            f"two packages are installed that are both imported as {NAMESAKE}: {NAME}, which is Sightline, and "
            f"{NAMESAKE} {other.version}, another project ({other.metadata['Summary']}); each has overwritten "
            f"files of the other. To keep Sightline: {mend}"
        )


def main() -> None:
    """Run the command ``sightline``; Ctrl-C while it is being imported is no traceback."""
    try:
        refuse_namesake()
        from sightline.cli import main as command
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was begun\n")
        sys.exit(130)
    except NamesakeError as error:
        sys.exit(_told(str(error)))
    except ImportError as error:
        if (error.name or "").split(".")[0] != NAMESAKE:
            raise
        again = f"pip install --force-reinstall --no-deps {NAME}"
        sys.exit(_told(f"files of {NAME} are missing or those of another package ({error}); to mend it: {again}"))
    command()


def _told(problem: str) -> int:
    sys.stderr.write(f"error: {problem}\n")
    return 2


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
