from __future__ import annotations

import pytest

from exams.relations.pair_tables import make_table, marks_of, random_marks, random_table, real_tables
from sightline.exams.relations.analyses import consistency, label_consistency
from sightline.plain import plain

SPLITS = ("test", "validation")


@pytest.mark.parametrize(
    ("depth", "law", "share", "cases"),
    [
        ([1, 1, 1], "transitivity", 0.0, 1),  # a < b < c and a < c
        ([1, 2, 1], "transitivity", 1.0, 3),  # a cycle: every rotation breaks the law
        ([3, 1, 3], "transitivity", 0.25, 4),  # a = b = c, yet a < c: only c ≤ b ≤ a breaks
        ([3, 1, 3], "transitivity_strict", None, 0),  # but nothing is said strictly twice
        ([1, 2, 1], "transitivity_strict", 1.0, 3),  # a strict cycle
        ([1, 2, 1], "transitivity_all", 0.5, 6),  # whose other three orders have no premises
        ([1, 1, 0], "transitivity_all", None, 0),  # unsure is no label
    ],
)
def test_labels(depth, law, share, cases):
    # pairs (a, b), (a, c), (b, c)
    table = make_table([(0, 1), (0, 2), (1, 2)], depth, scene_of=[0, 0, 0])
    found = label_consistency(table)[law]
    assert found.cases == cases
    assert plain(found)["share"]["value"] == share


def test_answers_both_ways():
    table = make_table([(0, 1), (0, 2), (1, 2)], [1, 1, 1], scene_of=[0, 0, 0])
    depth = [1, 3, 1, 1, 2, 2]  # (a, b) and (b, a) both closer; (a, c) same, (c, a) farther
    occlusion = [0, 1, 3, 0, 1, 3]  # (a, c) and (c, a) both occlude
    laws = consistency(marks_of(table, depth, occlusion))
    assert (laws["symmetry"].share.value, laws["symmetry"].cases) == (0.5, 4)
    assert (laws["symmetry_exact"].share.value, laws["symmetry_exact"].cases) == (4 / 6, 6)
    assert (laws["symmetry_occlusion"].share.value, laws["symmetry_occlusion"].cases) == (2 / 6, 6)


def test_across_images_has_no_triple_and_no_occlusion():
    laws = plain(consistency(random_marks(0, random_table(0, setting="across_images"))))
    assert "symmetry_occlusion" not in laws
    assert laws["transitivity"]["cases"] == 0
    assert laws["transitivity"]["share"]["value"] is None


@pytest.mark.realdata
def test_real_labels_break_transitivity_rarely(real_data):
    tables = real_tables(real_data)
    laws, others = (label_consistency(tables["within_image", split], resamples=200) for split in SPLITS)
    assert laws["transitivity"].cases == 31_640
    assert laws["transitivity"].share.value == pytest.approx(909 / 31_640)
    assert laws["transitivity_strict"].share.value == pytest.approx(150 / 20_024)
    assert (laws["transitivity_all"].cases, others["transitivity_all"].cases) == (145_980, 30_546)
    assert round(100 * laws["transitivity_all"].share.value, 2) == 0.62
    assert round(100 * others["transitivity_all"].share.value, 2) == 0.48
