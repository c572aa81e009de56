"""Models by name: a frozen manifest, entry points of other packages, Python files and prediction files.

Nothing is imported until it is asked for. A spec is one of::

    bottom_edge                          a name
    size:margin=0.05,overlap=0.01        a name with options
    path/to/file.py:object               an object, class or factory in a Python file
    path/to/predictions.csv              answers made elsewhere (2.5VRD prediction CSV; predicate answers and those
                                         to the Turing exam may also be .jsonl), or a detections CSV
    path/to/weights.safetensors          a model trained here: a SORNet, ViewNet, classifier, segmenter, DPM…
    path/to/training                     the same, by the folder that ``sightline train`` was given
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

import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, file_digest
from importlib.metadata import entry_points
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sightline.errors import MissingExtraError, ModelError, SightlineError
from sightline.exams.base import Candidate, Exam
from sightline.exams.registry import EXAMS, exam_class
from sightline.exams.run import UNKNOWN_MODEL
from sightline.hints import did_you_mean
from sightline.models.composite import Composite, own_model, with_depth_rule
from sightline.models.identity import object_fingerprint
from sightline.models.options import bind, parse, spelling_of
from sightline.skills import skills_of
from sightline.text import without_secrets

_PYTHON = re.compile(r"(.+\.py):([^\W\d]\w*)")
_WEIGHTS = re.compile(r"(.+?\.safetensors)(?::(.*))?", re.IGNORECASE)

_REMOTE: Final = ("http", "openai")
"""Models that are known by what they say of themselves, whatever files happen to have their names."""

GROUP: Final = "sightline.models"
"""Entry point group in which other packages announce their models."""


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model that can be asked for by name.

    Attributes:
        name: What the user types.
        path: ``module:attribute`` of a class or factory.
        description: One line.
        skills: Skills it will have; empty where only importing it would tell.
        options: Constructor arguments set in advance.
        blind: What a picture shows has no part in what it says.
        learns: It cannot answer without a training split.
        alone: Option whose value may stand alone behind the name, as in ``onnx:FILE``.
        needs: Packages that must be installed beside the usual ones.
        extra: Extra of Sightline that brings them.
    """

    name: str
    path: str
    description: str
    skills: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    blind: bool = False
    learns: bool = False
    alone: str = ""
    needs: tuple[str, ...] = ()
    extra: str = ""

    @property
    def installed(self) -> bool:
        """Whether all packages it needs are there."""
        return all(find_spec(package) is not None for package in self.needs)


_LANGUAGE: Final = "relate, predicates, answer, viewpoint"
_EVERY: Final = "relate, detect, predicates, answer, viewpoint, classify, segment, estimate_depth"
_TUNED: Final = {"margin": "tuned"}
_PRIOR: Final = "commoner answer given the {} of both, cross-fitted by scene"
# (skills, module below sightline.models) → name, class or factory, description, flags, preset options
_BUILT_IN: Final[dict[tuple[str, str], list[tuple[str, str, str, str, dict[str, Any]]]]] = {
    ("relate", "baselines.labels"): [
        ("random", "Random", "a fair die, seeded by cluster", "blind", {}),
        ("majority", "Majority", "always the training split's commonest label", "blind learns", {}),
        ("object_class", "ObjectClass", "the class pair's commonest label in training", "blind learns", {}),
        ("class_prior", "BlindClassPrior", "class-pair prior cross-fitted by cluster", "blind", {}),
    ],
    ("relate", "baselines.rules"): [
        ("size", "Size", "the larger box is closer, Δ = 0", "blind", {}),
        ("size_tuned", "Size", "size, Δ tuned on training", "blind learns", _TUNED),
        ("location", "Location", "the lower box centre is closer, Δ = 0.02", "blind", {}),
        ("location_tuned", "Location", "location, Δ tuned on training", "blind learns", _TUNED),
        ("bottom_edge", "BottomEdge", "the lower bottom edge is closer, Δ = 0", "blind", {}),
        ("bottom_edge_tuned", "BottomEdge", "bottom edge, Δ tuned", "blind learns", _TUNED),
    ],
    ("relate, estimate_depth", "baselines.depth"): [
        ("depth", "depth", "the smaller mean depth is closer; folder=PATH or onnx=PATH", "", {}),
        ("depth_tuned", "depth", "depth, Δ tuned; folder=PATH", "learns", _TUNED),
        ("onnx_depth", "onnx_depth", "depth rule on an ONNX depth network; path=PATH", "", {}),
    ],
    ("relate", "relations.model"): [
        ("blind_mlp", "blind_mlp", "a network on boxes and classes, trained on 2.5VRD's validation", "blind", {}),
        ("consistent", "consistent", "the same, its answers read off one depth order", "blind", {}),
    ],
    ("relate", "adapters.answers"): [
        ("predictions", "Predictions", "answers from a 2.5VRD prediction CSV; path=PATH", "", {})
    ],
    ("detect", "adapters.answers"): [
        ("detections", "DetectionsFile", "boxes from a detections CSV; path=PATH", "", {})
    ],
    ("detect", "dpm.model"): [
        ("vdpm", "vdpm", "deformable part models: DPM, VDPM or DPM-VOC+VP; vdpm:FILE", "file", {})
    ],
    ("predicates", "baselines.predicates"): [
        ("predicates_majority", "PredicatesMajority", "always the data's commoner answer", "blind", {}),
        ("shape_prior", "LookPrior", _PRIOR.format("shape"), "blind", {"looks": "shape"}),
        ("size_prior", "LookPrior", _PRIOR.format("size"), "blind", {"looks": "size"}),
        ("shape_size_prior", "LookPrior", _PRIOR.format("shape and size"), "blind", {"looks": "shape+size"}),
    ],
    ("predicates", "adapters.answers"): [
        ("predicate_answers", "PredicateAnswers", "predicate answers from a CSV or JSONL; path=PATH", "", {})
    ],
    ("relate, estimate_depth", "tabletop"): [
        ("small_depth", "small_depth", "depth rule on a small depth network that comes along", "", {})
    ],
    ("detect", "tabletop"): [
        ("small_detector", "small_detector", "finds things on a table; a small network that comes along", "", {})
    ],
    ("detect, viewpoint", "viewnet"): [
        ("viewnet", "shipped", "finds PASCAL3D+'s classes and their viewpoints; a network that comes along", "", {})
    ],
    ("predicates", "sornet"): [("sornet", "shipped", "the trained SORNet that comes with Sightline", "", {})],
    ("answer", "baselines.turing"): [
        ("always_yes", "Always", "yes to every question", "blind", {"word": "yes"}),
        ("always_no", "Always", "no to every question", "blind", {"word": "no"}),
        ("coin", "Coin", "a fair coin, seeded by question and history", "blind", {}),
        ("turing_engine", "TuringEngine", "yes where the engine's own estimate says so", "blind learns", {}),
        ("turing_history", "TuringHistory", "learned from questions and true answers", "blind learns", {}),
    ],
    ("answer", "baselines.turing_logician"): [
        ("turing_logician", "TuringLogician", "what follows by logic, else what is usual", "blind learns", {})
    ],
    ("answer", "baselines.statements"): [
        ("statement_majority", "StatementPrior", "the label commoner of other images", "blind", {"by": "all"}),
        ("relation_majority", "StatementPrior", "the same, of statements with that relation", "blind", {}),
    ],
    ("viewpoint", "baselines.viewpoint"): [
        ("view_commonest", "ViewPrior", "the commonest of 8 views of the class", "blind", {"by": "commonest"}),
        ("view_mean", "ViewPrior", "the class's mean direction", "blind", {"by": "mean"}),
        ("view_uniform", "ViewPrior", "any azimuth, seeded by scene", "blind", {"by": "uniform"}),
    ],
    ("viewpoint", "adapters.answers"): [
        ("viewpoint_answers", "ViewpointAnswers", "viewpoints from a CSV or JSONL; path=PATH", "", {})
    ],
    ("classify", "baselines.context"): [
        ("chance", "ChanceScores", "logits at random, seeded by the picture's pixels", "blind", {}),
        ("class_frequency", "FrequencyPrior", "log odds of a class's frequency", "blind", {}),
        ("cooccurrence", "CooccurrencePrior", "naive Bayes of a class given the others there", "blind", {}),
        ("pixel_count", "PixelCount", "the class's true pixels: inequality (1) always holds", "", {}),
        ("context_only", "ContextOnly", "the number of other classes: inequality (1) never holds", "", {}),
    ],
    ("relate, detect, predicates, answer, viewpoint, classify", "adapters.answers"): [
        ("answers", "open_answers", "answers made elsewhere, of any exam, or detections; answers:FILE", "file", {})
    ],
    ("relate, detect, classify, segment, estimate_depth", "adapters.tflite"): [
        ("tflite", "tflite", "a TensorFlow Lite network, described beside it; tflite:FILE", "file", {})
    ],
    ("relate, detect, classify, segment, estimate_depth", "adapters.onnx"): [
        ("onnx", "onnx", "an ONNX network, described beside it; onnx:FILE", "file", {})
    ],
    ("classify", "picture_nets"): [
        ("classifier", "classifier", "a classifier trained here; classifier:FILE", "file", {})
    ],
    ("segment", "picture_nets"): [
        ("segmenter", "segmenter", "a segmenter trained here or by transformers; segmenter:FILE", "file", {})
    ],
    ("classify", "composite"): [
        ("best_box", "BestBox", "class scores of a detector; best_box+DETECTOR", "", {}),
        ("pixel_share", "PixelShare", "class scores of a segmenter; pixel_share+SEGMENTER", "", {}),
    ],
    (_EVERY, "adapters.hf"): [
        ("hf", "hf", "a model of transformers, as its config says; hf:FOLDER or hf:ORG/NAME", "file", {})
    ],
    (_LANGUAGE, "adapters.chat"): [
        ("openai", "openai", "an OpenAI-compatible endpoint; openai:MODEL or openai:BASE_URL#MODEL", "model", {}),
        ("http", "http", "a server of your own: skill answer; url=URL, or with kind=chat,model=NAME", "", {}),
    ],
    (_LANGUAGE, "adapters.vlm"): [
        ("vlm", "VisionLanguage", "a vision-language model; path=FOLDER or hub=ORG/NAME", "", {})
    ],
    ("answer", "adapters.human"): [
        ("human", "Human", "a person at this machine; name=NAME, web=true for a browser", "", {})
    ],
}

_NEEDS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "sornet": (("torch", "safetensors"), "torch"),
    "tabletop": (("torch", "safetensors"), "torch"),
    "viewnet": (("torch", "safetensors"), "torch"),
    "picture_nets": (("torch", "safetensors"), "torch"),
    "relations.model": (("torch", "safetensors"), "torch"),
    "adapters.vlm": (("torch", "transformers"), "vlm"),
    "adapters.hf": (("torch", "transformers"), "vlm"),
    "adapters.onnx": (("onnxruntime",), "onnx"),
    "adapters.tflite": (("ai_edge_litert",), "tflite"),
}
"""Module → packages it needs beside the usual ones, and the extra that brings them."""
_NEEDS_OF: Final = {"onnx_depth": (("onnxruntime",), "onnx")}
"""The same of single models."""

MANIFEST: Final[Mapping[str, ModelEntry]] = MappingProxyType(
    {
        name: ModelEntry(
            name,
            f"{__package__}.{module}:{maker}",
            text,
            tuple(skills.split(", ")),
            options,
            "blind" in flags,
            "learns" in flags,
            "path" if "file" in flags else "model" if "model" in flags else "",
            *_NEEDS_OF.get(name, _NEEDS.get(module, ((), ""))),
        )
        for (skills, module), rows in _BUILT_IN.items()
        for name, maker, text, flags, options in rows
    }
)
"""Models that come with Sightline, by name."""


def available() -> list[ModelEntry]:
    """Every model that has a name, built in first."""
    return list(_entries().values())


def exams_of(skills: Sequence[str]) -> tuple[str, ...]:
    """Names of the exams that a model with these skills can take, with some of their options at least.

    >>> exams_of(["answer"])
    ('turing', 'statements', 'context')
    """
    names = []
    for name in EXAMS:
        groups = [exam.skills for exam in _variants(exam_class(name))]
        if any(set(group) <= set(skills) for several in groups for group in several):
            names.append(name)
    return tuple(names)


def _variants(kind: type[Exam[Any]]) -> list[Exam[Any]]:
    """An exam with its defaults, and where boxes may be a model's own also with those."""
    words = getattr(kind, "boxes", "")  # the default: truth or given
    others = {"truth": ("detected", "perfect"), "given": ("detected",)}.get(words, ())
    return [kind(), *(kind(boxes=word) for word in others)]  # type: ignore[call-arg]


def load(spec: str, wanted: Sequence[str] = ()) -> object:
    """Load the model a spec stands for (see the module's docstring), with a display `name` where it can take one.

    Args:
        spec: The spec.
        wanted: Skills that are looked for. They choose nothing; an error about a file of answers names the columns
            that such a file has.

    Raises:
        ModelError: No such model, or it cannot be loaded.
        ConfigError: An option it does not have, or a value that does not fit.

    >>> load("location:margin=0.1").facts()["margin"]
    0.1
    """
    parts = _parts(spec)
    if len(parts) == 2:
        return Composite(load(parts[0], wanted or ("relate",)), load(parts[1], ("detect",)))
    model = with_depth_rule(_loader(spec, wanted)())
    if not getattr(model, "name", None):
        with suppress(AttributeError, TypeError):  # frozen or slotted: name_of still knows
            model.name = _display(without_secrets(spec))
    return model


def candidate(model: object, name: str = "", *, wanted: Sequence[str] = ()) -> Candidate:
    """Make a model ready for an exam: given by a spec, or as an object with a skill.

    Args:
        model: A spec (see the module's docstring), or the model itself.
        name: How tables and folders call it; by default its own `name`, else its spec or its type's.
        wanted: Skills that are looked for (see `load`).
    """
    if not isinstance(model, str):
        called = name or name_of(model)
        hashed = object_fingerprint(model)
        model = with_depth_rule(model)
        return Candidate(spec=called, name=called, model=model, fingerprint=hashed, loadable=False)
    spec = canonical(model)
    loaded = load(spec, wanted)
    hashed, shown = spec_fingerprint(spec, loaded), without_secrets(spec)
    called = name or name_of(loaded, shown)
    return Candidate(shown, called, loaded, fingerprint=hashed, called=name, private="" if shown == spec else spec)


def canonical(spec: str) -> str:
    """The one spelling of a spec: files below the working directory by their path from there, others by the whole.

    >>> canonical("./models//mine.py:Net")
    'models/mine.py:Net'
    """
    return "+".join(_canonical_one(part) for part in _parts(spec))


def _trained(spec: str) -> str:
    """A spec as it is, but for the folder of a training: the checkpoint in there."""
    if not spec or not _is_there(Path(spec) / "plan.json"):
        return spec
    weights = [path for path in Path(spec).iterdir() if path.suffix == ".safetensors"]
    if len(weights) != 1:
        raise ModelError(
            f"{spec}: a training that is not finished: {len(weights)} checkpoints in there, expected 1"
        )
    return str(weights[0])


def _canonical_one(spec: str) -> str:
    spec = _trained(spec)
    head, _, rest = spec.partition(":")
    if _has_entry(head):
        alone = _alone(head)
        given = parse(head, rest, alone) if ("=" in rest or alone) and not rest.startswith("//") else {}
        values = [
            f"{'' if key == alone else f'{key}='}{_spelled(value) if _is_there(Path(value)) else value}"
            for key, value in sorted(given.items(), key=lambda item: item[0] != alone)
        ]
        return f"{head}:{','.join(values)}" if values else spec
    named = _PYTHON.fullmatch(spec) or _WEIGHTS.fullmatch(spec)
    if named is None:
        return _spelled(spec) if _is_answers(spec) else spec
    return _spelled(named[1]) + spec[named.end(1) :]


def _spelled(path: str) -> str:
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link keeps its own name
    return str(whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else whole)


def spec_fingerprint(spec: str, model: object) -> str:
    """Hash of all that a loaded spec's answers depend on beside its words; empty for a built-in rule.

    Args:
        spec: The spec.
        model: What it stands for.
    """
    parts = _parts(spec)
    models = model.parts if isinstance(model, Composite) else [model]
    hashes = [_fingerprint_one(*pair) for pair in zip(parts, models, strict=True)]
    unknown = [hashed for hashed in hashes if hashed.startswith(UNKNOWN_MODEL)]
    if unknown or len(hashes) == 1:
        return (unknown or hashes)[0]
    return blake2b("+".join(hashes).encode(), digest_size=16).hexdigest() if any(hashes) else ""


def _fingerprint_one(spec: str, model: object) -> str:
    if python := _PYTHON.fullmatch(spec):
        return object_fingerprint(own_model(model), Path(python[1]))
    if spec.partition(":")[0] in _REMOTE:
        return str(getattr(model, "fingerprint", ""))
    if spec.partition(":")[0] in MANIFEST or _is_answers(spec) or _WEIGHTS.fullmatch(spec):
        return fingerprint(spec) or str(getattr(model, "fingerprint", ""))  # shipped weights change with a release
    return object_fingerprint(model)  # of another package


def fingerprint(spec: str) -> str:
    """Hash of the files a spec names, empty where it names none.

    A file counts by its content, a folder by the names, sizes and times of the files in it.
    """
    files = [path for part in _parts(spec) for path in _paths(part)]
    if not files:
        return ""
    digest = blake2b(digest_size=16)
    for path in files:
        if path.is_dir():
            for child in sorted(path.rglob("*")):
                status = child.stat()
                digest.update(f"{child.relative_to(path)}|{status.st_size}|{status.st_mtime_ns}\n".encode())
        else:
            with path.open("rb") as file:
                digest.update(file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def is_blind(spec: str) -> bool:
    """Whether a spec relates by one of the built-in rules and priors that never look at a picture.

    >>> is_blind("size:margin=0.1"), is_blind("mine.py:Net")
    (True, False)
    """
    entry = _built_in(spec)
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
    entry = _built_in(spec)
    return entry is not None and entry.learns


def name_of(model: object, spec: str = "") -> str:
    """Display name of a model: its own, else the spec without folders, else its type's.

    >>> name_of(object(), "models/mine.py:Net")
    'mine.py:Net'
    """
    own = getattr(model, "name", None)
    if isinstance(own, str) and own:
        return own
    return _display(spec) if spec else type(model).__name__


def _display(spec: str) -> str:
    return re.sub(r"[^=,:]*[/\\]", "", spec)


def check_spec(spec: str) -> None:
    """Refuse a spec that names no model, or a file that is not there, by a ModelError; nothing is loaded."""
    for part in _parts(spec):
        _loader(part, ())


def _loader(spec: str, wanted: Sequence[str]) -> Callable[[], Any]:
    """What loads the model of one spec; a ModelError where there is no such model."""
    spec = _trained(spec)
    head, _, rest = spec.partition(":")
    entries = MANIFEST if head in MANIFEST else _entries()
    if head in entries:
        if rest and ("=" not in rest or rest.startswith("//")) and spelling_of(spec):
            raise _unknown(spec, entries)
        return partial(_build, entries[head], parse(head, rest, entries[head].alone), wanted)
    if python := _PYTHON.fullmatch(spec):
        file, name = _present(python[1]), python[2]
        return lambda: _resolve("sightline.models.adapters.python:load_object")(file, name)
    if re.search(r"\.py(:.*)?$", spec):
        raise ModelError(f"{spec}: say which object of the file is the model, as in file.py:name")
    if weights := _WEIGHTS.fullmatch(spec):
        return partial(_checkpoint, _present(weights[1]), parse(weights[1], weights[2] or ""))
    if _is_answers(spec):
        answers = _present(spec)
        return lambda: _resolve("sightline.models.adapters.answers:open_answers")(answers, wanted)
    raise _unknown(spec, entries)


def _present(path: str) -> Path:
    if not _is_there(Path(path)):
        raise ModelError(f"{path}: no such file")
    return Path(path)


def _checkpoint(path: Path, given: Mapping[str, str]) -> Any:
    target = _imported(str(path), "sightline.models.nets.checkpoints:model_loader")(path)
    return _called(str(path), partial(target, path, **bind(str(path), target, {}, given)))


def _parts(spec: str) -> list[str]:
    """The spec, or its two halves where a plus joins two specs; a plus may also stand in a file's name."""
    for plus in re.finditer(r"\+", spec):
        halves = [spec[: plus.start()], spec[plus.end() :]]
        if all(map(_stands_alone, halves)):
            return halves
    return [spec]


def _paths(spec: str) -> list[Path]:
    """Existing files and folders that one spec names."""
    head, _, rest = spec.partition(":")
    if _has_entry(head):
        named = [Path(value) for value in parse(head, rest, _alone(head)).values()]
    else:
        file = _PYTHON.fullmatch(spec) or _WEIGHTS.fullmatch(spec)
        named = [Path(file[1] if file else spec)]
    return [path for path in named if _is_there(path)]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # an address or a number may be no name for a file
        return False


def _stands_alone(spec: str) -> bool:
    """Whether this is a spec that a plus may join to another."""
    named = _has_entry(spec.partition(":")[0]) or _PYTHON.fullmatch(spec) or _WEIGHTS.fullmatch(spec)
    return bool(named) or spec.lower().endswith(".csv")


def _is_answers(spec: str) -> bool:
    return Path(spec).suffix.lower() in (".csv", ".jsonl")


def _has_entry(name: str) -> bool:
    """Whether a model has this name; other packages, which take long to look through, are only asked for a word."""
    return name in MANIFEST or (re.fullmatch(r"[\w-]+", name) is not None and name in _entries())


def _entries() -> dict[str, ModelEntry]:
    """Built-in models, then those of other packages; a built-in name cannot be taken over."""
    others = {
        point.name: ModelEntry(point.name, point.value, f"from {point.dist.name if point.dist else point.value}")
        for point in entry_points(group=GROUP)
        if point.name not in MANIFEST
    }
    return {**MANIFEST, **others}


def _alone(name: str) -> str:
    """Option of a built-in model whose value may stand alone behind its name."""
    return MANIFEST[name].alone if name in MANIFEST else ""


def _built_in(spec: str) -> ModelEntry | None:
    """The entry of a spec's first part, unless it is not one of the built-in models."""
    return MANIFEST.get(_parts(spec)[0].partition(":")[0])


def _unknown(spec: str, known: Mapping[str, ModelEntry]) -> ModelError:
    name = spec.partition(":")[0]
    if spelling := spelling_of(spec):
        return ModelError(f"unknown model {without_secrets(spec)!r}, did you mean {without_secrets(spelling)!r}?")
    near = did_you_mean(name, known) or ";"
    return ModelError(
        f"unknown model {name!r}{near} known are {', '.join(known)}, or give file.py:object, hf:PATH-OR-ID, "
        "onnx:FILE, openai:MODEL, predictions.csv or a checkpoint, weights.safetensors"
    )


def _resolve(path: str) -> Callable[..., Any]:
    module, _, attribute = path.partition(":")
    target: Callable[..., Any] = attrgetter(attribute)(importlib.import_module(module))
    return target


def _imported(name: str, path: str) -> Callable[..., Any]:
    """Like `_resolve`, for what may need a package that is not there."""
    try:
        return _resolve(path)
    except (ImportError, AttributeError) as error:
        missing = getattr(error, "name", "") or ""
        if missing in ("torch", "safetensors") and isinstance(error, ModuleNotFoundError):
            raise MissingExtraError(missing, extra="torch") from None
        raise ModelError(f"{name}: cannot import {path}: {error}") from error


def _build(entry: ModelEntry, given: Mapping[str, str], wanted: Sequence[str]) -> Any:
    """Call the entry's class or factory with its preset and the given options."""
    target = _imported(entry.name, entry.path)
    told = {"wanted": wanted} if entry.name == "answers" else {}
    return _called(entry.name, partial(target, **bind(entry.name, target, {**entry.options, **told}, given)))


def _called(name: str, make: Callable[[], Any]) -> Any:
    """What `make` gives, if it has a skill; whatever goes wrong in there becomes a ModelError."""
    try:
        model = make()
    except SightlineError:
        raise
    except Exception as error:
        raise ModelError(f"{name}: {type(error).__name__}: {error}") from error
    if not skills_of(model):
        raise ModelError(f"{name}: {type(model).__name__} has no skill")
    return model
