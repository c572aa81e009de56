"""Pictures a second that each kind of network is taught with, alone and side by side: `context.py throughput`."""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import time
from typing import Any

from _context_banks import task_of
from _context_plan import PAINTER, Run, groups
from _context_processes import meet, say, shared_card, side_by_side

TIMED = ("light-const-full-0", "street-hardnegative-negative", "vgg-const-full-0", PAINTER)
"""What `throughput` times, one of each kind of network."""


def throughput(known: dict[str, Run], args: argparse.Namespace) -> None:
    """Time each kind of network alone and side by side; print how long the groups would take."""
    shutil.rmtree(args.out / "speed", ignore_errors=True)
    with shared_card(args):
        side_by_side([f"speed-{i}" for i in range(args.jobs)], list(TIMED), known, args)
    rates: dict[str, dict[str, float]] = {}
    for file in sorted((args.out / "speed").glob("*.json")):
        phase = json.loads(file.read_text())
        one = rates.setdefault(phase["name"], {})
        one[phase["with"]] = one.get(phase["with"], 0.0) + phase["rate"]
    for name, one in rates.items():
        say(name, ", ".join(f"{rate:.0f} pictures/s {word}" for word, rate in one.items()))
    for group, names in groups(known, args.net).items():
        of = [pictures_of(known[name]) for name in names if name in known]
        kind = next((one for one in TIMED if one.startswith(names[0].split("-")[0].replace("three", "street"))), "")
        if of and kind in rates:
            rate = max(rates[kind].values())
            say(f"{group}: {len(of)} trainings, {sum(of):,.0f} pictures, {sum(of) / rate:.0f} s at {rate:.0f}/s")


def pictures_of(run: Run) -> float:
    """Pictures that a training is shown, about: with 2.86 edits a scene, 3.42 where scenes show several classes."""
    edits = {"none": 0.0, "const": run.settings.get("share", 0.0) * (3.42 if run.part == "cooccur" else 2.86)}
    return float(run.settings["steps"] * run.settings["batch"] * (1 + edits.get(run.settings["removal"], 1.0)))


def speed(place: int, known: dict[str, Run], args: argparse.Namespace) -> None:
    """Time the networks in this process, in step with the others."""
    import torch

    torch.set_float32_matmul_precision("high")
    folder = args.out / "speed"
    folder.mkdir(parents=True, exist_ok=True)
    for name in TIMED:
        for count in (1,) if name in TIMED[2:] else (1, args.jobs):
            phase = f"{TIMED.index(name)}-{count}"
            step = stepper(name, known, args) if place < count else None
            for _ in range(8) if step else ():
                step()  # type: ignore[misc]
            meet(folder / f"{phase}-begin", place, args)
            if step is not None:
                seen, begun = 0, time.time()
                while time.time() - begun < args.seconds:
                    seen += step()
                if torch.cuda.is_available():
                    torch.cuda.synchronize()
                rate = seen / (time.time() - begun)
                word = "alone" if count == 1 else f"by {count} processes"
                facts = {"name": name, "with": word, "rate": rate}
                (folder / f"{phase}-{place}.json").write_text(json.dumps(facts))
            meet(folder / f"{phase}-end", place, args)
            step = None
            gc.collect()


def stepper(name: str, known: dict[str, Run], args: argparse.Namespace) -> Any:
    """A function that does one step of a training and tells how many pictures that were."""
    import torch

    from sightline.training.inpainter.task import InpainterPlan, InpainterTask
    from sightline.training.learner import Learner

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == PAINTER:
        shrink = 1 if args.resolution is None else 4
        plan = InpainterPlan(width=22, batch=64 // shrink, side=256 // shrink)
        task: Any = InpainterTask(plan, RandomPairs((64 // shrink, 320 // shrink, 480 // shrink), device))
    else:
        task = task_of(known[name], args)
    learner = Learner(task).to(device)
    learner.mean = [mean.to(device) for mean in learner.mean]
    optimizer = learner.configure_optimizers()
    loader = iter(task.source.loader(0, 10**9))
    done = 0

    def step() -> int:
        nonlocal done
        with torch.autocast(device.type, torch.bfloat16, enabled=task.plan.precision == "bf16"):
            loss, _ = task.loss(next(loader), done)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
        return int(task.counts(done - 1)["images"])

    return step


class RandomPairs:
    """Pictures of noise in place of scenes with and without an object, to time the in-painter with."""

    def __init__(self, shape: tuple[int, int, int], device: Any) -> None:
        self.shape, self.device = shape, device

    def loader(self, start: int, stop: int) -> Any:
        """Numbers of steps."""
        return range(start, stop)

    def pairs(self, _: int) -> Any:
        """Noise with a square in the middle."""
        import torch

        from sightline.training.inpainter.pairs import ScenePairs

        before, after = (
            torch.randint(0, 256, (*self.shape, 3), dtype=torch.uint8, device=self.device) for _ in range(2)
        )
        mask = torch.zeros(self.shape, dtype=torch.bool, device=self.device)
        height, width = self.shape[1:]
        mask[:, height // 3 : height // 2, width // 3 : width // 2] = True
        return ScenePairs(before, after, mask)
