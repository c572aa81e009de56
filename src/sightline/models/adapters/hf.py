"""Models of the transformers library by a folder or a hub id, ``hf:PATH-OR-ID``: the config says what they can do.

A folder is read and nothing else; only what is no folder is taken for a hub id, which transformers fetches unless
it is in its cache. Code that comes with a model is never run. Pictures are prepared by Pillow, so torchvision is
not needed. Vision-language models are in `adapters.vlm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import ConfigError, ModelError
from sightline.hints import hint
from sightline.models.adapters.pictures import log_odds
from sightline.models.adapters.transformers_files import HubFiles
from sightline.scenes import View
from sightline.skills import ClassScores, ContextSpec, Detections, LabelMaps, RelationsSpec, ViewpointSpec

_NO_CLASS: Final = frozenset({"", "n/a", "background", "no-object", "no object", "unlabeled", "void"})
_FARTHEST: Final = 30.0
"""Largest logit that is told of: a token that a query cannot mean has one of minus infinity."""
_INVERSE: Final = frozenset({"dpt", "depth_anything"})
"""Depth networks whose maps are disparities: larger is closer; a metric variant of one says so in its config."""


class HubNetwork:
    """A network of transformers with its image processor.

    Args:
        files: Where config, processor and weights are.
        name: How tables call it.
    """

    auto: str = ""
    processor_kind: str = "AutoImageProcessor"

    def __init__(self, files: HubFiles, name: str) -> None:
        self.files, self.name = files, name
        self.fingerprint = files.commit
        files.check_processor()

    def facts(self) -> dict[str, Any]:
        """What it is and where it computes."""
        return {"model_type": self.files.config.model_type, "task": self.auto, **self.files.facts()}

    def prepare(self, study: object) -> None:  # noqa: ARG002 - nothing is learned
        """Load the weights before the first question."""
        _ = self._processor, self._net

    @cached_property
    def _processor(self) -> Any:
        return self.files.loaded(self.processor_kind)

    @cached_property
    def _net(self) -> Any:
        return self.files.network(self.auto)

    def _run(self, picture: Image.Image, **more: Any) -> tuple[Any, Any]:
        """Outputs of one picture, and what the network was given."""
        inputs = self._processor(images=picture, return_tensors="pt", **more)
        inputs = inputs.to(self.files.device, dtype=self._net.dtype)
        with self.files.computing(self._net):
            return self._net(**inputs), inputs


class HubDetector(HubNetwork):
    """An object detector: skills *detect*, and *classify* by the surest of all its queries.

    Args:
        files: Where it is.
        name: How tables call it.
        threshold: Least confidence of a box that is given.
    """

    auto = "AutoModelForObjectDetection"

    def __init__(self, files: HubFiles, name: str, threshold: float = 0.05) -> None:
        super().__init__(files, name)
        self.threshold = threshold
        self.classes, self._places = label_places(files.config.id2label, ())

    def detect(self, view: View) -> Detections:
        """All boxes above the threshold, best first."""
        return self._boxes(view, self.threshold)

    def classify(self, views: Sequence[View]) -> ClassScores:
        """The log-odds of each class in the query that is surest of it: boxes alone leave most classes without."""
        rows = [self._scores(Image.fromarray(view.image())) for view in views]
        return ClassScores(self.classes, np.array(rows, np.float64).reshape(len(rows), len(self.classes)))

    def _scores(self, picture: Image.Image) -> NDArray[np.float64]:
        logits = self._run(picture)[0].logits[0].float()
        number = len(self._places)
        if logits.shape[1] == number + 1:  # the last is for no object
            logits = self.files.torch.logit(logits.softmax(dim=-1)[:, :-1], eps=1e-7)
        best = logits[:, :number].max(dim=0).values.cpu().double().numpy()
        row = np.full(len(self.classes), -np.inf)
        known = self._places[: len(best)] >= 0
        np.maximum.at(row, self._places[: len(best)][known], best[known])
        return row

    def _boxes(self, view: View, threshold: float) -> Detections:
        picture = Image.fromarray(view.image())
        outputs, _ = self._run(picture)
        (found,) = self._processor.post_process_object_detection(
            outputs, threshold=threshold, target_sizes=[picture.size[::-1]]
        )
        names = [str(self.files.config.id2label.get(int(label), "")) for label in found["labels"]]
        return _detections(found, names, picture.size)


class HubZeroShotDetector(HubNetwork):
    """A detector of whatever classes it is told: skills *detect* and *classify*.

    The classes are those to be asked about, which the exam tells before it begins, unless they are given.

    Args:
        files: Where it is.
        name: How tables call it.
        classes: What to look for.
        threshold: Least confidence of a box that is given.
    """

    auto = "AutoModelForZeroShotObjectDetection"
    processor_kind = "AutoProcessor"

    def __init__(self, files: HubFiles, name: str, classes: Sequence[str] = (), threshold: float = 0.05) -> None:
        super().__init__(files, name)
        self.classes, self.threshold, self._given = tuple(classes), threshold, bool(classes)

    def check_context(self, spec: ContextSpec) -> None:
        """Take the classes to be asked about."""
        self._take(spec.classes)

    def check_relations(self, spec: RelationsSpec) -> None:
        """Take the classes to be asked about."""
        self._take(spec.categories)

    def check_viewpoint(self, spec: ViewpointSpec) -> None:
        """Take the classes to be asked about."""
        self._take(spec.categories)

    def detect(self, view: View) -> Detections:
        """All boxes above the threshold, best first."""
        boxes, logits = self._queries(view)
        scores = 1 / (1 + np.exp(-logits))
        best = scores.argmax(axis=1)
        sure = scores.max(axis=1)
        kept = [i for i in np.argsort(-sure, kind="stable").tolist() if sure[i] >= self.threshold]
        return Detections(boxes[kept], sure[kept], tuple(self.classes[best[i]] for i in kept))

    def classify(self, views: Sequence[View]) -> ClassScores:
        """The logit of each class in the query that is surest of it."""
        rows = [self._queries(view)[1].max(axis=0) for view in views]
        return ClassScores(self.classes, np.array(rows, np.float64).reshape(len(rows), len(self.classes)))

    def facts(self) -> dict[str, Any]:
        """What it looked for."""
        return super().facts() | {"classes": list(self.classes)}

    def _take(self, classes: Sequence[str]) -> None:
        if not self._given:
            self.classes = tuple(classes)
        if not self.classes:
            raise ModelError(f"{self.name}: it is not told what to look for: give classes=cat;dog")

    def _queries(self, view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(Q, 4) boxes of all queries in fractions of the picture, and (Q, C) logits of the classes."""
        if not self.classes:
            raise ModelError(f"{self.name}: it is not told what to look for: give classes=cat;dog")
        picture = Image.fromarray(view.image())
        words = [name.replace("_", " ").lower() for name in self.classes]
        grounded = "dino" in self.files.config.model_type
        told: Any = " ".join(f"{word}." for word in words) if grounded else [words]
        outputs, _ = self._run(picture, text=told, truncation=True)
        logits = outputs.logits[0].float().cpu().double().numpy()
        if grounded:
            logits = self._by_class(logits, words, told)
        centred = outputs.pred_boxes[0].float().cpu().double().numpy()
        boxes = np.concatenate([centred[:, :2] - centred[:, 2:] / 2, centred[:, :2] + centred[:, 2:] / 2], axis=1)
        if self.files.config.model_type == "owlv2":  # it pads pictures to squares, below and to the right
            boxes *= max(picture.size) / np.array([*picture.size, *picture.size])
        return np.clip(boxes, 0.0, 1.0), np.clip(logits, -_FARTHEST, _FARTHEST)

    def _by_class(self, logits: NDArray[np.float64], words: Sequence[str], told: str) -> NDArray[np.float64]:
        """(Q, C) logits of classes from those of the tokens of a sentence: of each its surest token."""
        encoded = self._processor.tokenizer(told, truncation=True, return_offsets_mapping=True)
        ends = np.cumsum([len(word) + 2 for word in words])
        columns = []
        for word, end in zip(words, ends.tolist(), strict=True):
            start = end - len(word) - 2
            inside = [
                i for i, (a, b) in enumerate(encoded["offset_mapping"]) if start <= a < b <= start + len(word)
            ]
            columns.append(logits[:, inside].max(axis=1) if inside else np.full(len(logits), -_FARTHEST))
        return np.stack(columns, axis=1)


class HubDepth(HubNetwork):
    """A network that estimates depth: skill *estimate_depth*.

    Args:
        files: Where it is.
        name: How tables call it.
        inverse: Larger is closer; None where its kind says so.
    """

    auto = "AutoModelForDepthEstimation"

    def __init__(self, files: HubFiles, name: str, inverse: bool | None = None) -> None:
        super().__init__(files, name)
        metric = getattr(files.config, "depth_estimation_type", "relative") == "metric"
        usual = files.config.model_type in _INVERSE and not metric
        self.inverse = usual if inverse is None else inverse

    def estimate_depth(self, view: View) -> NDArray[np.float64]:
        """(H, W) of the network's own size and unit."""
        outputs, _ = self._run(Image.fromarray(view.image()))
        depth: NDArray[np.float64] = outputs.predicted_depth.float().cpu().double().numpy().squeeze()
        if depth.ndim != 2:
            raise ModelError(f"{self.name}: expected one depth map, found the shape {depth.shape}")
        return depth


class HubSegmenter(HubNetwork):
    """A semantic or panoptic segmenter: skill *segment*; of a panoptic one the classes of its segments.

    Args:
        files: Where it is.
        name: How tables call it.
        auto: Class of transformers that loads it.
    """

    def __init__(self, files: HubFiles, name: str, auto: str = "AutoModelForSemanticSegmentation") -> None:
        super().__init__(files, name)
        self.auto = auto
        self.classes, self._places = label_places(files.config.id2label, _NO_CLASS)

    def segment(self, views: Sequence[View]) -> LabelMaps:
        """The class of every pixel, scores being enlarged to the picture."""
        return self.segment_among(views, self.classes)

    def segment_among(self, views: Sequence[View], classes: Sequence[str]) -> LabelMaps:
        """The same of some classes alone, and of labels that are no class (background, no object)."""
        left_out = [i for i, code in enumerate(self._places) if code >= 0 and self.classes[code] not in classes]
        return LabelMaps(self.classes, tuple(self._map(Image.fromarray(v.image()), left_out) for v in views))

    def _map(self, picture: Image.Image, left_out: Sequence[int]) -> NDArray[np.int32]:
        outputs, _ = self._run(picture)
        for name in ("logits", "class_queries_logits"):  # of pixels (1, C, H, W), of queries (1, Q, C)
            logits = getattr(outputs, name, None)
            if logits is not None and left_out:
                low = self.files.torch.finfo(logits.dtype).min / 4  # finite: it is interpolated
                logits = logits.clone()
                if logits.ndim == 4:
                    logits[:, left_out] = low
                else:
                    logits[..., left_out] = low
                outputs[name] = logits
        (labels,) = self._processor.post_process_semantic_segmentation(outputs, target_sizes=[picture.size[::-1]])
        codes = np.asarray(labels.cpu().numpy(), dtype=np.int64)
        known = (codes >= 0) & (codes < len(self._places))
        return np.where(known, self._places[np.where(known, codes, 0)], -1).astype(np.int32)


class HubClassifier(HubNetwork):
    """An image classifier: skill *classify*; a softmax over single labels becomes log-odds.

    Args:
        files: Where it is.
        name: How tables call it.
    """

    auto = "AutoModelForImageClassification"

    def __init__(self, files: HubFiles, name: str) -> None:
        super().__init__(files, name)
        self.classes, self._places = label_places(files.config.id2label, ())

    def classify(self, views: Sequence[View]) -> ClassScores:
        """A logit for every picture and class."""
        rows = [self._scores(Image.fromarray(view.image())) for view in views]
        return ClassScores(self.classes, np.array(rows, np.float64).reshape(len(rows), len(self.classes)))

    def _scores(self, picture: Image.Image) -> NDArray[np.float64]:
        logits = self._run(picture)[0].logits[0].float().cpu().double().numpy()
        if getattr(self.files.config, "problem_type", None) != "multi_label_classification":
            shifted = np.exp(logits - logits.max())
            logits = log_odds(shifted / shifted.sum(), self.name)
        row = np.full(len(self.classes), -np.inf)
        np.maximum.at(row, self._places[self._places >= 0], logits[self._places >= 0])
        return row


@dataclass(frozen=True, slots=True)
class HubTask:
    """What a model of transformers is for.

    Attributes:
        mapping: List of transformers that says which architectures are for it.
        auto: Class that loads such a model.
        skills: What it can do here.
    """

    mapping: str
    auto: str
    skills: tuple[str, ...]


TASKS: Final[Mapping[str, HubTask]] = {
    "zero-shot-object-detection": HubTask(
        "ZERO_SHOT_OBJECT_DETECTION", "AutoModelForZeroShotObjectDetection", ("detect", "classify")
    ),
    "object-detection": HubTask("OBJECT_DETECTION", "AutoModelForObjectDetection", ("detect", "classify")),
    "depth-estimation": HubTask("DEPTH_ESTIMATION", "AutoModelForDepthEstimation", ("relate", "estimate_depth")),
    "panoptic-segmentation": HubTask("UNIVERSAL_SEGMENTATION", "AutoModelForUniversalSegmentation", ("segment",)),
    "semantic-segmentation": HubTask("SEMANTIC_SEGMENTATION", "AutoModelForSemanticSegmentation", ("segment",)),
    "image-classification": HubTask("IMAGE_CLASSIFICATION", "AutoModelForImageClassification", ("classify",)),
    "image-text-to-text": HubTask(
        "IMAGE_TEXT_TO_TEXT", "AutoModelForImageTextToText", ("answer", "relate", "predicates", "viewpoint")
    ),
}
"""Task → how it is known and loaded; in the order in which architectures are looked for."""


def task_of(config: Any, where: str) -> str:
    """The task of a config: the first that lists its architecture, else the first that lists its model type.

    Raises:
        ModelError: None does.
    """
    from transformers.models.auto import modeling_auto

    known = {task: getattr(modeling_auto, f"MODEL_FOR_{t.mapping}_MAPPING_NAMES") for task, t in TASKS.items()}
    for architecture in getattr(config, "architectures", None) or ():
        for task, names in known.items():
            listed = names.get(config.model_type, ())
            if architecture == listed or architecture in tuple(listed if not isinstance(listed, str) else ()):
                return task
    for task, names in known.items():
        if config.model_type in names and not getattr(config, "architectures", None):
            return task
    named = ", ".join(getattr(config, "architectures", None) or [config.model_type])
    raise ModelError(f"{where}: {named} is for no task of an exam; those are {', '.join(TASKS)}")


def hf(
    path: str,
    task: str = "",
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    threshold: float | None = None,
    classes: str | None = None,
    inverse: bool | None = None,
    margin: float | Literal["tuned"] | None = None,
    decide: str | None = None,
    region: str | None = None,
    history: str | None = None,
    max_new_tokens: int | None = None,
    prompt: Path | None = None,
    per: str | None = None,
    sections: int | None = None,
    elevation: float | None = None,
    temperature: float | None = None,
    seed: int | None = None,
) -> Any:
    """Open a model of transformers as whatever its config says it is.

    Args:
        path: Its folder, which is read and nothing else, or its hub id.
        task: One of `TASKS`, where the config does not tell.
        revision: Branch, tag or commit on the hub.
        device: ``cpu``, ``cuda``…; ``auto`` takes the first GPU where there is one.
        dtype: Of the weights; ``auto`` as stored, on a CPU float32.
        threshold: Of a detector: least confidence of a box.
        classes: Of a zero-shot detector: what to look for, with semicolons between.
        inverse: Of a depth network: larger is closer.
        margin: Of a depth network: difference of means below which two objects are at the same depth, or ``tuned``.
        decide: Of a vision-language model, as all that follow: see `VisionLanguage`.
        region: How regions and boxes are pointed at.
        history: How many earlier questions are told.
        max_new_tokens: The longest answer.
        prompt: File with a prompt of one's own.
        per: One prompt a pair or a predicate.
        sections: Directions an object may face.
        elevation: Degrees that go with an azimuth.
        temperature: Above 0 replies are drawn.
        seed: Of what is drawn.
    """
    given = {key: value for key, value in locals().items() if value is not None}
    if task and task not in TASKS:
        raise ConfigError(f"hf: unknown task {task!r}{hint(task, TASKS)}")
    files = HubFiles.of(path, revision, device, dtype)
    task = task or task_of(files.config, path)
    name = Path(path).name if files.is_local else path
    own = {key: value for key, value in given.items() if key not in ("path", "task", "revision", "device", "dtype")}
    made = _MAKERS[task]
    takes = _OPTIONS[task]
    for key in own:
        if key not in takes:
            listed = ", ".join(takes) or "none"
            raise ConfigError(f"hf: a model for {task} has no option {key!r}; its options: {listed}")
    if task == "image-text-to-text":
        return made(files, given, own)
    return made(files, name, own)


def _vision_language(files: HubFiles, given: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    from sightline.models.adapters.vlm import VisionLanguage
    from sightline.models.options import bind

    where = {"path": Path(str(given["path"]))} if files.is_local else {"hub": given["path"]}
    more = {key: given[key] for key in ("revision", "device", "dtype") if key in given}
    texts = {key: str(value) for key, value in (more | dict(own)).items()}
    return VisionLanguage(**bind("hf", VisionLanguage, where, texts))


def _depth(files: HubFiles, name: str, own: Mapping[str, Any]) -> Any:
    from sightline.models.baselines.depth import DepthRule

    network = HubDepth(files, name, own.get("inverse"))
    return DepthRule(network, inverse=network.inverse, margin=own.get("margin", 0.02), name=name)


_MAKERS: Final[Mapping[str, Any]] = {
    "zero-shot-object-detection": lambda files, name, own: HubZeroShotDetector(
        files, name, _listed(own.get("classes", "")), own.get("threshold", 0.05)
    ),
    "object-detection": lambda files, name, own: HubDetector(files, name, own.get("threshold", 0.05)),
    "depth-estimation": _depth,
    "panoptic-segmentation": lambda files, name, _: HubSegmenter(files, name, "AutoModelForUniversalSegmentation"),
    "semantic-segmentation": lambda files, name, _: HubSegmenter(files, name),
    "image-classification": lambda files, name, _: HubClassifier(files, name),
    "image-text-to-text": _vision_language,
}
_LANGUAGE: Final = ("decide", "region", "history", "max_new_tokens", "prompt", "per", "sections", "elevation")
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "zero-shot-object-detection": ("classes", "threshold"),
    "object-detection": ("threshold",),
    "depth-estimation": ("inverse", "margin"),
    "panoptic-segmentation": (),
    "semantic-segmentation": (),
    "image-classification": (),
    "image-text-to-text": (*_LANGUAGE, "temperature", "seed"),
}
"""Task → options of its own."""


def label_places(labels: Mapping[Any, str], none: Sequence[str] | frozenset[str]) -> tuple[tuple[str, ...], Any]:
    """Classes of a config's labels, each once, and for each label its place among them; −1 for none.

    >>> label_places({0: "N/A", 1: "cat", 2: "cat"}, {"n/a"})[0]
    ('cat',)
    """
    names = {int(code): str(name).strip() for code, name in labels.items()}
    kept = [name for _, name in sorted(names.items()) if name and name.lower() not in {*none, "n/a"}]
    classes = tuple(dict.fromkeys(kept))
    place = {name: i for i, name in enumerate(classes)}
    size = max(names, default=-1) + 1
    return classes, np.array([place.get(names.get(code, ""), -1) for code in range(size)], dtype=np.int32)


def _detections(found: Mapping[str, Any], names: Sequence[str], size: tuple[int, int]) -> Detections:
    """Boxes in pixels with their names as detections, best first; those without a name are left out."""
    boxes = found["boxes"].detach().float().cpu().double().numpy().reshape(-1, 4) / np.array([*size, *size])
    scores = found["scores"].detach().float().cpu().double().numpy()
    kept = [i for i in np.argsort(-scores, kind="stable").tolist() if names[i] and names[i].lower() != "n/a"]
    return Detections(np.clip(boxes[kept], 0.0, 1.0), scores[kept], tuple(names[i] for i in kept))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(";") if name.strip())
