"""Models of transformers by their folder: each task a tiny network of its own, which takes an exam."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.api import examine
from sightline.errors import ConfigError, ModelError
from sightline.exams.context.exam import ContextExam
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.viewpoint.exam import ViewpointExam
from sightline.generation import generate, open_any
from sightline.models import candidate, exams_of, load
from sightline.models.adapters.hf import TASKS, label_places
from sightline.scenes import View
from sightline.skills import ClassScores, Detections, LabelMaps, skills_of
from sightline.store import Dataset

tiny_models: Any = pytest.importorskip("tiny_models", reason="needs torch and transformers")
transformers: Any = pytest.importorskip("transformers", reason="needs the extra vlm")

NOISE = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)
VIEW = View("0", size=(64, 48), load_image=lambda: NOISE)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = tmp_path_factory.mktemp("hf")
    return {name: make(made / name) for name, make in tiny_models.MODELS.items()}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("scenes") / "d"
    generate("geospa/train", folder, scenes=2, seed=5, size=(64, 48), canonical=1, depth=None)
    return open_any(folder)


@pytest.fixture(scope="module")
def cars(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("cars") / "d"
    generate("cad/train", folder, scenes=2, seed=5, size=(64, 48), depth=None)
    return open_any(folder)


SKILLS = {
    "object-detection": ("detect", "classify"),
    "zero-shot-object-detection": ("detect", "classify"),
    "grounded": ("detect", "classify"),
    "depth-estimation": ("relate", "estimate_depth"),
    "disparity": ("relate", "estimate_depth"),
    "semantic-segmentation": ("segment",),
    "upernet": ("segment",),
    "panoptic-segmentation": ("segment",),
    "image-classification": ("classify",),
    "image-text-to-text": ("relate", "predicates", "answer", "viewpoint"),
}


@pytest.mark.parametrize("name", SKILLS)
def test_the_config_says_what_it_can_do(name: str, folders: dict[str, Path]) -> None:
    model = load(f"hf:{folders[name]}")
    assert skills_of(model) == SKILLS[name]
    if name in TASKS:
        assert set(TASKS[name].skills) == set(SKILLS[name])
        assert exams_of(TASKS[name].skills)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "exam"),
    [
        ("object-detection", ContextExam()),  # class scores
        ("zero-shot-object-detection", ContextExam()),  # of the classes it is asked about
        ("depth-estimation", RelationsExam()),  # by the Depth rule
        ("disparity", RelationsExam()),  # larger is closer
        ("semantic-segmentation", ContextExam()),
        ("upernet", ContextExam()),
        ("panoptic-segmentation", ContextExam()),
        ("image-classification", ContextExam()),
        ("image-text-to-text", RelationsExam()),
        ("image-text-to-text", ContextExam()),
    ],
)
def test_it_takes_an_exam(name: str, exam: Any, folders: dict[str, Path], scenes: Dataset, tmp_path: Path) -> None:
    results = examine(f"hf:{folders[name]}", scenes, exam, out=tmp_path, baselines=False, limit=1)
    assert results[0].run.status == "stopped"
    assert results[0].records.rows.height
    again = examine(f"hf:{folders[name]}", scenes, exam, out=tmp_path, baselines=False, limit=1)
    assert again[0].asking.asked == 0  # the same files are the same model


@pytest.mark.long
def test_viewpoints_of_a_language_model_and_of_a_detector(
    folders: dict[str, Path], cars: Dataset, tmp_path: Path
) -> None:
    given = examine(f"hf:{folders['image-text-to-text']}", cars, ViewpointExam(), out=tmp_path, baselines=False)
    answers = given[0].records.rows["answer"]
    assert set(answers) <= {45.0 * i for i in range(8)}
    assert set(given[0].records.rows["elevation"]) == {10.0}
    spec = f"hf:{folders['image-text-to-text']}+hf:{folders['zero-shot-object-detection']},threshold=0"
    found = examine(spec, cars, ViewpointExam(boxes="detected"), out=tmp_path, baselines=False)
    detections = found[0].records.rows.filter(found[0].records.rows["kind"] == "detection")
    assert detections.height
    assert set(detections["category"]) <= {name for item in ViewpointExam().items(cars) for name in item.categories}


@pytest.mark.long
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("boxes", ["truth", "detected"])
def test_a_detector_and_a_depth_estimator_relate(
    order: int, boxes: Any, folders: dict[str, Path], scenes: Dataset, tmp_path: Path
) -> None:
    parts = [f"hf:{folders['zero-shot-object-detection']},threshold=0", f"hf:{folders['disparity']}"][::order]
    sitting = candidate("+".join(parts))
    assert {"relate", "detect", "classify", "estimate_depth"} <= set(skills_of(sitting.model))
    assert sitting.fingerprint
    results = examine("+".join(parts), scenes, RelationsExam(boxes=boxes), out=tmp_path, baselines=False)
    alone = examine(f"hf:{folders['disparity']}", scenes, RelationsExam(), out=tmp_path / "alone", baselines=False)
    if boxes == "truth":  # in given boxes the detector has no say
        assert results[0].records.rows["answer"].to_list() == alone[0].records.rows["answer"].to_list()
    assert results[0].records.rows.height


def test_a_folder_without_an_image_processor_is_refused_when_it_is_loaded(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "bare"
    shutil.copytree(folders["upernet"], folder)
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(ModelError, match=r"no preprocessor_config\.json, .* segmenter:FOLDER"):
        load(f"hf:{folder}")
    assert load(f"segmenter:{folder}").segment([VIEW]).maps[0].shape == (48, 64)


@pytest.mark.parametrize("kind", ["semantic-segmentation", "panoptic-segmentation"])
def test_a_segmenter_held_to_some_classes(kind: str, folders: dict[str, Path]) -> None:
    model: Any = load(f"hf:{folders[kind]}")
    free = model.segment([VIEW]).maps[0]
    first = int(np.bincount(free[free >= 0]).argmax())
    rest = tuple(name for place, name in enumerate(model.classes) if place != first)
    held = LabelMaps.checked(model.segment_among([VIEW], rest), [(64, 48)], "it")
    assert held.classes == model.classes
    assert first not in held.maps[0]
    np.testing.assert_array_equal(model.segment_among([VIEW], model.classes).maps[0], free)


def test_class_scores_of_a_segmenter(folders: dict[str, Path]) -> None:
    alone: Any = load(f"hf:{folders['semantic-segmentation']}")
    joined: Any = load(f"pixel_share+hf:{folders['semantic-segmentation']}")
    joined.check_context(type("Spec", (), {"classes": ("cube", "mug")})())
    assert joined.classes == alone.classes == ("cube", "sphere", "cylinder", "mug")
    maps = LabelMaps.checked(alone.segment([VIEW]), [(64, 48)], "it").maps[0]
    said = ClassScores.checked(joined.classify([VIEW]), 1, "it")
    shares = np.bincount(maps[maps >= 0], minlength=4) / maps.size
    np.testing.assert_allclose(1 / (1 + np.exp(-said.scores[0])), shares, atol=1e-6)
    with pytest.raises(ModelError, match=r"pixel_share\+SEGMENTER"):
        load("pixel_share").classify([VIEW])
    with pytest.raises(ModelError, match="cannot segment"):
        load(f"pixel_share+hf:{folders['object-detection']}")


def test_detections_are_boxes_in_the_picture(folders: dict[str, Path]) -> None:
    model: Any = load(f"hf:{folders['object-detection']},threshold=0")
    found = Detections.checked(model.detect(VIEW), "it")
    assert len(found.boxes) == 6  # a box a query
    assert (np.diff(found.scores) <= 0).all()
    assert set(found.categories) <= set(model.classes) == set(tiny_models.SHAPES)
    assert found.boxes.min() >= 0
    assert found.boxes.max() <= 1
    assert len(model.classify([VIEW, VIEW]).scores) == 2
    few: Any = load(f"hf:{folders['object-detection']},threshold=0.99")
    assert len(few.detect(VIEW).boxes) == 0


def test_a_zero_shot_detector_is_told_what_to_look_for(folders: dict[str, Path]) -> None:
    model: Any = load(f"hf:{folders['zero-shot-object-detection']}")
    with pytest.raises(ModelError, match="it is not told what to look for"):
        model.detect(VIEW)
    told: Any = load(f"hf:{folders['zero-shot-object-detection']},classes=red_mug;cube,threshold=0")
    found = told.detect(VIEW)
    assert set(found.categories) <= {"red_mug", "cube"}
    assert len(found.categories)


def test_zero_shot_boxes_are_those_of_transformers_own_reading(folders: dict[str, Path]) -> None:
    model: Any = load(f"hf:{folders['zero-shot-object-detection']},classes=mug;cube,threshold=0")
    found = model.detect(VIEW)
    outputs, _ = model._run(Image.fromarray(NOISE), text=[["mug", "cube"]], truncation=True)
    (theirs,) = model._processor.post_process_grounded_object_detection(
        outputs, threshold=0.0, target_sizes=[(48, 64)], text_labels=[["mug", "cube"]]
    )
    order = np.argsort(-theirs["scores"].numpy(), kind="stable")
    inside = np.clip(theirs["boxes"].numpy()[order] / [64, 48, 64, 48], 0, 1)
    np.testing.assert_allclose(found.boxes[: len(inside)], inside, atol=1e-5)
    np.testing.assert_allclose(found.scores[: len(inside)], theirs["scores"].numpy()[order], atol=1e-5)
    assert list(found.categories[: len(inside)]) == [theirs["text_labels"][i] for i in order]


def test_a_sentence_of_classes_is_read_by_its_tokens(folders: dict[str, Path]) -> None:
    model: Any = load(f"hf:{folders['grounded']},classes=red_mug;cube,threshold=0")
    logits = np.arange(3 * 12.0).reshape(3, 12)
    # [CLS] red mug . cube . [SEP]
    np.testing.assert_array_equal(model._by_class(logits, ["red mug", "cube"], "red mug. cube."), logits[:, [2, 4]])
    found = Detections.checked(model.detect(VIEW), "it")
    assert len(found.boxes) == 6
    assert set(found.categories) <= {"red_mug", "cube"}
    said = ClassScores.checked(model.classify([VIEW]), 1, "it")
    best = {name: said.scores[0, i] for i, name in enumerate(said.classes)}
    assert max(found.scores) == pytest.approx(1 / (1 + np.exp(-max(best.values()))))


def test_depth_says_which_way_is_closer(folders: dict[str, Path]) -> None:
    assert load(f"hf:{folders['depth-estimation']}").inverse is False
    assert load(f"hf:{folders['disparity']}").inverse is True
    assert load(f"hf:{folders['disparity']},inverse=false").inverse is False
    assert load(f"hf:{folders['disparity']},margin=0.5").facts()["margin"] == 0.5


class Plane:
    """Everything is as far as its row."""

    def estimate_depth(self, view: View) -> Any:
        return np.arange(10.0)[::-1, None] * np.ones((1, 4))


def test_an_object_that_estimates_depth_relates(scenes: Dataset, tmp_path: Path) -> None:
    results = examine(Plane(), scenes, RelationsExam(), out=tmp_path, baselines=False)
    assert results[0].name == "Plane"
    assert set(results[0].records.rows.filter(results[0].records.rows["aspect"] == "depth")["answer"]) <= {
        *("closer", "farther", "same")
    }


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ("hf:/nowhere/at/all", ModelError, "not a folder with a model"),  # no folder
        ("hf:{object-detection},task=detect", ConfigError, "unknown task 'detect'"),  # no such task
        ("hf:{object-detection},inverse=true", ConfigError, "a model for object-detection has no option 'inverse'"),
        ("hf:{object-detection},revision=main", ConfigError, "a folder has none"),  # of the hub
        ("hf:{object-detection},dtype=int8", ConfigError, "dtype must be one of"),  # no such dtype
        ("hf:{image-text-to-text},decide=guess", ConfigError, "expected likelihood or generate"),  # no such way
        ("hf:{object-detection},tresh=1", ConfigError, "did you mean 'threshold'?"),  # misspelt
        ("hf", ConfigError, "hf needs the option path"),  # which one?
        ("hf:{semantic-segmentation},task=object-detection", ModelError, "cannot load it"),  # another task
    ],
)
def test_what_cannot_be(spec: str, error: type[Exception], says: str, folders: dict[str, Path]) -> None:
    with pytest.raises(error) as raised:
        load(spec.format(**folders)).detect(VIEW)
    assert says in str(raised.value)


def test_a_model_for_nothing_here(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertForMaskedLM"]}))
    with pytest.raises(ModelError, match="BertForMaskedLM is for no task of an exam; those are zero-shot"):
        load(f"hf:{tmp_path}")


@pytest.mark.parametrize(("spec", "fetches"), [("{folder}", False), ("org/name", True)])
def test_a_folder_is_never_fetched(
    spec: str, fetches: bool, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def refuse(name: str, **options: Any) -> None:
        calls.append(options)
        raise OSError("no network")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refuse)
    with pytest.raises(ModelError, match="AutoConfig cannot load it: no network"):
        load(f"hf:{spec.format(folder=folders['disparity'])}")
    assert calls[0]["trust_remote_code"] is False
    assert calls[0].get("local_files_only", False) is not fetches


def test_labels_once_and_none_without_a_name() -> None:
    classes, places = label_places({0: "background", 1: "cat", 2: "N/A", 3: "cat", 4: "dog"}, {"background"})
    assert (classes, places.tolist()) == (("cat", "dog"), [-1, 0, -1, 0, 1])


@pytest.mark.long
def test_three_ways_of_pointing_are_compared(folders: dict[str, Path], scenes: Dataset, tmp_path: Path) -> None:
    """That they run side by side and are told apart; random weights say nothing of which is better."""
    specs = [f"hf:{folders['image-text-to-text']},region={region}" for region in ("draw", "crop", "words")]
    results = examine(specs, scenes, RelationsExam(), out=tmp_path, baselines=False, limit=1)
    assert len({result.run.folder for result in results}) == 3
    answers = [tuple(result.records.rows["answer"]) for result in results]
    assert len(set(answers)) > 1
    assert [result.run.manifest["model"]["region"] for result in results] == ["draw", "crop", "words"]
