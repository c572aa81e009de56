"""Processes of benchmarks/context.py that work side by side on one machine, to a deadline."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _context_plan import Run

BEGUN = time.time()


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f} s]", *words, flush=True)


def left(args: argparse.Namespace) -> float:
    """Seconds until the deadline."""
    return float(args.until - time.time())


def side_by_side(parts: list[str], chosen: list[str], known: dict[str, Run], args: argparse.Namespace) -> None:
    """Run parts of this program as processes, with one that draws for each kind of network, to the deadline."""
    shutil.rmtree(args.out / "begun", ignore_errors=True)
    folder = Path(args.banks or args.out / "banks")
    for mark in folder.glob("*.failed"):
        mark.unlink()
    kinds = dict.fromkeys(known[name].kind for name in chosen if name in known)
    words = [sys.executable, *sys.argv, "--until", str(args.until)]
    names = (*(f"draw-{kind}" for kind in kinds), *parts)
    running = [subprocess.Popen([*words, "--part", name]) for name in names]
    try:
        while any(process.poll() is None for process in running[len(kinds) :]):  # those that draw serve the others
            if left(args) < 1:
                say("stopped at the deadline")
                break
            if any(
                process.poll() and name.startswith("speed") for name, process in zip(names, running, strict=True)
            ):
                say("a process failed, and the others wait for it in vain")
                break
            time.sleep(0.2)
    finally:
        for process in running:
            process.terminate()


@contextmanager
def shared_card(args: argparse.Namespace) -> Iterator[None]:
    """With --mps start NVIDIA's service that lets processes compute at the same time, where that works."""
    program = shutil.which("nvidia-cuda-mps-control")
    if not args.mps or program is None:
        if args.mps:
            say("MPS: no nvidia-cuda-mps-control here")
        yield
        return
    folder = str((args.out / "mps").resolve())
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.environ |= {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
    tried = "import torch; torch.ones(8, device='cuda').sum().item()"
    try:
        subprocess.run([program, "-d"], timeout=15, check=True)
        subprocess.run([sys.executable, "-c", tried], timeout=40, check=True)
        say("MPS: on")
        works = True
    except (subprocess.SubprocessError, OSError) as error:
        say(f"MPS: off, {error}")
        works = False
    try:
        if not works:
            quit_service(program)
            del os.environ["CUDA_MPS_PIPE_DIRECTORY"], os.environ["CUDA_MPS_LOG_DIRECTORY"]
        yield
    finally:
        if works:
            quit_service(program)


def quit_service(program: str) -> None:
    """End the service."""
    try:
        subprocess.run([program], input=b"quit -t 1\n", timeout=10, check=False)
    except subprocess.SubprocessError as error:
        say(f"MPS: {error}")


def meet(folder: Path, place: int, args: argparse.Namespace) -> None:
    """Wait until all processes are here."""
    folder.mkdir(exist_ok=True)
    (folder / str(place)).touch()
    while len(list(folder.iterdir())) < args.jobs and left(args) > 0:
        time.sleep(0.02)
