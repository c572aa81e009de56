"""Scenes with every class removed in turn, drawn once, in files that several processes map; tasks made of them."""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import shutil
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from _context_plan import Bank, Run
from _context_processes import left, say

HEADER = "bank.json"
OPENCV = ("telea", "ns")
LEAST_S = 35
"""Seconds that must be left to begin what nobody has timed."""
_held: dict[Bank, Any] = {}


def drawn(bank: Bank, args: argparse.Namespace) -> Any:
    """The scenes of a bank on the device: made here, or mapped from where another process makes them.

    Of scenes to learn from only one bank is held.
    """
    import torch

    if bank not in _held:
        if not bank.seed:
            for other in [other for other in _held if not other.seed]:
                del _held[other]
            gc.collect()
        folder = bank_folder(bank, args)
        if args.part:
            waited_for(folder, args)
            _held[bank] = load_bank(folder, "cuda" if torch.cuda.is_available() else "cpu")
        else:
            _held[bank] = made(bank, args)
    return _held[bank]


def bank_folder(bank: Bank, args: argparse.Namespace) -> Path:
    """Where the scenes of a bank lie, by what they depend on but the renderer: a new one wants a new folder."""
    from sightline.worlds import load_world

    text = repr((bank, [load_world(name) for name, _ in bank.worlds]))
    name = bank.worlds[0][0].replace("/", "-")
    return Path(args.banks or args.out / "banks") / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def waited_for(folder: Path, args: argparse.Namespace) -> None:
    """Wait until another process has drawn a bank."""
    while not (folder / HEADER).exists():
        if left(args) < LEAST_S or folder.with_name(f"{folder.name}.failed").exists():
            raise RuntimeError(f"{folder}: not drawn in time")
        time.sleep(0.1)


def made(bank: Bank, args: argparse.Namespace) -> Any:
    """Draw the scenes of a bank."""
    import torch

    from sightline.edits.removal import Removal
    from sightline.training.context.painters import painter_of
    from sightline.training.context.scenes import edited_scenes
    from sightline.worlds import load_world

    loaded = [load_world(name) for name, _ in bank.worlds]
    if bank.view is not None:
        loaded = [replace(world, resolution=bank.view) for world in loaded]
    begun = time.time()
    scenes = edited_scenes(
        dict(bank.worlds),
        loaded,
        seed=bank.seed,
        painter=opencv_painter(bank.fill) if bank.fill in OPENCV else painter_of(bank.fill),
        fill=bank.fill,
        removal=Removal(radius=bank.radius),
        classes=bank.classes,
        size=None if bank.size is None else (bank.size, bank.size),
        labelled=bank.labelled,
        workers=args.workers,
        cuda=torch.cuda.is_available(),
    )
    pictures, spent = len(scenes) + len(scenes.edits), time.time() - begun
    counted = f"{len(scenes)} scenes, {len(scenes.edits)} edits ({bank.fill})"
    names = ", ".join(name for name, _ in bank.worlds)
    say(f"drawn {names}: {counted} in {spent:.1f} s, {pictures / spent:.0f} pictures/s")
    return scenes


def draw(banks: list[Bank], args: argparse.Namespace) -> None:
    """Draw banks into files, one after the other."""
    import torch

    for bank in banks:
        folder = bank_folder(bank, args)
        if not (folder / HEADER).exists():
            try:
                begun = time.time()
                scenes = made(bank, args)
                save_bank(scenes, folder)
                say(f"{folder.name}: kept, {time.time() - begun:.1f} s in all")
            except Exception:  # the others may still be drawn
                folder.parent.mkdir(parents=True, exist_ok=True)
                folder.with_name(f"{folder.name}.failed").touch()
                traceback.print_exc()
            scenes = None
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def task_of(run: Run, args: argparse.Namespace) -> Any:
    """The task of a training, with its scenes."""
    from sightline.training.context.plan import ClassifierPlan, SegmenterPlan
    from sightline.training.context.task import ClassifierTask, EditedSource, SegmenterTask

    plan: Any = ClassifierPlan(**run.settings) if run.kind == "classifier" else SegmenterPlan(**run.settings)
    source = EditedSource(
        drawn(run.bank, args),
        batch=plan.batch,
        seed=plan.seed,
        part=run.part,
        among=run.among,  # type: ignore[arg-type]
    )
    return ClassifierTask(plan, source) if run.kind == "classifier" else SegmenterTask(plan, source)


def opencv_painter(fill: str) -> Any:
    """Fill holes by OpenCV as the context exam does, a picture a thread; a painter for `edited_scenes`."""
    import cv2
    import torch

    from sightline.edits.fills import NEIGHBOURHOOD

    how = {"telea": cv2.INPAINT_TELEA, "ns": cv2.INPAINT_NS}[fill]

    def one(pair: Any) -> Any:
        return cv2.inpaint(pair[0], pair[1].astype(np.uint8), float(NEIGHBOURHOOD), how)

    def paint(pictures: Any, holes: Any, _: Any) -> Any:
        with ThreadPoolExecutor() as pool:
            filled = list(pool.map(one, zip(pictures.cpu().numpy(), holes.cpu().numpy(), strict=True)))
        return torch.from_numpy(np.stack(filled)).to(pictures.device)

    return paint


def save_bank(scenes: Any, folder: Path) -> None:
    """Write scenes to a folder, an array a file; it appears under its name when it is complete."""
    import torch

    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    header: dict[str, Any] = {"classes": scenes.classes, "things": scenes.things, "facts": dict(scenes.facts)}
    header["arrays"] = {}
    for name in array_names():
        tensor = getattr(scenes, name)
        if tensor is None:
            continue
        kind = str(tensor.dtype).removeprefix("torch.")
        header["arrays"][name] = {"dtype": kind, "shape": list(tensor.shape)}
        if tensor.numel():
            mapped = np.memmap(fresh / f"{name}.bin", dtype=kind, mode="w+", shape=tuple(tensor.shape))
            torch.from_numpy(mapped).copy_(tensor)
    (fresh / HEADER).write_text(json.dumps(header))
    fresh.rename(folder)


def load_bank(folder: Path, device: str) -> Any:
    """Map scenes from a folder, and copy them to a device that is not the CPU."""
    import torch

    from sightline.training.context.scenes import EditedScenes

    header = json.loads((folder / HEADER).read_text())
    arrays: dict[str, Any] = {}
    for name in array_names():
        about = header["arrays"].get(name)
        if about is None:
            arrays[name] = None
        elif 0 in about["shape"]:
            arrays[name] = torch.zeros(about["shape"], dtype=getattr(torch, about["dtype"]), device=device)
        else:
            mapped = np.memmap(folder / f"{name}.bin", about["dtype"], "c", shape=tuple(about["shape"]))
            arrays[name] = torch.from_numpy(mapped).to(device)
    return EditedScenes(classes=tuple(header["classes"]), things=header["things"], facts=header["facts"], **arrays)


def array_names() -> list[str]:
    """Fields of the scenes that are tensors."""
    from sightline.training.context.scenes import EditedScenes

    return [one.name for one in fields(EditedScenes) if one.name not in ("classes", "things", "facts")]
