"""``sightline demo``: every exam and model there is, on labels and on scenes of our own, ending in one card."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from sightline.cli import (
    audit_command,
    check_command,
    compare_command,
    exam_command,
    generate_command,
    import_command,
    report_command,
    stats_command,
    turing_command,
)
from sightline.cli.console import out
from sightline.errors import MissingExtraError

WEIGHTS: Final = "SIGHTLINE_WEIGHTS"
"""Environment variable that names the folder with weights of public networks."""

TRANSFER: Final = "object_class"
"""The baseline whose answers depend on what it learned from; it shows the transfer table."""

TRANSFERS: Final = ("within_image", "across_images", "joint")
"""What it learns from."""

SPLITS: Final = {
    "val_default": "new scenes of things it was trained with",
    "val_op": "shapes, sizes, colours and a material it was never shown",
}
"""The easiest and the hardest of GeoSpa's splits, in words."""


def command(
    to: Annotated[Path, typer.Option("--out", help="Folder for everything the demo makes.")] = Path("demo-out"),
    data: Annotated[Path | None, typer.Option(help="2.5VRD labels; found by itself, else simulated.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 works in this one.")] = 2,
    show: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the card; by default where there is a screen.")
    ] = None,
) -> None:
    """Import labels and generate scenes, describe and check both, let models take the exams, write the card."""
    from sightline.cli.demo_worlds import show_worlds

    begun = time.monotonic()
    card = to / "card.html"
    runs = [
        show_labels(to / "data", to / "runs", data or real_labels() or simulated_labels(to / "labels"), workers)
    ]
    network = has_torch()
    if network:
        runs += show_predicates(to / "predicates", to / "runs")
    turing_runs, story = show_turing(to / "turing", to / "runs")
    world_runs, pictures = show_worlds(to / "worlds", to / "runs")
    runs += [turing_runs, world_runs]
    say("report", *runs, "--attention --model sornet" if network else "", "--out", card)
    report_command.command(runs, card, attention=network, model="sornet" if network else "")
    seen = [("The report card: all exams, all models", card)]
    seen += [("The Turing exam: a story of unpredictable questions", story), *pictures]
    write_index(to / "index.html", seen)
    out.print(f"\nThe report card: {card}\nAll there is to see: {to / 'index.html'}")
    out.print(f"All of it in {time.monotonic() - begun:.0f} s.")
    if not network:
        out.print(f"Left out: the networks that come along; {MissingExtraError('torch', extra='torch')}")
    if has_screen() if show is None else show:
        webbrowser.open(card.resolve().as_uri())


def has_screen() -> bool:
    """Whether somebody sits before a screen on which a browser can show a page: not in CI, not behind a pipe."""
    shown = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return bool(shown and sys.stdout.isatty() and not os.environ.get("CI"))


def depth_networks() -> list[str]:
    """The depth networks that can be run here, as models of the relations exam: ours, and FastDepth."""
    ours = ["small_depth"] if has_torch() else []
    return [*ours, *_weights("depth:onnx={}", "fastdepth*.onnx", package="onnxruntime")]


def view_networks() -> list[str]:
    """The networks that can be run here to say viewpoints, in given boxes and in their own."""
    return ["viewnet"] if has_torch() else []


def detectors() -> list[str]:
    """The detectors that can be run here: ours, and EfficientDet."""
    ours = ["small_detector"] if has_torch() else []
    return [*ours, *_weights("tflite:{}", "efficientdet*.tflite", package="ai_edge_litert")]


def class_scorers() -> list[str]:
    """The networks that can be run here and know classes of streets: ours and EfficientDet, by their best boxes."""
    ours = [f"best_box+{network}" for network in view_networks()]
    return [*ours, *_weights("best_box+tflite:{}", "efficientdet*.tflite", package="ai_edge_litert")]


def _weights(spec: str, pattern: str, *, package: str) -> list[str]:
    """Models of the files in the folder of weights that fit a pattern; none without the package that runs them."""
    folder = Path(os.environ.get(WEIGHTS, Path("..") / "shared" / "weights"))
    return [spec.format(file) for file in sorted(folder.glob(pattern))] if find_spec(package) else []


def has_torch() -> bool:
    """Whether a trained network can be loaded."""
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def say(*words: object) -> None:
    """Print a command as a user would type it."""
    out.print(f"\n$ sightline {' '.join(filter(None, map(str, words)))}", style="bold")


def generate_scenes(
    world: str, to: Path, scenes: int, size: str, *, views: str = "original", **options: Any
) -> None:
    """Generate a dataset anew, and show the command."""
    more = [f"--{name}" if value is True else f"--{name} {value}" for name, value in options.items()]
    say("generate", world, "--scenes", scenes, "--views", views, *more, "--size", size, "--overwrite --out", to)
    generate_command.command(world, to, scenes, views, size=size, overwrite=True, **options)


def show_labels(stored: Path, runs: Path, source: Path, workers: int) -> Path:
    """Import, check and describe labels; let the blind rules take the relations exam; compare two."""
    from sightline.exams.base import run_name
    from sightline.exams.relations.exam import RelationsExam
    from sightline.exams.relations.pairs import SETTINGS
    from sightline.generation import open_any

    say("import", source, "--out", stored, "--overwrite")
    import_command.command(source, stored, overwrite=True)
    opened = open_any(stored)
    exam = RelationsExam().settled(opened)
    runs /= opened.fingerprint[:12]  # runs belong to their data: a demo on other data starts afresh
    say("check", stored)
    check_command.command(stored)
    say("stats", stored)
    stats_command.command(stored)
    say("audit", stored)
    audit_command.command(stored)
    take(exam, stored, runs, workers=workers)
    for plan in TRANSFERS if len(exam.training(opened)) == len(SETTINGS) else ():
        take(RelationsExam(study_plan=plan), stored, runs, [TRANSFER], baselines=False)
    one, other = (runs / exam.name / run_name(exam, name, opened) for name in ("bottom_edge", "class_prior"))
    say("compare", one, other)
    compare_command.command(one, other)
    return runs


def show_predicates(to: Path, runs: Path, scenes: int = 16, model: str = "sornet") -> list[Path]:
    """Let a trained network take the predicates exam over scenes of two splits; gives the folders of the runs."""
    import sightline
    from sightline.exams.predicates.exam import PredicatesExam

    weights = sightline.candidate(model).fingerprint[:12]  # other weights start afresh, as other data does
    folders = []
    for split in SPLITS:
        data = to / split
        generate_scenes(f"geospa/{split}", data, scenes, "480x320", views="original,top", canonical=2)
        folders.append(runs / f"{sightline.open(data).fingerprint[:12]}-{weights}")
        take(PredicatesExam(), data, folders[-1], [model])
    return folders


def show_turing(
    to: Path, runs: Path, train: int = 240, scenes: int = 12, size: str = "480x320", streams: int = 2
) -> tuple[Path, Path]:
    """Learn questions from many small scenes, ask about a few others; gives the runs, and a story's picture."""
    import sightline
    from sightline.exams.turing.exam import TuringExam

    learned, asked, story = to / "train", to / "test", to / "story.png"
    generate_scenes("geospa/train", learned, train, "96x64")
    generate_scenes("geospa/val_default", asked, scenes, size)
    data = sightline.open(asked)
    image = next(iter(data)).id
    say("turing ask", asked, "--train", learned, "--image", image, "--save", story)
    turing_command.ask(asked, image, learned, save=story)
    runs /= f"{data.fingerprint[:12]}-{sightline.open(learned).fingerprint[:12]}"
    take(TuringExam(train=learned, streams=streams), asked, runs)
    return runs, story


def take(exam: Any, data: Path, runs: Path, models: list[str] | None = None, **how: Any) -> None:
    """Let models take an exam, and show the command."""
    from sightline.exams.base import given_options

    words = [f"--{key.replace('_', '-')} {value}" for key, value in given_options(exam).items()]
    words += [f"--model {model}" for model in models or ()] + ["--no-baselines"] * (not how.get("baselines", True))
    words += [f"--workers {how.get('workers')}"] * bool(how.get("workers"))
    say("exam", exam.name, "--data", data, *words, "--out", runs)
    exam_command.take(exam, models or [], data, to=runs, **how)


def real_labels() -> Path | None:
    """The real 2.5VRD labels, where SIGHTLINE_DATA or ../shared/data has them."""
    folder = Path(os.environ.get("SIGHTLINE_DATA", Path("..") / "shared" / "data")) / "2.5vrd"
    return folder if folder.is_dir() else None


def simulated_labels(folder: Path) -> Path:
    """A simulated label set, for a machine without the real one."""
    from sightline.exams.relations import simulate

    out.print("the real 2.5VRD labels are not here (SIGHTLINE_DATA): simulating a small set instead")
    simulate(folder, images=400, seed=0)
    return folder


def write_index(page: Path, seen: list[tuple[str, Path]]) -> None:
    """A page with a link to everything, pictures shown."""
    from sightline.files import atomic_write

    atomic_write(page, _INDEX.format(items="\n".join(_item(page, *entry) for entry in seen)).encode())


def _item(page: Path, words: str, file: Path) -> str:
    place = quote(file.relative_to(page.parent).as_posix())
    picture = f'<div><img src="{place}" alt="" loading="lazy"></div>' if file.suffix == ".png" else ""
    return f'<li><a href="{place}">{escape(words)}{picture}</a></li>'


_INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sightline: demo</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
ul {{ list-style: none; padding: 0 }}
li {{ margin: 1rem 0 }}
div {{ max-height: 28rem; overflow: hidden; margin-top: .5rem }}
div {{ mask-image: linear-gradient(#000 25rem, transparent 28rem) }}
img {{ display: block; max-width: 100% }}
</style>
<h1>What the demo made</h1>
<ul>
{items}
</ul>
</html>
"""
