# ruff: noqa: E402 - without torch there is nothing to import
"""Checkpoints come back as they went, and nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="checkpoints need safetensors")

from nets_made import BOTH, batch, net, shown
from safetensors.torch import load, save

from sightline.errors import ModelError
from sightline.models.nets import checkpoints
from sightline.models.nets.checkpoints import NETWORKS, NetworkEntry, dump_checkpoint, load_checkpoint, model_loader
from sightline.models.nets.sornet import Sornet
from sightline.models.sornet import SHIPPED, load_file

NET = net()
GOOD = dump_checkpoint(NET)
FACTS = {"steps": 12, "data": ["geospa/train"], "scores": {"all": 0.97, "none": None}}


def kept(folder: Path, content: bytes) -> Path:
    file = folder / "net.safetensors"
    file.write_bytes(content)
    return file


def header(content: bytes) -> dict[str, str]:
    size = int.from_bytes(content[:8], "little")
    found: dict[str, str] = json.loads(content[8 : 8 + size])["__metadata__"]
    return found


def test_single_precision_comes_back_exactly(tmp_path: Path) -> None:
    found, facts = load_checkpoint(kept(tmp_path, dump_checkpoint(NET, FACTS)))
    assert (found.config, facts) == (NET.config, FACTS)
    assert not found.training
    state = found.state_dict()
    assert {name: value.dtype for name, value in state.items()} == dict.fromkeys(state, torch.float32)
    assert all(torch.equal(value, state[name]) for name, value in NET.state_dict().items())
    assert all(weight.requires_grad for weight in found.parameters())  # it can be trained further
    scene = batch(*shown(3))
    with torch.no_grad():
        assert torch.equal(found(*scene), NET(*scene))


def test_half_precision_comes_back_nearly(tmp_path: Path) -> None:
    content = dump_checkpoint(NET, half=True)
    assert len(content) < 0.6 * len(GOOD)
    found, facts = load_checkpoint(kept(tmp_path, content))
    assert facts == {}
    assert {value.dtype for value in found.state_dict().values()} == {torch.float32}
    for name, value in NET.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], value, rtol=1e-3, atol=1e-6)


def test_other_values_for_the_weights(tmp_path: Path) -> None:
    mean = {name: value / 2 for name, value in NET.state_dict().items()}
    found, _ = load_checkpoint(kept(tmp_path, dump_checkpoint(NET, weights=mean)))
    assert all(torch.equal(value, mean[name]) for name, value in found.state_dict().items())


def test_weights_of_another_network_are_not_kept() -> None:
    wrapped = {f"_orig_mod.{name}": value for name, value in NET.state_dict().items()}
    with pytest.raises(ModelError, match=r"cannot be kept: weights are missing: blocks\.0.* and 34 more"):
        dump_checkpoint(NET, weights=wrapped)


def test_weights_that_are_no_numbers_are_not_kept() -> None:
    lost = {name: value * float("nan") for name, value in NET.state_dict().items()}
    with pytest.raises(ModelError, match="cannot be kept: weights that are no numbers"):
        dump_checkpoint(NET, weights=lost)


def test_the_same_bytes_every_time() -> None:
    assert dump_checkpoint(NET, FACTS) == dump_checkpoint(NET, FACTS)


def test_loading_draws_no_random_numbers(tmp_path: Path) -> None:
    file, state = kept(tmp_path, GOOD), torch.get_rng_state()
    load_checkpoint(file)
    assert torch.equal(torch.get_rng_state(), state)


def without(name: str) -> bytes:
    return save({key: value for key, value in load(GOOD).items() if key != name}, header(GOOD))


def filled(name: str, value: float) -> bytes:
    """The good file with one value in all places of one weight."""
    weights = load(GOOD)
    return save({**weights, name: torch.full_like(weights[name], value)}, header(GOOD))


def said(**changes: Any) -> bytes:
    """The good file with another header."""
    return save(load(GOOD), {key: value for key, value in {**header(GOOD), **changes}.items() if value is not None})


def shaped(**changes: Any) -> bytes:
    return said(config=json.dumps({**json.loads(header(GOOD)["config"]), **changes}))


BAD: list[tuple[Callable[[], bytes], str]] = [
    (lambda: b"", "not a readable safetensors file"),  # empty
    (lambda: b"garbage, and a good deal of it", "not a readable safetensors file"),
    (lambda: GOOD[:-40], "not a readable safetensors file"),  # cut short
    (lambda: GOOD[:8] + b"x" + GOOD[9:], "not a readable safetensors file"),  # a header that is no JSON
    (lambda: save({"conv.weight": torch.zeros(2)}), "another architecture.*without a kind.*'conv.weight'"),
    (lambda: save({}, {"kind": "yolo"}), f"another architecture: expected kind '{Sornet.kind}'.*, found yolo"),
    (
        lambda: said(kind="sightline-sornet-9"),
        "another architecture.*found sightline-sornet-9, did you mean 'sightline-sornet-1'",
    ),  # of the future
    (lambda: said(config=None), "damaged header: no config"),
    (lambda: said(config="{"), "damaged header: config: "),  # no JSON
    (lambda: said(config="[1]"), "damaged header: config: "),  # a list
    (lambda: said(config="{}"), "damaged header: config: .*width"),  # nothing said
    (lambda: shaped(colour=3), "damaged header: config: .*colour"),  # unknown field
    (lambda: shaped(width="32"), "damaged header: config: .*width"),  # a text for a number
    (lambda: shaped(width=32.0), "damaged header: config: .*width"),  # a float for a whole number
    (lambda: shaped(heads=5), "damaged header: config: .*5 heads"),  # cannot be
    (lambda: shaped(image=[96]), "damaged header: config: .*image"),  # one side
    (lambda: shaped(image=7), "damaged header: config: "),  # no list
    (lambda: shaped(width=2**40), "damaged header: config: "),  # more than can be counted
    (lambda: said(told="{"), "damaged header: told: "),  # no JSON
    (lambda: said(told="7"), "damaged header: told: "),  # no mapping
    (lambda: shaped(width=64), r"weights of another size: .*: expected \(.*64.*\), found \(.*32.*\)"),
    (lambda: shaped(width=1 << 20), "weights of another size"),  # never allocated
    (lambda: shaped(depth=3), r"weights are missing: blocks\.2\..* and 9 more"),
    (lambda: shaped(views=["original"]), r"weights of another architecture: patches\.1\.bias, patches\.1\.weight$"),
    (lambda: without("positions"), "weights are missing: positions$"),
    (lambda: filled("positions", float("nan")), "weights that are no numbers: positions$"),
    (lambda: filled("positions", float("inf")), "weights that are no numbers: positions$"),
]


@pytest.mark.parametrize(("content", "words"), BAD)
def test_bad_files_are_told(tmp_path: Path, content: Callable[[], bytes], words: str) -> None:
    file = kept(tmp_path, content())
    for loaded in (load_checkpoint, lambda path: load_checkpoint(path, Sornet)):
        with pytest.raises(ModelError, match=words) as caught:
            loaded(file)
        assert str(caught.value).startswith(str(file))


def test_a_good_file_is_not_refused(tmp_path: Path) -> None:
    assert load_checkpoint(kept(tmp_path, said())).net.config.views == BOTH


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no\.safetensors: no such file"):
        load_checkpoint(tmp_path / "no.safetensors")
    with pytest.raises(ModelError, match="not a readable safetensors file"):
        load_checkpoint(tmp_path)


class OtherNet(Sornet):
    """Stands for another kind of network, which is one line in the table."""

    kind = "sightline-other-1"


def other_model(path: Path, /) -> str:
    return f"a model of {path.name}"


@pytest.fixture
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    here = f"{__name__}:"
    other = NetworkEntry("sightline.models.nets.sornet:SornetConfig", here + "OtherNet", here + "other_model")
    monkeypatch.setattr(checkpoints, "NETWORKS", {**NETWORKS, OtherNet.kind: other})


@pytest.mark.usefixtures("two_kinds")
def test_opened_by_the_kind_in_the_header(tmp_path: Path) -> None:
    file = kept(tmp_path, dump_checkpoint(OtherNet(NET.config)))
    assert type(load_checkpoint(file).net) is OtherNet
    assert model_loader(file) is other_model
    with pytest.raises(ModelError, match="expected kind 'sightline-sornet-1', found sightline-other-1"):
        load_checkpoint(file, Sornet)
    sornet = kept(tmp_path, GOOD)
    assert type(load_checkpoint(sornet).net) is Sornet
    assert model_loader(sornet) is load_file


@pytest.mark.usefixtures("two_kinds")
def test_an_unknown_kind_names_those_there_are(tmp_path: Path) -> None:
    file = kept(tmp_path, said(kind="sightline-othr-1"))
    problem = "expected kind 'sightline-sornet-1' or .*'sightline-other-1', found sightline-othr-1, did you mean"
    for open_file in (load_checkpoint, model_loader):
        with pytest.raises(ModelError, match=f"{problem} 'sightline-other-1'"):
            open_file(file)


def test_the_shipped_weights_open_by_their_kind() -> None:
    assert type(load_checkpoint(SHIPPED).net) is Sornet
    assert model_loader(SHIPPED) is load_file
