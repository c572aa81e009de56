"""How large is an installation, and how long does the first picture take after it?

    python benchmarks/first_picture.py [--python ENV/bin/python] [--install] [--rounds 1] [--json]

The first picture is ``sightline generate geospa/train --scenes 1`` with an empty cache of compiled code: seconds on
the clock and CPU seconds of all its processes, beside those of the calibration kernel and of the same command
again. With ``--install`` the core package (no extras) is first installed from this checkout into an environment of
its own; the size is that of its site-packages, pip and setuptools included.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from render import calibrate

ROOT = Path(__file__).resolve().parents[1]
MEGABYTES, WALL, CPU = 570, 30.0, 60.0
"""Targets; seconds on two idle cores."""


def install(folder: Path) -> tuple[Path, dict[str, float]]:
    """Install the core package into a new environment: its interpreter, seconds and megabytes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
    return python, {"install, s": time.perf_counter() - begun}


def size_of(python: Path) -> int:
    """Blocks of all files in an interpreter's site-packages, in units of 1024² bytes, as ``du -sm`` counts."""
    where = "import sysconfig; print(sysconfig.get_paths()['platlib'])"
    place = subprocess.run([str(python), "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    return int(subprocess.run(["du", "-sm", place], capture_output=True, text=True, check=True).stdout.split()[0])


def picture(python: Path, cache: Path, out: Path) -> tuple[float, float, str]:
    """Generate one scene: seconds on the clock, CPU seconds, hash of its pictures."""
    command = [str(python), "-m", "sightline", "generate", "geospa/train", "--scenes", "1", "--out", str(out)]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, env=os.environ | {"NUMBA_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    files = sorted((out / "images").rglob("*.png"))
    return seconds, used, hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", type=Path, default=Path(sys.executable))
    options.add_argument("--install", action="store_true")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python, installed = install(folder / "env") if given.install else (given.python, {})
        size = size_of(python) if given.install else None
        rows = []
        for i in range(given.rounds):
            cold = picture(python, folder / f"cache{i}", folder / f"cold{i}")
            warm = picture(python, folder / f"cache{i}", folder / f"warm{i}")
            rows.append({"calibration": calibrate(), "cold": cold, "warm": warm})
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    if given.json:
        print(json.dumps({"cores": cores, "load": load, "megabytes": size, **installed, "rounds": rows}, indent=1))
        return
    print(f"Python {platform.python_version()}, {cores} cores, load {load:.1f}")
    if size is not None:
        print(f"core installation: {size} MB (target < {MEGABYTES}), {installed['install, s']:.0f} s")
    print("| | seconds | CPU seconds | pictures | calibration kernel, CPU s |\n| --- | ---: | ---: | --- | ---: |")
    for row in rows:
        for what in ("cold", "warm"):
            seconds, used, digest = row[what]
            print(f"| {what} | {seconds:.1f} | {used:.1f} | {digest} | {row['calibration']:.3f} |")
    print(f"\nTargets for cold, on two idle cores: {WALL:.0f} s, {CPU:.0f} CPU s.")


if __name__ == "__main__":
    main()
