"""Scenes with every class removed in turn, drawn once and kept in files that several processes map."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

HEADER = "bank.json"
OPENCV = ("telea", "ns")


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
