"""Give every command thousands of spoilt inputs: each is accepted or refused by name, or is a finding.

    python tests/fuzz/fuzz.py [--seed 1] [--mutations 10000] [--seconds 600] [--area importers] [--write PAGE]
    python tests/fuzz/fuzz.py --seed 1 --area "import coco" --only 17      # one again, its folder kept

A finding is a traceback, an exit code that is neither 0 nor 2, an error that does not name the input, over 20
seconds of CPU, over 500 MB, something half-written, a script in a page, or a control character on the terminal.
Commands run inside worker processes, so that the death of one is a finding too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any

import typer.main

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent), str(_HERE.parent / "store" / "formats")]

CPU_SECONDS, WALL_SECONDS, MEGABYTES, ADDRESSES = 20.0, 180.0, 500.0, 5 << 30
WRITES_WHOLE = ("import", "export", "look", "report", "generate")
SCRIPTS = (b"<script>alert(1)", b"<img src=x onerror")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")


@dataclass(frozen=True)
class Outcome:
    """What came of one mutation: "accepted", "refused", or a finding with its details."""

    number: int
    kind: str
    what: str = ""
    detail: str = ""


def call(*words: object) -> tuple[int, str, str]:
    """Run a command in this process: exit code, standard output, standard error."""
    from sightline.cli import main

    out, err = io.StringIO(), io.StringIO()
    before, code = sys.argv, 0
    sys.argv = ["sightline", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def must(*words: object) -> None:
    """Run a command that has to succeed."""
    code, out, err = call(*words)
    if code:
        raise RuntimeError(f"sightline {' '.join(map(str, words))}: exit code {code}\n{out}{err}")


def attempt(area: str, seed: int, number: int, whole: Path, work: Path) -> Outcome:
    """Spoil a copy of an area's input and give it to one of its commands."""
    from fuzz_inputs import AREAS
    from mutations import spoil

    rng = Random(f"{seed}/{area}/{number}")
    shutil.rmtree(work, ignore_errors=True)
    folder, place = work / "in", work / "out"
    place.mkdir(parents=True)
    shutil.copytree(whole, folder, symlinks=True)
    names = {path.name for path in folder.rglob("*")}
    done = spoil(folder, rng)
    names |= {path.name for path in folder.rglob("*")}
    names = {name for name in names if "." in name[1:]} | {str(folder)}  # a name such as "a" stands in any sentence
    names |= {
        stem for stem in (Path(name).stem for name in names) if len(stem) > 8
    }  # a world is called by its stem
    words = [word.format(d=folder, o=place / "o") for word in rng.choice(AREAS[area].commands)]
    what = f"{', '.join(done)} | sightline {' '.join(words)}"
    begun, peak = time.process_time(), _peak()
    try:
        code, out, err = call(*words)
    except BaseException:  # whatever it is, it is the finding
        return Outcome(number, "traceback", what, traceback.format_exc())
    spent, grown = time.process_time() - begun, _peak() - peak
    problem = _problem(words, code, out, err, names, place)
    if not problem and spent > CPU_SECONDS:
        problem = f"took {spent:.0f} s"
    if not problem and grown > MEGABYTES:
        problem = f"took {grown:.0f} MB"
    if problem:
        return Outcome(number, problem, what, f"exit code {code}\n{out[-2000:]}{err[-3000:]}")
    return Outcome(number, "refused" if code else "accepted", what, err)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _problem(words: list[str], code: int, out: str, err: str, names: set[str], place: Path) -> str:
    """What is wrong with the outcome of a command; empty if nothing is."""
    if code not in (0, 2):
        return f"exit code {code}"
    if "Traceback (most recent call last)" in err:
        return "traceback printed"
    if CONTROL.search(out + err):
        return "control character printed"
    left = sorted(path.name for path in place.iterdir())
    if code and words[0] in WRITES_WHOLE and left:
        return f"half-written: {left[0]}"
    if any(name.startswith(".") or name.endswith((".new", ".tmp", "~")) for name in left):
        return f"left behind: {left[0]}"
    if any(script in page.read_bytes() for page in place.glob("*.html") for script in SCRIPTS):
        return "script in a page"
    if code and words[0] != "check":
        told = "".join(err.split())
        if not any("".join(name.split()) in told for name in names):
            return "error does not name the input"
    if not code and (place / "o" / "library.json").is_file():
        return _library_problem(place / "o")
    if not code and words[0] == "import":
        checked, report, problems = call("check", place / "o")
        if checked:
            return f"accepted, but unsound: {(report + problems)[:300]}"
    return ""


def _library_problem(folder: Path) -> str:
    """What is wrong with a written shape library; empty if nothing is."""
    from sightline.errors import SightlineError
    from sightline.worlds.shapes.baked import load_solids
    from sightline.worlds.shapes.library import read_library, shape_file

    try:
        for name in read_library(folder):
            load_solids(shape_file(folder, name))
    except SightlineError as error:
        return f"accepted, but unsound: {error}"
    return ""


def worker(pipe: Connection, area: str, seed: int, first: int, last: int, seconds: float, root: Path) -> None:
    """Attempt the mutations first … last − 1 of an area, while time is left; tell each outcome."""
    from fuzz_inputs import AREAS

    os.fsync = lambda _: None
    typer.main.get_command = lru_cache(
        typer.main.get_command
    )  # the commands stay as they are, and take long to make
    os.environ |= {
        "SIGHTLINE_CACHE": str(root / "cache"),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "1000",
        "TERM": "dumb",
    }
    whole, work = root / "whole" / area, root / f"work-{os.getpid()}"
    if not whole.exists():
        shutil.rmtree(part := root / f"part-{area}", ignore_errors=True)
        part.mkdir(parents=True)
        AREAS[area].build(part, must)
        whole.parent.mkdir(exist_ok=True)
        part.rename(whole)
    for words in AREAS[area].commands:  # imports and compiles what it needs, before anything is measured
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(whole, work / "in")
        code, out, err = call(*(word.format(d=work / "in", o=work / "o") for word in words))
        if code and area != "plan":
            raise RuntimeError(f"{area}: the whole input is refused by {' '.join(words)}\n{out}{err}")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    pipe.send("ready")
    begun = time.monotonic()
    for number in range(first, last):
        if time.monotonic() - begun > seconds:
            break
        pipe.send(attempt(area, seed, number, whole, work))
    shutil.rmtree(work, ignore_errors=True)
    pipe.send("done")


@dataclass
class _Job:
    """A worker process, the mutation it is at, and until when it is waited for."""

    process: Any
    area: str
    number: int
    last: int
    until: float
    patience: float
    ready: bool = False


def fuzz(
    areas: dict[str, int], seed: int, seconds: float, workers: int, root: Path
) -> Iterator[tuple[str, Outcome]]:
    """Attempt so many mutations of each area, some areas at a time, and yield what comes of them."""
    context = multiprocessing.get_context("spawn")
    share, end = seconds * workers / max(1, sum(areas.values())), time.monotonic() + seconds
    waiting = [(area, 0, count, count * share) for area, count in areas.items()]
    Random(seed).shuffle(waiting)
    running: dict[Any, _Job] = {}
    while waiting or running:
        if time.monotonic() > end:  # the areas left out are others under another seed
            waiting.clear()
        while waiting and len(running) < workers:
            area, first, last, budget = waiting.pop(0)
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=worker, args=(theirs, area, seed, first, last, budget, root))
            process.start()
            theirs.close()
            now = time.monotonic()
            running[ours] = _Job(process, area, first, last, now + budget, now + 2 * WALL_SECONDS)
        ready = wait(list(running), timeout=1.0)
        for pipe, job in list(running.items()):
            over = ""
            if pipe in ready:
                job.patience = time.monotonic() + WALL_SECONDS
                try:
                    told = pipe.recv()
                except EOFError:
                    job.process.join()
                    over = f"the process died ({job.process.exitcode})"
                else:
                    if isinstance(told, Outcome):
                        job.number = told.number + 1
                        yield job.area, told
                        continue
                    job.ready = True
                    if told == "ready":
                        continue
            elif time.monotonic() > job.patience:
                job.process.kill()
                over = f"took over {WALL_SECONDS:.0f} s"
            else:
                continue
            job.process.join()
            del running[pipe]
            if over:
                yield job.area, Outcome(job.number, over)
                left = job.until - time.monotonic()
                if job.ready and job.number + 1 < job.last and left > 0:
                    waiting.append((job.area, job.number + 1, job.last, left))


def table(counts: dict[str, Counter[str]]) -> str:
    """The table of docs/results/reliability.md."""
    rows = ["| area | mutations | accepted | refused | findings |", "|---|--:|--:|--:|--:|"]
    whole: Counter[str] = Counter()
    for part, count in [*counts.items(), ("all", whole)]:
        found = count.total() - count["accepted"] - count["refused"]
        rows.append(f"| {part} | {count.total():,} | {count['accepted']:,} | {count['refused']:,} | {found:,} |")
        whole.update(count)
    return "\n".join(rows)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options.add_argument("--mutations", type=int, default=10_500)
    options.add_argument("--seconds", type=float, default=float("inf"))
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options.add_argument("--area", default="", help="areas whose name or part contains this")
    options.add_argument("--only", type=int, help="this mutation of the one area, its folder kept")
    options.add_argument("--write", type=Path, help="write the table into this page")
    given = options.parse_args()
    from fuzz_inputs import AREAS

    alike = [name for name, area in AREAS.items() if given.area in name or given.area == area.part]
    chosen = {name: AREAS[name] for name in ([given.area] if given.area in AREAS else alike)}
    if not chosen:
        options.error(f"no area {given.area!r}: {', '.join(AREAS)}")
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="sightline-fuzz-", dir=memory if memory.is_dir() else None))
    if given.only is not None:
        return _again(next(iter(chosen)), given.seed, given.only, root)
    shares = sum(area.share for area in chosen.values())
    quota = {name: -int(-given.mutations * area.share // shares) for name, area in chosen.items()}
    counts: dict[str, Counter[str]] = {area.part: Counter() for area in chosen.values()}
    print(f"fuzz --seed {given.seed}: {sum(quota.values()):,} mutations of {len(quota)} inputs", flush=True)
    begun, seen, done = time.monotonic(), Counter[str](), Counter[str]()
    try:
        for area, outcome in fuzz(quota, given.seed, given.seconds, given.workers, root):
            counts[AREAS[area].part][outcome.kind] += 1
            done[area] += 1
            if done[area] % 100 == 0:
                print(f"{area}: {done[area]:,} of {quota[area]:,}, {time.monotonic() - begun:.0f} s", flush=True)
            if outcome.kind not in ("accepted", "refused"):
                last = outcome.detail.strip().splitlines()[-1:] or [""]
                seen[f"{area}: {outcome.kind}: {last[0][:160]}"] += 1
                print(
                    f"FINDING {area} --only {outcome.number}: {outcome.kind}\n  {outcome.what}\n{outcome.detail}",
                    flush=True,
                )
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for finding, times in seen.most_common():
        print(f"{times:5} × {finding}")
    print(f"{table(counts)}\nseed {given.seed}, {time.monotonic() - begun:.0f} s")
    if given.write:
        _write(given.write, table(counts), f"--seed {given.seed} --mutations {given.mutations}")
    return 1 if seen else 0


def _again(area: str, seed: int, number: int, root: Path) -> int:
    from fuzz_inputs import AREAS

    whole = root / "whole"
    whole.mkdir()
    AREAS[area].build(whole, must)
    outcome = attempt(area, seed, number, whole, root / "work")
    print(f"{outcome.kind}: {outcome.what}\n{outcome.detail}\n{root / 'work'}")
    return 0


def _write(page: Path, rows: str, options: str) -> None:
    text = page.read_text()
    begin, end = "<!-- mutations -->\n", "<!-- /mutations -->"
    head, _, rest = text.partition(begin)
    told = f"\n`python tests/fuzz/fuzz.py {options} --write {page.as_posix()}`\n\n"
    page.write_text(f"{head}{begin}{told}{rows}\n\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    sys.exit(main())
