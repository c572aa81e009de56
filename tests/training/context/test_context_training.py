"""Teaching classifiers and segmenters with removed objects: what a step shows, what is learned, what is counted."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from reference import context_losses as slow
from sightline.errors import ConfigError
from sightline.models import load
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.scenes import View
from sightline.training.context.evaluation import (
    EditScores,
    class_figures,
    class_scores,
    pixel_counts,
    pixel_figures,
)
from sightline.training.context.options import ContextOptions, Strategy
from sightline.training.context.plan import ClassifierPlan, SegmenterPlan
from sightline.training.context.setup import plan_of
from sightline.training.context.task import ClassifierTask, EditedSource, SegmenterTask, evened, mirrored
from sightline.training.fit import fit

from coloured_scenes import GREY, coloured_scenes  # isort: skip

SMALL = ClassifierPlan(
    steps=6, batch=4, shrink=16, width=8, warmup=1, precision="fp32", rate=1e-3, average=0.5, optimizer="adam"
)
SEGMENT = SegmenterPlan(
    steps=4, batch=4, size="tiny", warmup=1, precision="fp32", rate=1e-3, average=0.5, optimizer="adam"
)


class _Recorder(nn.Module):
    """Stands for a network: keeps the pictures it was shown."""

    def __init__(self, classes: int, pixels: bool) -> None:
        super().__init__()
        self.classes, self.pixels = classes, pixels
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, images: Tensor) -> Tensor:
        self.shown = images
        mean = images.float().mean(dim=(1, 2, 3))[:, None] / 255.0
        logits = self.bias[None] + mean * torch.arange(self.classes)
        if self.pixels:
            return logits[:, :, None, None].expand(-1, -1, *images.shape[1:3])
        return logits


@pytest.mark.parametrize(
    ("removal", "edits"),
    [
        ("none", 0),
        ("rand", 4),  # one of each
        ("const", None),  # whole sets of half the batch
    ],
)
def test_what_a_classifier_is_shown(removal: Any, edits: int | None) -> None:
    scenes = coloured_scenes(12)
    source = EditedSource(scenes, batch=4, seed=1)
    task = ClassifierTask(replace(SMALL, removal=removal, flips=False), source)
    task.net = recorder = _Recorder(3, pixels=False)  # type: ignore[assignment]
    numbers = source.numbers(2)
    loss, metrics = task.loss(numbers, 2)
    loss.backward()
    shown = recorder.shown
    assert torch.equal(shown[:4], scenes.images[torch.from_numpy(numbers)])
    sets = [[e for e in scenes.table[n].tolist() if e >= 0] for n in numbers[:2]]
    expected = len(sets[0]) + len(sets[1]) if edits is None else edits
    assert len(shown) == 4 + expected == task.counts(2)["images"]
    if removal == "const":
        assert torch.equal(shown[4:], scenes.edits[torch.tensor(sets[0] + sets[1])])
        assert set(metrics) == {"bce", "hinge", "violated"}
    for n, edit in zip(numbers, shown[4:] if removal == "rand" else (), strict=False):
        assert any(torch.equal(edit, scenes.edits[e]) for e in scenes.table[n].tolist() if e >= 0)


def test_loss_of_a_classifier_is_that_of_its_labels() -> None:
    scenes = coloured_scenes(6)
    source = EditedSource(scenes, batch=3, seed=0)
    task = ClassifierTask(replace(SMALL, batch=3, removal="const", share=1.0, hinge=2.0, flips=False), source)
    task.net = recorder = _Recorder(3, pixels=False)  # type: ignore[assignment]
    loss, metrics = task.loss(source.numbers(0), 0)
    logits = recorder(recorder.shown).detach().double().numpy()
    truth, images, row = [], [], 3
    for n in source.numbers(0):
        edits = {}
        for e in (one for one in scenes.table[n].tolist() if one >= 0):
            kind = int(scenes.gone[e])
            truth.append([bool(on) and c != kind for c, on in enumerate(scenes.labels[n])])
            edits[str(kind)] = {str(c): float(logits[row, c]) for c in range(3)}
            row += 1
        images.append(edits)
    whole = [[bool(on) for on in scenes.labels[n]] for n in source.numbers(0)] + truth
    each = np.log1p(np.exp(np.where(whole, -logits, logits)))
    loss, metrics = loss.detach(), {name: value.detach() for name, value in metrics.items()}
    assert float(metrics["bce"]) == pytest.approx(np.mean(each), rel=1e-5)
    assert float(metrics["hinge"]) == pytest.approx(slow.hinge(images), abs=1e-5)
    assert float(loss) == pytest.approx(np.mean(each) + 2.0 * slow.hinge(images), rel=1e-5)
    alone = ClassifierTask(replace(task.plan, edited=False), source)
    alone.net = recorder  # type: ignore[assignment]
    assert float(alone.loss(source.numbers(0), 0)[1]["bce"].detach()) == pytest.approx(each[:3].mean(), rel=1e-5)


def test_batches_with_edit_sets_have_few_sizes() -> None:
    scenes = coloured_scenes(40)
    source = EditedSource(scenes, batch=8, seed=0)
    task = ClassifierTask(replace(SMALL, batch=8, removal="const", share=1.0), source)
    task.net = recorder = _Recorder(3, pixels=False)  # type: ignore[assignment]
    sizes, counts = set(), set()
    for step in range(10):
        task.loss(source.numbers(step), step)
        sizes.add(len(recorder.shown))
        counts.add(task.counts(step)["images"])
    assert len(sizes) < len(counts)
    assert all(size % 2 == 0 for size in sizes)


@given(st.integers(1, 300), st.integers(1, 32))
def test_pictures_of_a_batch_are_repeated_evenly(count: int, multiple: int) -> None:
    shown = evened(count, multiple, torch.device("cpu"))
    assert len(shown) % multiple == 0
    assert len(shown) - count < multiple
    assert torch.equal(shown[:count], torch.arange(count))
    times = torch.bincount(shown, minlength=count)
    assert int(times.max() - times.min()) <= 1


def test_cooccurring_scenes_alone() -> None:
    scenes = coloured_scenes(20)
    both = EditedSource(scenes, batch=2, seed=0, part="cooccur")
    assert (scenes.kinds()[both.rows] >= 2).all()
    assert len(both.rows) == (scenes.kinds() >= 2).sum() < 20
    assert both.facts() == {**scenes.facts, "part": "cooccur", "scenes": len(both.rows), "order": 0}
    assert len(EditedSource(scenes, batch=2, seed=0).rows) == 20
    with pytest.raises(ConfigError, match="no scene to learn from"):
        EditedSource(coloured_scenes(4, shown=(1,)), batch=2, seed=0, part="cooccur")
    among = EditedSource(scenes, batch=2, seed=0, part="cooccur", among=("red", "green"))
    assert scenes.labels[torch.from_numpy(among.rows)][:, :2].all()


@pytest.mark.parametrize("removal", ["none", "random", "sizebased", "hardnegative"])
def test_what_a_segmenter_is_shown(removal: Any) -> None:
    scenes = coloured_scenes(12, labelled=True)
    source = EditedSource(scenes, batch=4, seed=1)
    task = SegmenterTask(replace(SEGMENT, removal=removal, negative=0.5, flips=False), source)
    modules = task.modules()
    assert list(modules) == ["net", "losses"]
    task.net = recorder = _Recorder(4, pixels=True)  # type: ignore[assignment]
    before = task.losses.mean.clone()
    loss, metrics = task.loss(source.numbers(0), 0)
    loss, metrics = loss.detach(), {name: value.detach() for name, value in metrics.items()}
    assert len(recorder.shown) == task.counts(0)["images"] == (4 if removal == "none" else 8)
    assert not torch.equal(task.losses.mean, before)
    if removal == "none":
        assert float(loss) == pytest.approx(float(metrics["pixels"]))
        return
    logits = recorder(recorder.shown)[4:].detach()
    p = logits.softmax(dim=1)
    chosen = [next(e for e in scenes.table[n].tolist() if torch.equal(scenes.edits[e], s))
              for n, s in zip(source.numbers(0), recorder.shown[4:], strict=True)]  # fmt: skip
    rows = [-torch.log(1 - p[i, scenes.gone[e]])[scenes.holes[e]] for i, e in enumerate(chosen)]
    assert float(metrics["negative"]) == pytest.approx(float(torch.cat(rows).mean()), rel=1e-4)
    assert float(loss) == pytest.approx(float(metrics["pixels"] + 0.5 * metrics["negative"]), rel=1e-5)


def test_labels_are_mirrored_with_their_pictures() -> None:
    scenes = coloured_scenes(8, labelled=True)
    flipped = torch.tensor([True, False] * 4)
    images, maps = mirrored(scenes.images, flipped), mirrored(scenes.maps, flipped)
    assert torch.equal(images[1::2], scenes.images[1::2])
    assert torch.equal(images[0], scenes.images[0].flip(1))
    assert torch.equal((images != GREY).any(dim=3), maps != 3)  # squares are where their labels are


def taught(folder: Path, **how: Any) -> Any:
    source = EditedSource(coloured_scenes(12), batch=4, seed=0)
    return fit(ClassifierTask(replace(SMALL, removal="const"), source), folder, log_every=2, device="cpu", **how)[1]


def test_classifier_training_resumes_exactly(tmp_path: Path) -> None:
    whole = taught(tmp_path / "whole")
    assert taught(tmp_path / "cut", stop_after=3).steps == 3
    rest = taught(tmp_path / "cut")
    assert rest.steps == 6
    assert rest.weights.read_bytes() == whole.weights.read_bytes()
    assert set(whole.last) >= {"bce", "hinge", "violated", "images_per_s"}
    model = load(f"classifier:{whole.weights}")
    pixels = coloured_scenes(1).images[0].numpy()
    said = model.classify([View("v", size=(32, 32), load_image=lambda: pixels)])
    assert said.classes == ("red", "green", "blue")
    assert model.facts()["plan"]["removal"] == "const"
    # What is kept is the running mean of the weights with the network's own statistics.
    statistics = load_checkpoint(whole.weights).net.backbone.features[0][1].running_mean
    assert statistics.abs().max() > 0


def test_segmenter_training_resumes_exactly(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    source = EditedSource(coloured_scenes(8, labelled=True), batch=4, seed=0)
    plan = replace(SEGMENT, removal="hardnegative", negative=1.0)
    whole = fit(SegmenterTask(plan, source), tmp_path / "whole", device="cpu")[1]
    fit(SegmenterTask(plan, source), tmp_path / "cut", device="cpu", stop_after=2)
    rest = fit(SegmenterTask(plan, source), tmp_path / "cut", device="cpu")[1]
    assert rest.weights.read_bytes() == whole.weights.read_bytes()  # the average losses were taken back
    assert load(f"segmenter:{whole.weights}").classes == ("red", "green", "blue", "floor")


@pytest.mark.parametrize(
    ("plan", "changes", "problem"),
    [
        (SMALL, {"share": 1.5}, "share of a training must lie in"),
        (SMALL, {"hinge": -1.0}, "hinge of a training must be a number ≥ 0"),
        (SEGMENT, {"size": "huge"}, "size of a segmenter must be one of r50"),
        (SEGMENT, {"negative": -0.1}, "negative of a training"),
    ],
)
def test_bad_plans(plan: Any, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        replace(plan, **changes)
    with pytest.raises(ConfigError, match="must be labelled"):
        SegmenterTask(SEGMENT, EditedSource(coloured_scenes(4), batch=2, seed=0))


@pytest.mark.parametrize(
    ("options", "kind", "settings_"),
    [
        ({"removal": "const"}, ClassifierPlan, {"removal": "const", "hinge": 0.03, "backbone": "mobilenet_v2"}),
        ({"net": "vgg19"}, ClassifierPlan, {"removal": "rand", "backbone": "vgg19"}),
        ({"net": "upernet"}, SegmenterPlan, {"removal": "hardnegative", "negative": 1.0, "size": "tiny"}),
        ({"net": "upernet", "removal": "sizebased"}, SegmenterPlan, {"removal": "sizebased", "negative": 0.0}),
        ({"net": "upernet", "fill": "kept"}, SegmenterPlan, {"removal": "sizebased", "negative": 0.0}),  # Table 7
        ({"fill": "kept", "removal": "none"}, ClassifierPlan, {"removal": "none"}),
    ],
)
def test_options_make_plans(options: dict[str, Any], kind: type, settings_: dict[str, Any]) -> None:
    plan = plan_of(ContextOptions(**options), "cpu")
    assert type(plan) is kind
    assert {name: getattr(plan, name) for name in settings_} == settings_
    for strategy in get_args(Strategy):  # each is for one kind of network, but none
        accepted = []
        for net in ("light", "upernet"):
            with suppress(ConfigError):
                accepted.append(plan_of(ContextOptions(net=net, removal=strategy), "cpu"))
        assert len(accepted) == (2 if strategy == "none" else 1), strategy


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"net": "upernet", "removal": "hardnegative-negative"}, "--removal sizebased, random or hardnegative"),
        ({"net": "upernet", "removal": "random-negative"}, "negative loss of random-negative would unlearn"),
        ({"removal": "const"}, "const would teach that a class is absent"),
        ({}, "rand would teach that a class is absent"),  # what classifiers do unless told otherwise
    ],
)
def test_nothing_is_unlearned_that_is_there_to_be_seen(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=f"the fill kept removes nothing.*{problem}"):
        plan_of(ContextOptions(**options, fill="kept"), "cpu")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_violations_are_the_formulas(seed: int) -> None:
    draw = np.random.default_rng(seed)
    names, images, source, gone, rows = ["a", "b", "c"], [], [], [], []
    labels = np.zeros((5, 3), bool)
    for image in range(5):
        there = sorted(draw.choice(3, draw.integers(1, 4), replace=False).tolist())
        labels[image, there] = True
        scores = draw.integers(-2, 3, (len(there), 3)).astype(float)
        images.append(
            {names[c]: dict(zip(names, row, strict=True)) for c, row in zip(there, scores.tolist(), strict=True)}
        )
        source += [image] * len(there)
        gone += there
        rows.append(scores)
    given_scores = EditScores(
        labels, draw.normal(size=(5, 3)), np.concatenate(rows), np.array(source), np.array(gone)
    )
    figures = class_figures(given_scores, names)
    expected = {name: slow.violations(images, name) for name in names}
    for name in names:
        assert (figures["v_min"][name], figures["v_mean"][name]) == expected[name]
    known = [one[0] for one in expected.values() if one[0] is not None]
    assert figures["v_min"]["mean"] == (pytest.approx(np.mean(known)) if known else None)


def test_known_answers() -> None:
    """A model that sees the square scores V^min 0, one that knows only the other labels 1; both by mAP."""
    scenes = coloured_scenes(30, shown=(2, 3))

    class Sees(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            return torch.stack([(images[..., c] > 190).float().sum(dim=(1, 2)) for c in range(3)], dim=1)

    class Guesses(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            seen = Sees()(images)
            return seen.sum(dim=1, keepdim=True) - seen  # by the company alone

    sees = class_figures(class_scores(Sees(), scenes, 8), scenes.classes)
    assert sees["v_min"]["mean"] == sees["v_mean"]["mean"] == 0.0
    assert sees["map"]["full"] == 1.0
    assert class_figures(class_scores(Guesses(), scenes, 8), scenes.classes)["v_min"]["mean"] == 1.0
    assert 0.5 < sees["chance"]["v_min"] < 0.67  # one or two context classes


def test_pixels_are_counted() -> None:
    scenes = coloured_scenes(40, labelled=True, shown=(2, 3))

    class Company(nn.Module):
        """Sees all squares, and takes green for blue where there is no red."""

        def forward(self, images: Tensor) -> Tensor:
            floor = torch.full(images.shape[:3], 0.5)
            logits = torch.stack([*((images[..., c] > 190).float() for c in range(3)), floor], dim=1)
            alone = logits[:, 0].flatten(1).sum(dim=1) == 0
            logits[alone, 2] += 2 * logits[alone, 1]
            return logits

    figures = pixel_figures(pixel_counts(Company(), scenes, 16), scenes, among=("red", "green", "blue"))
    assert figures["iou"]["full"]["red"] == 1.0
    assert figures["ar"]["max"]["green"] == figures["ar"]["pairs"]["green"]["red"] == 1.0
    assert figures["ar"]["pairs"]["green"]["blue"] == 0.0
    assert figures["ar"]["pairs"]["red"] == {"green": 0.0, "blue": 0.0}
    assert figures["iou"]["full"]["green"] < 1.0
    said = Company()(scenes.images).argmax(dim=1)
    right = float((said == scenes.maps).float().mean())
    assert figures["accuracy"]["full"] == pytest.approx(right)
    both, either = (said == 1) & (scenes.maps == 1), (said == 1) | (scenes.maps == 1)
    assert figures["iou"]["full"]["green"] == pytest.approx(float(both.sum() / either.sum()))
