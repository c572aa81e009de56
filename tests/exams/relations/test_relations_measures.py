"""What is counted of marked judgements, against the definitions; and two runs compared on what both were asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams import relations_runs
from exams.relations.pair_tables import make_table, marks_of, random_codes, random_table, records_of
from reference.relation_scores import slow_scores
from sightline.errors import ConfigError
from sightline.exams.relations import Protocol, RelationsExam, mark_pairs
from sightline.exams.relations import marks as marks_module
from sightline.exams.relations.marks import SUBTASKS, components, joint_counts, joint_units
from sightline.exams.relations.measures import SUBTASK_TITLES, relations_measures
from sightline.exams.run import Run, RunRecords
from sightline.exams.runner import run_exam
from sightline.exams.scoring import Scores, compare_records, compare_runs, score_records
from sightline.models import candidate
from sightline.scenes import words
from sightline.stats import holm, intervals
from sightline.store import Dataset, open_dataset

SEEDS = st.integers(0, 10_000)
FIGURES = ("precision", "recall", "f1")
FEW = 200


def tables_of(seed):
    return {setting: random_table(seed, setting=setting) for setting in ("within_image", "across_images")}


def random_records(seed, tables):
    return pl.concat([records_of(table, *random_codes(seed + 1, table)) for table in tables.values()])


def scored(records, tables=None, protocol=Protocol.DEFAULT, resamples=20):
    """Scores of records, as `scoring.score_records` makes them of an exam's measures."""
    figures, facts = {}, {}
    for measures in relations_measures(mark_pairs(records, tables, protocol=protocol), protocol):
        facts |= measures.facts
        if measures.names:
            found = intervals(measures.counts, measures.statistic, resamples=resamples)
            figures |= dict(zip(measures.names, found, strict=True))
    return Scores("relations", "scene", figures, facts)


def task(scores, name, kind="micro", label="all"):
    return [scores.at("subtasks", name, kind, label, figure).value for figure in FIGURES]


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from(["default", "paper"]))
def test_scores_equal_the_definitions(seed, protocol):
    records = random_records(seed, tables_of(seed))
    scores = scored(records, protocol=Protocol(protocol))
    marks = mark_pairs(records)
    assert list(scores.facts["subtasks"]) == ["within_image/depth", "within_image/occlusion", "across_images/depth"]
    means = []
    for (setting, aspect), marked in marks.items():
        name = f"{setting}/{aspect}"
        slow = slow_scores(marked, protocol)
        names = {**dict(enumerate(words(aspect))), "all": "all"}
        for label, expected in slow.items():
            np.testing.assert_allclose(task(scores, name, "micro", names[label]), expected)
        by_scene = [
            slow_scores(marked, protocol, np.flatnonzero(marked.cluster == c))["all"]
            for c in range(len(marked.clusters))
        ]
        with np.errstate(invalid="ignore"):
            known = np.isfinite(by_scene)
            expected = np.where(known, by_scene, 0).sum(0) / known.sum(0)
        np.testing.assert_allclose(task(scores, name, "macro"), expected)
        means.append(slow["all"][2])
    np.testing.assert_allclose(scores.at("average").value, np.mean(means))


def test_clear_order_accuracy_counts_anything_else_as_wrong():
    table = make_table([(0, 1), (0, 2), (1, 2)], [1, 2, 3], scene_of=[0, 0, 0])
    said = [1, 0, 3, 2, -1, 3]  # right, unsure, not clear, right, silent, not clear
    scores = scored(records_of(table, said))
    for kind in ("micro", "macro"):
        assert scores.at("subtasks", "within_image/depth", "clear_order", kind).value == 0.5


def test_micro_and_macro_differ_as_they_should():
    # scene 0: one pair, right both ways; scene 1: three pairs, wrong both ways
    table = make_table([(0, 1), (2, 3), (2, 4), (3, 4)], [1, 1, 1, 1], scene_of=[0, 0, 1, 1, 1])
    scores = scored(records_of(table, [1, 2, 2, 2, 2, 1, 1, 1]))
    assert task(scores, "within_image/depth")[2] == 0.25
    assert task(scores, "within_image/depth", "macro")[2] == 0.5
    assert task(scores, "within_image/depth", "macro", "closer")[2] == 0.5


def test_official_never_looks_at_reversed_answers_across_images():
    table = make_table([(0, 2), (1, 2)], [1, 2], scene_of=[0, 0, 1], setting="across_images")
    perfect = records_of(table, table.ordered().depth)
    scores = scored(perfect, {"across_images": table}, Protocol.OFFICIAL)
    assert task(scores, "across_images/depth")[:2] == [1.0, 0.5]
    assert task(scores, "across_images/depth", "micro", "same")[2] == 0.0  # the official 0 of an undefined score
    # but scenes without the label are no zeros in a mean
    assert np.isnan(task(scores, "across_images/depth", "macro", "same")[2])


def test_average_needs_all_three_and_stands_for_the_exam():
    tables = tables_of(1)
    within = {"within_image": tables["within_image"]}
    scores = scored(random_records(1, within))
    assert scores.to_dict()["average"] is None
    assert scores.headline[0].label == "within_image/depth"
    assert scored(random_records(1, tables)).headline[0].label == "average"
    nothing = {"protocol": "default", "subtasks": {}, "average": None}
    assert scored(pl.DataFrame()).to_dict() == nothing | {"not_scored": list(SUBTASK_TITLES)}


@pytest.mark.parametrize("protocol", list(Protocol))
def test_a_perfect_answer_scores_one(protocol):
    table = make_table([(0, 1), (0, 2), (1, 2)], [1, 2, 3], scene_of=[0, 0, 0], occlusion=[0, 1, 3])
    ordered = table.ordered()
    scores = scored(records_of(table, ordered.depth, ordered.occlusion), {"within_image": table}, protocol)
    assert [task(scores, f"within_image/{aspect}")[2] for aspect in ("depth", "occlusion")] == [1.0, 1.0]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=15))
def test_components_equal_flood_fill(n, raw):
    edges = [(a % n, b % n) for a, b in raw]
    expected = []
    for node in range(n):
        seen, todo = {node}, [node]
        while todo:
            x = todo.pop()
            for a, b in edges:
                for near in ((b,) if a == x else ()) + ((a,) if b == x else ()):
                    if near not in seen:
                        seen.add(near)
                        todo.append(near)
        expected.append(min(seen))
    a, b = (np.array([e[k] for e in edges], dtype=np.int64) for k in (0, 1))
    assert components(a, b, n).tolist() == expected


def test_an_image_pair_and_its_images_are_one_unit():
    within = make_table([(0, 1), (2, 3), (4, 5)], [1, 1, 1], scene_of=[0, 0, 1, 1, 2, 2])
    across = make_table([(0, 1), (2, 3)], [1, 2], scene_of=[0, 1, 3, 4], setting="across_images")
    marks = {
        (t.setting, aspect): marked
        for t in (within, across)
        for aspect, marked in marks_of(t, t.ordered().depth).items()
    }
    unit, units = joint_units({task: marked.images for task, marked in marks.items()})
    inside, between = unit["within_image", "depth"], unit["across_images", "depth"]
    assert units == ("test/0", "test/2", "test/3")  # {0, 1}, {2} and {3, 4}
    assert inside[0] == inside[1] == between[0]
    assert len({inside[0], inside[2], between[1]}) == 3


def test_joint_counts_keep_every_judgement():
    marks = mark_pairs(random_records(7, tables_of(7)))
    joint = joint_counts(marks, Protocol.DEFAULT)
    assert joint.subtasks == SUBTASKS
    for i, task in enumerate(joint.subtasks):
        known = marks[task].truth >= 0
        right = known & (marks[task].truth == marks[task].answer)
        assert joint.counts[:, i, 0, :, 0].sum() == right.sum()
        assert joint.counts[:, i, 0, :, 2].sum() == (known & ~right).sum()


@pytest.fixture(scope="module")
def data(simulated: Path) -> Dataset:
    return open_dataset(simulated)


@pytest.fixture(scope="module")
def runs(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    folder = tmp_path_factory.mktemp("runs")
    a, b = (run_exam(RelationsExam(), candidate(name), data, folder / name) for name in ("bottom_edge", "size"))
    return a, b


def no_data() -> Dataset:
    raise ConfigError("the dataset is not at hand")


def test_values_are_those_of_the_runs_themselves(runs: tuple[Run, Run]) -> None:
    exam = RelationsExam()
    found = compare_runs(exam, *runs, no_data, resamples=FEW)
    rows = {row.name: row for row in found.comparisons}
    for run, side in zip(runs, "ab", strict=True):
        scores = score_records(exam, run.read(), no_data, resamples=FEW)
        for setting, aspect in SUBTASKS:
            value = getattr(rows[f"{setting} {aspect}"], side)
            assert value == task(scores, f"{setting}/{aspect}")[2]
        average = scores.at("average")
        assert average is not None
        assert getattr(rows["average"], side) == pytest.approx(average.value, abs=1e-15)
    assert found.dropped == 0
    assert found.to_dict()["protocol"] == "default"


def test_rows_stand_sub_task_by_sub_task_then_the_average(runs: tuple[Run, Run]) -> None:
    found = compare_runs(RelationsExam(protocol="paper"), *runs, no_data, resamples=FEW)
    names = [row.name for row in found.comparisons]
    assert names == [
        *("within_image depth", "  closer", "  farther", "  same"),
        *("within_image occlusion", "  none", "  occludes", "  occluded", "  mutual"),
        *("across_images depth", "  closer", "  farther"),
        "average",
    ]


def test_only_common_items_count_and_a_half_asked_pair_is_dropped_once(runs: tuple[Run, Run]) -> None:
    whole, other = (run.read() for run in runs)
    items = whole.items["item"].to_list()
    forward = next(item for item in items if ">" in item)
    gone = {items[0], forward}  # one photo, and one direction of one image pair
    cut = whole.of([item for item in items if item not in gone])
    rows, dropped = compare_records(RelationsExam(), cut, other, no_data, resamples=FEW)
    assert dropped == 2
    pair = whole.items.filter(pl.col("item") == forward)["cluster_id"][0]
    rest = whole.items.filter((pl.col("cluster_id") != pair) & (pl.col("item") != items[0]))["item"].to_list()
    expected, _ = compare_records(RelationsExam(), whole.of(rest), other.of(rest), no_data, resamples=FEW)
    assert str(rows) == str(expected)


def test_a_run_against_itself_shows_no_difference(runs: tuple[Run, Run]) -> None:
    for row in compare_runs(RelationsExam(), runs[0], runs[0], no_data, resamples=FEW).comparisons:
        assert row.difference == 0 or row.difference != row.difference
        assert not row.p_value < 1


def test_holm_is_over_the_predicates(runs: tuple[Run, Run]) -> None:
    rows = compare_runs(RelationsExam(), *runs, no_data, resamples=FEW).comparisons
    predicates = [row for row in rows if row.name.startswith("  ")]
    assert len(predicates) == 12  # four labels in each of three sub-tasks
    corrected = holm([row.p_value for row in predicates])
    assert [row.p_holm for row in predicates] == pytest.approx(corrected.tolist(), nan_ok=True)
    assert all(row.p_holm == row.p_value for row in rows if row not in predicates)


def test_only_the_official_protocol_asks_for_the_boxes(runs: tuple[Run, Run], data: Dataset) -> None:
    official = RelationsExam(protocol="official")
    with pytest.raises(ConfigError, match="not at hand"):
        compare_runs(official, *runs, no_data, resamples=FEW)
    found = compare_runs(official, *runs, lambda: data, resamples=FEW)
    assert {row.name for row in found.comparisons} >= {"within_image depth", "average"}
    with pytest.raises(ConfigError, match="needs the dataset"):
        mark_pairs(runs[0].records(), protocol=Protocol.OFFICIAL)


def test_runs_of_other_data_or_splits_are_refused(runs: tuple[Run, Run], data: Dataset, tmp_path: Path) -> None:
    other = run_exam(RelationsExam(split="validation", train_split=""), candidate("size"), data, tmp_path)
    with pytest.raises(ConfigError, match="split"):
        compare_runs(RelationsExam(), runs[0], other, no_data)


def test_runs_without_a_common_scene_are_refused(runs: tuple[Run, Run]) -> None:
    records = runs[0].read()
    none = RunRecords(records.rows.head(0), records.items.head(0))
    with pytest.raises(ConfigError, match="no scene in common"):
        compare_records(RelationsExam(), none, records, no_data)


@pytest.mark.parametrize("with_tables", [True, False])
def test_marks_of_runs_asked_the_same_equal_those_made_alone(tmp_path, with_tables):
    data = relations_runs.dataset(tmp_path)
    tables = RelationsExam().tables(data) if with_tables else None
    read = [run.read().rows for run in relations_runs.runs(data, tmp_path, ("majority", "bottom_edge", "size"))]
    shuffled = read[1].sample(fraction=1.0, shuffle=True, seed=1)  # asked the same in another order
    in_turn = [mark_pairs(rows, tables) for rows in (*read, shuffled, read[0])]
    for rows, marks in zip((*read, shuffled, read[0]), in_turn, strict=True):
        marks_module._last.clear()
        alone = mark_pairs(rows, tables)
        assert [*marks] == [*alone]
        for task, marked in marks.items():
            for name in ("clusters", "images", "cluster", "truth", "answer", "reverse"):
                assert np.array_equal(getattr(marked, name), getattr(alone[task], name)), (task, name)
    assert not np.array_equal(
        in_turn[0]["within_image", "depth"].answer, in_turn[1]["within_image", "depth"].answer
    )
    shared = [marks["within_image", "depth"].clusters for marks in in_turn]
    assert shared[0] is shared[1] is shared[2]
    assert shared[2] is not shared[3]
