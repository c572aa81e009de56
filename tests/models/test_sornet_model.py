# ruff: noqa: E402 - without torch there is nothing to import
"""SORNet as a model: what it refuses before any work, and that its answers are the network's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="checkpoints need safetensors")

from nets_made import BOTH, batch, net, shown
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError, ModelError, SightlineError
from sightline.models import candidate
from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.sornet import consistent, glances
from sightline.models.registry import fingerprint
from sightline.models.sornet import SornetModel, load_file
from sightline.scenes import View
from sightline.scenes.labels import PREDICATES
from sightline.skills import Queries, QuerySpec, Verdicts, skills_of


def asked(images: Sequence[NDArray[np.uint8]], patches: NDArray[np.uint8], views: Sequence[str] = BOTH) -> Queries:
    """A question about pictures that cannot be written to, as those of a store may be."""
    patches.flags.writeable = False
    for image in images:
        image.flags.writeable = False
    shots = [View(name, load_image=lambda i=i: images[i]) for i, name in enumerate(views)]
    return Queries("s", tuple(shots), patches, ({},) * len(patches))


def model(seed: int = 0, **changes: object) -> SornetModel:
    return SornetModel(net(seed, **changes), device="cpu")


def test_answers_are_the_networks() -> None:
    images, patches = shown(4)
    made = model()
    answers = made.predicates(asked(images, patches)).answers
    Verdicts.checked(Verdicts(answers), 4, "sornet")
    with torch.no_grad():
        said = net()(*batch(images.copy(), patches.copy()))[0].numpy() > 0
    assert (answers[..., 4:] == said[..., 4:]).all()  # geometry as it stands
    off = ~np.eye(4, dtype=bool)
    for one, other in ((0, 1), (2, 3)):  # a left of b: b right of a
        assert (answers[..., one] == answers[..., other].T)[off].all()
    assert 0 < answers[off].mean() < 1
    assert skills_of(made) == ("predicates",)


def test_thresholds_of_the_checkpoint_decide(tmp_path: Path) -> None:
    images, patches = shown(4)
    plain = model()
    logits = plain.logits(asked(images, patches)).numpy()
    off = ~np.eye(4, dtype=bool)
    cuts = {"contains": float(np.median(logits[off][:, 4])), "can_support": -1000.0, "supports": 1000}
    file = tmp_path / "cut.safetensors"
    file.write_bytes(dump_checkpoint(net(), {"thresholds": cuts}))
    cut = load_file(file, device="cpu")
    assert dict(zip(PREDICATES, cut.thresholds, strict=True)) == dict.fromkeys(PREDICATES, 0.0) | cuts
    answers = cut.predicates(asked(images, patches)).answers
    assert answers[off][:, 4].sum() == 6  # those above the median
    assert answers[off][:, 7].all()
    assert not answers[off][:, 5].any()
    others = [0, 1, 2, 3, 6]
    assert (answers[..., others] == plain.predicates(asked(images, patches)).answers[..., others]).all()
    assert cut.facts()["thresholds"] == cuts
    assert SornetModel(net(), about={"thresholds": cuts}, device="cpu").fingerprint != plain.fingerprint


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        ([0.0], "thresholds must be by predicate, left, .*; found"),
        ({"inside": 0.0}, "thresholds must be by predicate"),
        ({"contains": "high"}, "the threshold of contains must be a number, not 'high'"),
        ({"contains": float("nan")}, "the threshold of contains must be a number, not nan"),
        ({"contains": True}, "the threshold of contains must be a number, not True"),
    ],
)
def test_strange_thresholds_are_refused(stored: object, problem: str) -> None:
    with pytest.raises(ModelError, match=f"sornet: {problem}"):
        SornetModel(net(), about={"thresholds": stored}, device="cpu")


def test_several_glances_are_averaged_and_make_another_model() -> None:
    images, patches = shown(3)
    once, often = (SornetModel(net(), device="cpu", glances=count) for count in (1, 4))
    with torch.no_grad():
        each = glances(net(), *batch(images.copy(), patches.copy()), count=4)
    said = consistent(each.mean(dim=0))[0]
    torch.testing.assert_close(often.logits(asked(images, patches)), said, rtol=0.0, atol=2e-5)
    assert not torch.allclose(once.logits(asked(images, patches)), said, atol=1e-3)
    assert once.fingerprint != often.fingerprint
    assert (once.name, often.name) == ("sornet", "sornet (4 glances)")  # two columns of a table
    assert often.facts()["glances"] == 4
    with pytest.raises(ConfigError, match="sornet: glances at a scene must be 1 to 5, not 9"):
        SornetModel(net(), device="cpu", glances=9)
    with pytest.raises(ConfigError, match="sornet: glances at a scene must be 1 to 5, not 'many'"):
        SornetModel(net(), about={"glances": "many"}, device="cpu")


def test_a_checkpoint_may_say_how_often_it_looks() -> None:
    usual, once = (SornetModel(net(), about={"glances": 3}, device="cpu", glances=count) for count in (None, 1))
    assert [(who.glances, who.name) for who in (usual, once)] == [(3, "sornet"), (1, "sornet (1 glance)")]
    assert once.facts()["glances"] == 1


def test_a_view_goes_by_its_name() -> None:
    images, patches = shown(3)
    made = model()
    plain = made.logits(asked(images, patches))
    turned = made.logits(asked(images[::-1], patches, BOTH[::-1]))
    torch.testing.assert_close(turned, plain, rtol=0.0, atol=2e-5)
    top = made.logits(asked(images[1:], patches, ("top",)))
    assert not torch.allclose(top, made.logits(asked(images[1:], patches, ("original",))), atol=1e-2)


def test_predicates_come_in_the_order_of_all() -> None:
    images, patches = shown(3)
    made = model(predicates=("supports", "left"))
    answers, logits = made.predicates(asked(images, patches)).answers, made.logits(asked(images, patches))
    assert logits.shape == (3, 3, 2)
    assert (answers[..., PREDICATES.index("supports")] == (logits[..., 0] > 0).numpy()).all()
    assert (answers[..., PREDICATES.index("left")] == (logits[..., 1] > 0).numpy()).all()
    others = [i for i, predicate in enumerate(PREDICATES) if predicate not in ("supports", "left")]
    assert (answers[..., others] == -1).all()  # it cannot say


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_compare(n: int) -> None:
    images, _ = shown(0)
    patches = np.zeros((n, 32, 32, 3), np.uint8)
    assert model().predicates(asked(images, patches)).answers.shape == (n, n, 8)


def test_attention() -> None:
    images, patches = shown(3)
    made = model()
    looked = made.attention(asked(images, patches))
    assert looked.shape == (3, 2, 2, 3)  # queries, views, rows, columns
    assert looked.dtype == np.float32
    assert looked.min() >= 0.0
    assert (looked.sum(axis=(1, 2, 3)) <= 1.0).all()
    alone = made.attention(asked(images[:1], patches[1:2], BOTH[:1]))
    assert alone.shape == (1, 1, 2, 3)


BAD = [
    # views, objects, side of a patch, words
    (("original", "side_1"), 3, 32, "sornet: was trained with the views original, top; shown side_1"),
    ((), 3, 32, "sornet: was trained with the views original, top; shown none"),
    (("top", "top"), 3, 32, "sornet: takes each view once; shown top, top"),
    (BOTH, 9, 32, "sornet: takes at most 8 objects, a scene has 9"),
    (BOTH, 3, 16, "sornet: takes query patches of 32×32 pixels, found 16×16"),
]


class Unreadable(View):
    """A view whose pixels nobody may ask for yet."""

    def image(self) -> NDArray[np.uint8]:
        raise AssertionError("work was begun")


@pytest.mark.parametrize(("views", "objects", "side", "words"), BAD)
def test_what_it_cannot_do_is_told_before_any_work(
    views: tuple[str, ...], objects: int, side: int, words: str
) -> None:
    made = model()
    with pytest.raises(ModelError, match=words):
        made.check(QuerySpec(views, objects, side))
    patches = np.zeros((objects, side, side, 3), np.uint8)
    question = Queries("s", tuple(map(Unreadable, views)), patches, ({},) * objects)
    for answer in (made.predicates, made.logits, made.attention):
        with pytest.raises(ModelError, match=words):
            answer(question)


@pytest.mark.parametrize("views", [BOTH, ("top",), ("top", "original")])
def test_what_it_can_do(views: tuple[str, ...]) -> None:
    model().check(QuerySpec(views, 8, 32, frozenset({(96, 64)})))


def test_views_of_another_size_are_told_before_any_work() -> None:
    with pytest.raises(ModelError, match="sornet: takes views of 96×64 pixels, found 64×96"):
        model().check(QuerySpec(BOTH, 8, 32, frozenset({(96, 64), (64, 96)})))


def test_a_view_of_another_size(monkeypatch: pytest.MonkeyPatch) -> None:
    made = model()
    monkeypatch.setattr(type(made._net), "forward", None)  # not called
    images = [np.zeros(shape, np.uint8) for shape in ((64, 96, 3), (96, 64, 3))]
    with pytest.raises(
        DataError, match=r"row s/top: sornet takes views of another size \(expected 96×64, found '64×96'"
    ):
        made.predicates(asked(images, np.zeros((2, 32, 32, 3), np.uint8)))


def test_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.safetensors"
    file.write_bytes(dump_checkpoint(net(), {"steps": 5}))
    made, images_and_patches = load_file(file, device="cpu"), shown(3)
    assert (made.name, made.views, made.any_views) == ("mine", BOTH, True)
    assert made.facts() | {"steps": 5, "width": 32, "views": BOTH, "parameters": made.parameters} == made.facts()
    assert made.parameters == sum(weight.numel() for weight in net().parameters())
    assert torch.equal(made.logits(asked(*images_and_patches)), model().logits(asked(*images_and_patches)))
    with pytest.raises(SightlineError, match="no such file"):
        load_file(tmp_path / "none.safetensors")


def test_trainings_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = [tmp_path / name / "sornet.safetensors" for name in ("long", "short")]
    for file in files:
        file.parent.mkdir()
        file.write_bytes(dump_checkpoint(net()))
    assert [load_file(file, device="cpu").name for file in files] == ["long/sornet", "short/sornet"]


def test_the_fingerprint_is_of_the_weights() -> None:
    assert model().fingerprint == model().fingerprint
    assert model().fingerprint != model(1).fingerprint
    assert len(model().fingerprint) == 32


def test_a_checkpoint_takes_options(tmp_path: Path) -> None:
    file = tmp_path / "mine.safetensors"
    file.write_bytes(dump_checkpoint(net()))
    often, once = candidate(f"{file}:glances=3"), candidate(str(file))
    assert [who.model.facts()["glances"] for who in (often, once)] == [3, 1]
    assert [who.name for who in (often, once)] == ["mine (3 glances)", "mine"]
    assert often.fingerprint == once.fingerprint == fingerprint(str(file))  # the file's, not the network's
