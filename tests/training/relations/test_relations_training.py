"""Training of relations networks: examples, folds, the two plans, resuming, and what cannot be learned from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import sightline
from sightline.errors import ConfigError, DataError
from sightline.exams.relations import simulate
from sightline.exams.relations.pairs import tables_of
from sightline.models.registry import load
from sightline.models.relations.model import OrderedModel, PairModel
from sightline.models.relations.network import read_network
from sightline.store import Dataset
from sightline.training.fit import fit
from sightline.training.relations.evaluation import compared, fold_answers, fold_networks, image_folds
from sightline.training.relations.examples import RelationSource
from sightline.training.relations.options import RelationsOptions, plan_of
from sightline.training.relations.plan import RelationsPlan, paper_plan
from sightline.training.relations.setup import source_of, training_split
from sightline.training.relations.tables import examples_of
from sightline.training.relations.task import RelationsTask, share_right

SMALL = {"steps": 40, "batch": 32, "hidden": 8, "members": 2, "warmup": 4}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("labels")
    simulate(folder, images=160, seed=3)
    return sightline.open(folder)


def source(data: Dataset, plan: RelationsPlan) -> RelationSource:
    tables = tables_of(data, "validation")
    return RelationSource(
        examples_of(list(tables.values())), batch=plan.batch, members=plan.members, seed=0, facts={}
    )


def test_examples(data: Dataset) -> None:
    tables = tables_of(data, "validation")
    made = examples_of(list(tables.values()))
    within, across = tables["within_image"], tables["across_images"]
    assert len(made) == len(within) + len(across)
    assert made.across.sum() == len(across)
    np.testing.assert_allclose(made.depth.sum(axis=1), 1.0, rtol=1e-6)
    assert not made.occlusion[made.across].any()  # nobody is asked who hides whom across images
    row = len(within) + 2
    name = across.categories[across.category[across.first[2]]]
    assert made.classes[made.category[made.first[row]] - 1] == name
    np.testing.assert_allclose(made.boxes[made.second[row]], across.boxes[across.second[2]], rtol=1e-6)


def test_no_pairs_to_learn_from() -> None:
    with pytest.raises(ConfigError, match="no labelled pair to learn from"):
        examples_of([])


def test_targets_are_votes_labels_and_smoothing(data: Dataset) -> None:
    for votes, smoothing in ((1.0, 0.0), (0.0, 0.0), (0.5, 0.2)):
        plan = RelationsPlan(votes=votes, smoothing=smoothing, **SMALL)
        task = RelationsTask(plan, source(data, plan))
        examples = task.source.examples
        for row in (0, 5, 17):
            label, share = examples.depth_label[row], examples.depth[row]
            one = np.eye(4)[label] if label >= 0 else share
            expected = (1 - smoothing) * (votes * share + (1 - votes) * one) + smoothing / 4
            np.testing.assert_allclose(task._columns["depth"][row].numpy(), expected, atol=1e-6)


def test_the_share_of_the_right_is_of_labelled_pairs() -> None:
    unsure = torch.eye(4)[[0, 0, 1, 0]]
    targets = torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 0], [1.0, 0, 0, 0], [0, 0, 0, 0]])
    labelled = torch.tensor([True, False, True, False])
    assert float(share_right(unsure, targets, labelled)) == 0.5  # 0.75 with pairs that nobody was asked about
    assert share_right(unsure, targets, torch.zeros(4, dtype=torch.bool)).isnan()


def test_pairs_without_a_depth_label_are_neither_right_nor_wrong(data: Dataset, tmp_path: Path) -> None:
    plan = RelationsPlan(**{**SMALL, "steps": 2})
    task = RelationsTask(plan, source(data, plan))
    task._columns["depth_label"][:] = -1
    _, fitted = fit(task, tmp_path / "net", device="cpu")  # a share that is not known ends no training
    assert np.isnan(fitted.last["right"])
    assert np.isfinite(fitted.last["loss"])


def test_turned_pairs_have_turned_targets(data: Dataset) -> None:
    plan = RelationsPlan(swapped=True, jitter=0.0, mirrored=0.0, unnamed=0.0, smoothing=0.0, **SMALL)
    task = RelationsTask(plan, source(data, plan))
    examples = task.source.examples
    rows = torch.arange(200)[None].expand(2, -1)
    torch.manual_seed(0)
    pairs, (depth, _) = task._changed(rows)
    first = torch.from_numpy(examples.boxes[examples.first])[rows]
    as_written = (pairs.boxes_a == first).all(-1)
    assert 0.3 < as_written.float().mean() < 0.7
    share = torch.from_numpy(examples.depth)[rows]
    torch.testing.assert_close(depth[as_written], share[as_written])
    torch.testing.assert_close(depth[~as_written], share[~as_written][:, [0, 2, 1, 3]])


@pytest.mark.parametrize("ordered", [False, True])
def test_a_training_learns_and_is_taken_as_a_model(data: Dataset, tmp_path: Path, ordered: bool) -> None:
    plan = RelationsPlan(ordered=ordered, **{**SMALL, "steps": 150})
    _, fitted = fit(RelationsTask(plan, source(data, plan)), tmp_path / "net", device="cpu", log_every=10)
    log = (tmp_path / "net" / "log.csv").read_text().splitlines()
    first, last = (float(line.split(",")[1]) for line in (log[1], log[-1]))
    assert last < first - 0.2
    model = load(str(tmp_path / "net"))  # the folder, not the file in it
    assert isinstance(model, OrderedModel if ordered else PairModel)
    assert model.facts()["steps"] == fitted.steps == 150
    results = sightline.examine(str(fitted.weights), data, "relations", out=tmp_path / "runs", baselines=False)
    assert len(results.runs) == 1


def test_an_interrupted_training_goes_on_as_if_it_had_not_been(data: Dataset, tmp_path: Path) -> None:
    plan = RelationsPlan(**SMALL)
    whole, _ = fit(RelationsTask(plan, source(data, plan)), tmp_path / "a", device="cpu")
    fit(RelationsTask(plan, source(data, plan)), tmp_path / "b", device="cpu", stop_after=17)
    again, _ = fit(RelationsTask(plan, source(data, plan)), tmp_path / "b", device="cpu")
    for name, weight in whole.averaged().items():
        torch.testing.assert_close(weight, again.averaged()[name], rtol=0, atol=0)


def test_the_papers_recipe() -> None:
    plan = paper_plan("bcda")
    assert (plan.steps, plan.batch, plan.rate, plan.hidden) == (60_000, 32, 2e-4, 1024)
    assert (plan.dropout, plan.jitter, plan.l2, plan.swapped, plan.optimizer) == (0.5, 0.1, 1e-4, True, "adam")
    assert plan.factor(0) == plan.factor(59_999) == 1.0


def test_l2_is_half_the_squared_weights(data: Dataset) -> None:
    def gradients(l2: float) -> list[torch.Tensor]:
        plan = replace(paper_plan("bc"), hidden=4, l2=l2)
        task = RelationsTask(plan, source(data, plan))
        torch.manual_seed(0)
        net = task.modules()["net"]
        torch.manual_seed(1)
        loss, _ = task.loss(next(iter(task.source.loader(0, 1))), 0)
        loss.backward()
        if l2:
            return [weight.grad for weight in net.parameters()]
        (0.3 * sum(weight.square().sum() for weight in net.parameters()) / 2).backward()
        return [weight.grad for weight in net.parameters()]

    torch.testing.assert_close(gradients(0.3), gradients(0.0))


def test_the_papers_network_is_trained(data: Dataset, tmp_path: Path) -> None:
    plan = plan_of(RelationsOptions(data=data.path, paper=True, steps=20))
    task = RelationsTask(plan, source(data, plan))
    _, fitted = fit(task, tmp_path / "paper", device="cpu")
    assert load(str(fitted.weights)).facts()["hidden"] == 1024  # type: ignore[attr-defined]


def test_folds_hold_images_together(data: Dataset) -> None:
    tables = tables_of(data, "validation")
    dealt = image_folds(tables, 3, seed=0)
    place: dict[str, set[int]] = {}
    for setting, table in tables.items():
        for cluster, fold in zip(table.clusters, dealt[setting], strict=True):
            for scene in cluster.split("|"):
                place.setdefault(scene.split("/")[-1], set()).add(int(fold))
    assert all(len(folds) == 1 for folds in place.values())
    plan = RelationsPlan(**SMALL)
    answers = fold_answers(fold_networks(plan, tables, dealt, 3), tables, dealt)
    assert set(answers.f1) == {("within_image", "depth"), ("within_image", "occlusion"), ("across_images", "depth")}
    assert all(0.0 < value < 1.0 for value in answers.f1.values())
    assert (answers.answers["within_image", "depth"] >= 0).all()
    same = compared(answers, answers)
    assert [row.name for row in same] == ["/".join(key) for key in answers.f1]
    assert [row.difference for row in same] == [0.0] * 3
    assert [row.a for row in same] == pytest.approx(list(answers.f1.values()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one of --world and --data"),  # neither
        ({"data": Path("x"), "world": "w"}, "one of --world and --data"),  # both
        ({"world": "w", "split": "train"}, "--split is for --data"),
        ({"data": Path("x"), "scenes": 3}, "--scenes is for --world"),
        ({"data": Path("x"), "cues": "cd"}, "cues are b with"),  # without boxes
        ({"data": Path("x"), "paper": True, "model": "consistent"}, "--plan paper is for --model mlp"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RelationsOptions(**options)  # type: ignore[arg-type]


def test_cues_that_look_need_pictures(data: Dataset, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4)))
    options = RelationsOptions(data=data.path, cues="bd", depth=tmp_path)
    with pytest.raises(DataError, match="a picture to learn from is not there"):
        source_of(options, plan_of(options))
    blind = RelationsOptions(data=data.path, cues="bd")
    with pytest.raises(ConfigError, match="needs the option depth"):
        source_of(blind, plan_of(blind))


def test_which_split_is_learned_from(data: Dataset) -> None:
    assert training_split(data, None) == "validation"
    with pytest.raises(ConfigError, match="no split called 'dev'"):
        training_split(data, "dev")


def test_facts_of_a_source_are_json(data: Dataset) -> None:
    options = RelationsOptions(data=data.path, study="within")
    facts = source_of(options, plan_of(options)).facts()
    assert json.loads(json.dumps(facts))["settings"] == ["within_image"]


def test_numbers_of_objects_may_have_any_unit(data: Dataset, tmp_path: Path) -> None:
    plan = RelationsPlan(cues="bd", **SMALL)
    examples = examples_of(list(tables_of(data, "validation").values()))
    numbers = np.full((len(examples.boxes), 8), 7.0, dtype=np.float32)  # the same everywhere
    numbers[:, 0] = np.linspace(0, 90_000, len(numbers))  # millimetres: more than half precision holds
    seen = replace(examples, numbers=numbers)
    task = RelationsTask(plan, RelationSource(seen, batch=32, members=2, seed=0, facts={}))
    net = task.modules()["net"]
    file = tmp_path / "net.safetensors"
    file.write_bytes(task.dump(dict(net.named_parameters()), {}))
    assert read_network(file).objects == 8
