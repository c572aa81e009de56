from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.relations.pair_tables import make_table, marks_of, random_marks, random_table
from reference.relation_scores import slow_scores
from sightline.exams.relations.analyses import by_difficulty, counter_heuristic, silence
from sightline.exams.relations.protocols import Protocol
from sightline.plain import plain

SEEDS = st.integers(0, 10_000)


def _scale(votes):
    """Difficulty of five votes, as the paper words it."""
    best = max(votes)
    if best < 3 or votes[0] == best:
        return None
    return {5: "easy", 4: "moderate", 3: "difficult"}[best]


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from(["default", "paper"]))
def test_by_difficulty_scores_each_slice_alone(seed, protocol):
    marks = {
        (setting, aspect): marked
        for setting in ("within_image", "across_images")
        for aspect, marked in random_marks(seed, random_table(seed, setting=setting, scenes=8)).items()
    }
    found = by_difficulty(marks, protocol=Protocol(protocol), resamples=20)
    for scale in ("easy", "moderate", "difficult"):
        row = []
        for name, scores in found.f1.items():
            setting, aspect = name.split("/")
            marked = marks[setting, aspect]
            rows = [i for i, v in enumerate(marked.pairs.depth_votes.tolist()) if _scale(v) == scale]
            assert found.pairs[setting][scale] == len(rows)
            row.append(slow_scores(marked, protocol, rows)["all"][2])
            np.testing.assert_allclose(scores[scale].value, row[-1])
        np.testing.assert_allclose(found.average[scale].value, np.mean(row))


def test_by_difficulty_of_one_setting_has_no_average():
    marks = {("within_image", aspect): marked for aspect, marked in random_marks(0, random_table(0)).items()}
    found = plain(by_difficulty(marks, resamples=20))
    assert found["average"] == {}
    assert set(found["f1"]) == {"within_image/depth", "within_image/occlusion"}


BOXES = {  # (bottom edge, area)
    "low large": [0.0, 0.0, 1.0, 0.9],
    "low small": [0.0, 0.8, 0.2, 0.9],
    "high large": [0.0, 0.0, 1.0, 0.5],
    "high small": [0.0, 0.4, 0.2, 0.5],
}
FOUR = list(BOXES)


@pytest.mark.parametrize(
    ("closer", "farther", "slices"),
    [
        ("low large", "high small", {"neither"}),  # both cues tell the truth
        ("high small", "low large", {"lower_is_farther", "larger_is_farther", "both"}),  # both mislead
        ("high large", "low small", {"lower_is_farther"}),  # only the place misleads
        ("low small", "high large", {"larger_is_farther"}),  # only the size misleads
        ("low small", "low large", {"larger_is_farther"}),  # same bottom edge, size misleads
        ("low large", "low small", set()),  # a tie tells nothing
    ],
)
def test_counter_heuristic_slices(closer, farther, slices):
    table = make_table(
        [(FOUR.index(closer), FOUR.index(farther))], [1], scene_of=[0] * 4, boxes=list(BOXES.values())
    )
    found = counter_heuristic(marks_of(table, [1, 1])["depth"])
    sizes = {name: part.pairs for name, part in found.items()}
    assert sizes == {"all": 2} | {n: 2 * (n in slices) for n in sizes if n != "all"}
    for name in slices:
        assert found[name].accuracy.value == 0.5  # right one way, wrong the other


def test_a_rule_fails_exactly_where_its_cue_misleads():
    table = random_table(11, scenes=40)
    bottom = table.ordered().boxes_a[:, 3] - table.ordered().boxes_b[:, 3]
    said = np.select([bottom > 0, bottom < 0], [1, 2], -1)
    slices = counter_heuristic(marks_of(table, said)["depth"], resamples=50)
    assert slices["lower_is_farther"].accuracy.value == 0.0
    assert slices["neither"].accuracy.value == 1.0
    assert 0 < slices["all"].accuracy.value < 1


def test_silence_is_not_unsure():
    table = make_table([(0, 1), (0, 2)], [1, 2], scene_of=[0, 0, 0], occlusion=[0, 0])
    found = silence(marks_of(table, [-1, 0, 1, 0], [-1, -1, -1, 0]))
    assert (found.unanswered["depth"].value, found.unanswered["occlusion"].value) == (0.25, 0.75)
    assert found.unsure.value == 0.5
    across = random_marks(0, random_table(0, setting="across_images"))
    assert set(silence(across).unanswered) == {"depth"}
