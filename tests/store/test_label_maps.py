"""Classes under other names: matched by name and by rows; scores and maps restricted to what is matched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sightline.errors import ConfigError, DataError
from sightline.store.label_maps import LabelMap, same_names, vocabulary


@pytest.mark.parametrize(
    ("data", "model", "theirs"),
    [
        (["sofa", "car"], ["couch", "car", "dog"], {"sofa": ("couch",), "car": ("car",)}),
        (["tvmonitor"], ["tv"], {"tvmonitor": ("tv",)}),
        (["pavement-merged", "road"], ["sidewalk", "road"], {"pavement-merged": ("sidewalk",), "road": ("road",)}),
        (["wall"], ["wall-brick", "wall-wood"], {"wall": ("wall-brick", "wall-wood")}),  # several for one
        (["house", "building"], ["house", "building"], {"house": ("house",), "building": ("building",)}),
        (["house", "building"], ["edifice"], {"building": ("edifice",)}),  # to the one named first in the row
        (["Traffic_Light"], ["traffic light"], {"Traffic_Light": ("traffic light",)}),  # spelling alone
        (["mug", "wedge"], ["cup"], {"mug": ("cup",)}),
        (["wedge"], ["cup"], {}),
        ([], [], {}),
    ],
)
def test_classes_are_matched(data: list[str], model: list[str], theirs: dict[str, tuple[str, ...]]) -> None:
    assert LabelMap.between(data, model).theirs == theirs


def test_all_classes_of_voc_are_cocos() -> None:
    voc, coco = (list(vocabulary(name).classes.values()) for name in ("voc", "coco"))
    there = LabelMap.between(voc, coco)
    assert set(voc) - set(there.classes) == {"background"}
    assert all(len(names) == 1 for names in there.theirs.values())
    back = LabelMap.between(coco, voc)
    assert {(b, a) for a, (b,) in there.theirs.items()} == {(a, b) for a, (b,) in back.theirs.items()}


def test_vocabularies_number_their_classes() -> None:
    coco, voc = vocabulary("coco"), vocabulary("voc")
    assert (len(coco.classes), len(coco.stuff), len(voc.classes)) == (133, 53, 21)
    assert coco.stuff <= set(coco.classes.values())
    assert (coco.classes[90], voc.classes[7]) == ("toothbrush", "car")
    assert {"road", "sidewalk", "sky"} <= vocabulary("ade").stuff
    assert not {"car", "tree", "person"} & vocabulary("ade").stuff
    with pytest.raises(ConfigError, match="unknown vocabulary 'cocoa', did you mean 'coco'"):
        vocabulary("cocoa")


@given(
    st.lists(st.sampled_from(["a", "b", "couch", "sofa", "tv", "monitor", "car"]), unique=True),
    st.lists(st.sampled_from(["a", "sofa", "tvmonitor", "monitor", "car", "bus"]), unique=True, min_size=1),
    st.integers(0, 2**32 - 1),
)
@example(["monitor"], ["tvmonitor", "monitor"], 0)  # both stand for it
def test_a_label_of_the_model_becomes_one_of_the_data_or_none(data: list[str], model: list[str], seed: int) -> None:
    mapped, rng = LabelMap.between(data, model), np.random.default_rng(seed)
    scores = rng.normal(size=(3, len(model)))
    ours = mapped.scores(scores)
    assert ours.shape == (3, len(mapped.classes))
    for k, name in enumerate(mapped.classes):
        stands = [model.index(other) for other in mapped.theirs[name]]
        np.testing.assert_array_equal(ours[:, k], [max(row[i] for i in stands) for row in scores])
    labels = rng.integers(-1, len(model), size=(4, 5))
    for before, after in zip(labels.ravel(), mapped.labels(labels).ravel(), strict=True):
        known = [k for k, name in enumerate(mapped.classes) if before >= 0 and model[before] in mapped.theirs[name]]
        assert [after] == (known or [-1])
    assert all(name in (*mapped.theirs[name], name) for name in mapped.classes)
    assert all(name in mapped.theirs[name] for name in mapped.classes if name in model)


def test_rows_of_a_file_come_before_the_built_in_ones(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("same:\n  - [seat, sofa, chair]\n")
    same = same_names(file)
    assert LabelMap.between(["seat"], ["sofa", "chair"], same).theirs == {"seat": ("sofa", "chair")}
    assert LabelMap.between(["couch"], ["sofa"], same).theirs == {}
    assert LabelMap.between(["tv"], ["tvmonitor"], same).theirs == {"tv": ("tvmonitor",)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("same: [[a, b], [b, c]]", r"mine.yaml, same\[1\]: class stands in two rows"),
        ("same: [a, b]", r"mine.yaml, same\[0\]"),
        ("rows: [[a, b]]", "mine.yaml, rows: unknown field"),
        ("{}", "mine.yaml, same"),
        ("- a", "mine.yaml"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(DataError, match=words):
        same_names(file)
