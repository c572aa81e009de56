"""Specs of models: what is typed in the place of a model, how it is spelt and what it is made of.

A spec is one of::

    bottom_edge                          a name
    size:margin=0.05,overlap=0.01        a name with options
    path/to/file.py:object               an object, class or factory in a Python file
    path/to/predictions.csv              answers made elsewhere (2.5VRD prediction CSV; predicate answers and those
                                         to the Turing exam may also be .jsonl), or a detections CSV
    path/to/weights.safetensors          a model trained here: a SORNet, ViewNet, classifier, segmenter, DPM…
    path/to/training                     the same, by the folder that ``sightline train`` was given; takes options
    weights.safetensors:glances=5        a SORNet checkpoint with options
    answers:path/to/predictions.csv      the same
    bottom_edge+path/to/detections.csv   the first one relates or says viewpoints, the second one detects
    onnx:depth.onnx+tflite:boxes.tflite  a depth estimator and a detector: relations by the Depth rule
    blind_mlp+viewnet.safetensors        the same with a detector trained here
    tflite:path/to/detector.tflite       a network in a file of another runtime: tflite, onnx
    best_box+mine.py:Detector            class scores of any detector; pixel_share+ of any segmenter
    hf:folder, hf:org/name               a model of transformers: its config says what it can do
    openai:NAME, openai:BASE_URL#NAME    a vision-language model behind an OpenAI-compatible server
    http:url=http://localhost:8000/answer  a model behind a server of one's own
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sightline.errors import ModelError
from sightline.models.manifest import MANIFEST, ModelEntry, alone, has_entry
from sightline.models.options import parse

PYTHON: Final = re.compile(r"(.+\.py):([^\W\d]\w*)")
WEIGHTS: Final = re.compile(r"(.+?\.safetensors)(?::(.*))?", re.IGNORECASE)


def canonical(spec: str) -> str:
    """The one spelling of a spec: files below the working directory by their path from there, others by the whole.

    >>> canonical("./models//mine.py:Net")
    'models/mine.py:Net'
    """
    return "+".join(_canonical_one(part) for part in parts_of(spec))


def trained(spec: str) -> str:
    """A spec as it is, but for the folder of a training: the checkpoint in there, with the options given."""
    folder, colon, options = (spec, "", "") if is_there(Path(spec) / "plan.json") else spec.partition(":")
    if not folder or not is_there(Path(folder) / "plan.json"):
        return spec
    weights = [path for path in Path(folder).iterdir() if path.suffix == ".safetensors"]
    if len(weights) != 1:
        raise ModelError(
            f"{folder}: a training that is not finished: {len(weights)} checkpoints in there, expected 1"
        )
    return f"{weights[0]}{colon}{options}"


def _canonical_one(spec: str) -> str:
    spec = trained(spec)
    head, _, rest = spec.partition(":")
    if has_entry(head):
        lone = alone(head)
        given = parse(head, rest, lone) if ("=" in rest or lone) and not rest.startswith("//") else {}
        return f"{head}:{_options(given, lone)}" if given else spec
    if weights := WEIGHTS.fullmatch(spec):
        options = _options(parse(weights[1], weights[2] or ""))
        return f"{_spelled(weights[1])}{':' if options else ''}{options}"
    if python := PYTHON.fullmatch(spec):
        return f"{_spelled(python[1])}:{python[2]}"
    return _spelled(spec) if is_answers(spec) else spec


def _options(given: Mapping[str, str], lone: str = "") -> str:
    """Options as text, files by one spelling; the one that may stand alone in front."""
    return ",".join(
        f"{'' if key == lone else f'{key}='}{_spelled(value) if is_there(Path(value)) else value}"
        for key, value in sorted(given.items(), key=lambda item: item[0] != lone)
    )


def _spelled(path: str) -> str:
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link keeps its own name
    return str(whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else whole)


def is_blind(spec: str) -> bool:
    """Whether a spec relates by one of the built-in rules and priors that never look at a picture.

    >>> is_blind("size:margin=0.1"), is_blind("mine.py:Net")
    (True, False)
    """
    entry = built_in(spec)
    return entry is not None and entry.blind


def is_person(spec: str) -> bool:
    """Whether a spec stands for a person, who has to be there to answer.

    >>> is_person("human:name=anna"), is_person("size")
    (True, False)
    """
    return spec.partition(":")[0] == "human"


def needs_training(spec: str) -> bool:
    """Whether a spec is a built-in model that cannot answer without a training split.

    >>> needs_training("size_tuned"), needs_training("size")
    (True, False)
    """
    entry = built_in(spec)
    return entry is not None and entry.learns


def shown_name(spec: str) -> str:
    """The spec without the folders of the files it names."""
    return re.sub(r"[^=,:]*[/\\]", "", spec)


def parts_of(spec: str) -> list[str]:
    """The spec, or its two halves where a plus joins two specs; a plus may also stand in a file's name."""
    for plus in re.finditer(r"\+", spec):
        halves = [spec[: plus.start()], spec[plus.end() :]]
        if all(map(_stands_alone, halves)):
            return halves
    return [spec]


def paths_of(spec: str) -> list[Path]:
    """Existing files and folders that one spec names."""
    head, _, rest = spec.partition(":")
    if has_entry(head):
        named = [Path(value) for value in parse(head, rest, alone(head)).values()]
    elif weights := WEIGHTS.fullmatch(spec):
        named = [Path(weights[1]), *map(Path, parse(weights[1], weights[2] or "").values())]
    else:
        python = PYTHON.fullmatch(spec)
        named = [Path(python[1] if python else spec)]
    return [path for path in named if is_there(path)]


def is_there(path: Path) -> bool:
    """Whether there is such a file or folder; what can be no name for one is not."""
    try:
        return path.exists()
    except (OSError, ValueError):  # an address or a number may be no name for a file
        return False


def _stands_alone(spec: str) -> bool:
    """Whether this is a spec that a plus may join to another."""
    named = has_entry(spec.partition(":")[0]) or PYTHON.fullmatch(spec) or WEIGHTS.fullmatch(spec)
    return bool(named) or spec.lower().endswith(".csv")


def is_answers(spec: str) -> bool:
    """Whether a spec is a file of answers by its name."""
    return Path(spec).suffix.lower() in (".csv", ".jsonl")


def built_in(spec: str) -> ModelEntry | None:
    """The entry of a spec's first part, unless it is not one of the built-in models."""
    return MANIFEST.get(parts_of(spec)[0].partition(":")[0])
