"""``sightline turing write``: streams of an exam as a written test."""

from __future__ import annotations

from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.cli.console import progress

if TYPE_CHECKING:
    from sightline.exams.turing.exam import TuringExam
    from sightline.store import Dataset


def write_out(
    exam: TuringExam, data: Dataset, to: Path, key: Path, *, images: int | None, overwrite: bool, quiet: bool
) -> dict[str, Any]:
    """Make the streams, write the test and its key; what was written, as JSON values."""
    from sightline.exams.turing.stream.written import write_test

    exam.check(None, data)
    by_image = groupby(exam.items(data), key=lambda item: item.scene_id)
    due = [item for _, own in islice(by_image, images) for item in own]
    streams = []
    with progress("streams", quiet=quiet) as update:
        for number, item in enumerate(due, start=1):
            streams.append(exam.stream(item))
            if update is not None:
                update(number, len(due))
    settings = {name: getattr(exam, name) for name in ("epsilon", "min_support", "questions")}
    about: dict[str, Any] = {"data": data.path.name, "source": data.source, "data_fingerprint": data.fingerprint}
    about |= {**exam.options(), "settings": settings}
    del about["seed"]  # who has it can run the engine on, and see which answer leads to the next line
    name = write_test(
        to, streams, data, exam.words, exam.training, key=key, view=exam.view, about=about, overwrite=overwrite
    )
    return {
        "test": str(to),
        "key": str(key),
        "id": name,
        "images": len({stream.scene_id for stream in streams}),
        "streams": len(streams),
        "questions": sum(len(stream.history) for stream in streams),
    }
