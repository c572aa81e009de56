"""Models that are known by name: a frozen manifest of those that come with Sightline, and entry points of others.

Nothing is imported until it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final

from sightline.exams.base import Exam
from sightline.exams.registry import EXAMS, exam_class

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
        ("depth_tuned", "depth", "depth, Δ tuned; folder=PATH or onnx=PATH", "learns", _TUNED),
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
        ("coin", "Coin", "a fair coin, seeded by question and history, and by an edited picture", "blind", {}),
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
    return list(entries().values())


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


def has_entry(name: str) -> bool:
    """Whether a model has this name; other packages, which take long to look through, are only asked for a word."""
    return name in MANIFEST or (re.fullmatch(r"[\w-]+", name) is not None and name in entries())


def entries() -> dict[str, ModelEntry]:
    """Built-in models, then those of other packages; a built-in name cannot be taken over."""
    others = {
        point.name: ModelEntry(point.name, point.value, f"from {point.dist.name if point.dist else point.value}")
        for point in entry_points(group=GROUP)
        if point.name not in MANIFEST
    }
    return {**MANIFEST, **others}


def alone(name: str) -> str:
    """Option of a built-in model whose value may stand alone behind its name."""
    return MANIFEST[name].alone if name in MANIFEST else ""
