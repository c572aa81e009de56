"""The demo's fourth part: questions nobody can guess, put to those who never look."""

from __future__ import annotations

from pathlib import Path

from sightline.cli import exam_command, report_command, turing_command
from sightline.cli.demo_command import say
from sightline.cli.demo_worlds import generate_scenes


def show_turing(
    to: Path, train: int = 240, scenes: int = 12, size: str = "480x320", streams: int = 2
) -> list[tuple[str, Path]]:
    """Learn from many small scenes, ask about a few others; tell one story, and let the blind baselines sit.

    Returns what there is to see: a line about it, and the file.
    """
    import sightline

    learned, asked, story, page = to / "train", to / "test", to / "story.png", to / "report.html"
    generate_scenes("geospa/train", learned, train, "96x64", views="original")
    generate_scenes("geospa/val_default", asked, scenes, size, views="original")
    data = sightline.open(asked)
    image = next(iter(data)).id
    say("turing ask", asked, "--train", learned, "--image", image, "--save", story)
    turing_command.ask(asked, image, learned, save=story)
    runs = to / "runs" / f"{data.fingerprint[:12]}-{sightline.open(learned).fingerprint[:12]}"
    say("exam turing --data", asked, "--train", learned, "--streams", streams, "--out", runs)
    exam_command.command("turing", asked, to=runs, train=learned, streams=streams)
    say("report", runs, "--data", asked, "--out", page)
    report_command.command([runs], data=asked, to=page)
    return [
        ("the Turing exam: report card of those who never look", page),
        ("the Turing exam: a story of unpredictable questions", story),
    ]
