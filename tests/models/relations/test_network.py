"""PairNet on numpy: as torch computes it, the same to the last bit when pairs are turned, refused when damaged."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from relations_made import CLASSES, random_net, random_pairs, saved, turned

from sightline.errors import ModelError
from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.pairs import PairInputs, PaperMlp, PaperMlpConfig
from sightline.models.relations.model import PairModel
from sightline.models.relations.network import ObjectPairs, distinct, read_network

TURN = [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("cues", "numbers"),
    [
        ("bc", 0),  # boxes and classes
        ("b", 0),  # classes are not looked at
        ("bcd", 8),  # with numbers of objects
    ],
)
def test_numpy_computes_what_torch_does(cues: str, numbers: int, tmp_path: Path) -> None:
    net = random_net(3, cues=cues, objects=numbers)
    network = read_network(saved(net, tmp_path / "net.safetensors"))
    rng = np.random.default_rng(0)
    n = 40
    ends = np.sort(rng.random((2, n, 2, 2)), axis=2).reshape(2, n, 4)
    classes, more = rng.integers(0, 4, (2, n)), rng.normal(size=(2, n, numbers)).astype(np.float32)
    if cues == "b":
        classes[:] = 0
    for across in (False, True):
        ours = network.chances(ObjectPairs(*ends, *classes, *more), across=across)
        given = [torch.from_numpy(a)[None].expand(2, *a.shape) for pair in (ends, classes, more) for a in pair]
        boxes = [g.float() for g in given[:2]]
        flag = torch.full((2, n), float(across))
        with torch.no_grad():
            theirs = net.eval()(PairInputs(*boxes, *given[2:4], flag, *given[4:]))
        for mine, logits in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, logits.softmax(-1).mean(0).numpy(), atol=2e-5)


def test_turned_pairs_agree_to_the_last_bit(tmp_path: Path) -> None:
    network = read_network(saved(random_net(1), tmp_path / "net.safetensors"))
    model = PairModel(network, name="x")
    for n in (2, 5, 33):
        pairs = random_pairs(n, n)
        there, back = model.chances(pairs), model.chances(turned(pairs))
        np.testing.assert_array_equal(there.depth, back.depth[:, TURN])
        np.testing.assert_array_equal(there.occlusion, back.occlusion[:, TURN])


def test_distinct_pairs() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0, 0.5, 1], [0, 0, 1, 1], [0, 0, 1, 1]], dtype=np.float64)
    first, second = [0, 1, 0, 2], [1, 0, 2, 0]
    none = np.zeros((4, 0), dtype=np.float32)
    classes = np.zeros(4, dtype=np.intp)
    found = distinct(ObjectPairs(boxes[first], boxes[second], classes, classes, none, none))
    assert len(found.row) == 2
    assert found.place[0] == found.place[1] != found.place[2] == found.place[3]
    assert found.turned.tolist() == [True, False, False, False]


def test_other_files_are_refused(tmp_path: Path) -> None:
    whole = saved(random_net(), tmp_path / "net.safetensors").read_bytes()
    other = dump_checkpoint(PaperMlp(PaperMlpConfig(CLASSES, hidden=4)))
    net = random_net()
    cases = {
        "missing": (None, "no such file"),
        "cut": (whole[:200], "not a readable safetensors file"),
        "short": (whole[:-100], "not a readable safetensors file"),
        "text": (b"not a checkpoint at all, only words", "not a readable safetensors file"),
        "another kind": (other, "expected kind 'sightline-pairs-1', found 'sightline-paper-mlp-1'"),
        "another shape": (whole.replace(b'\\"hidden\\": 8', b'\\"hidden\\": 9'), "weights of another size"),
        "no number": (_spoilt(net), "weights that are no numbers: last_bias"),
        "no chance": (whole.replace(b'\\"unsure\\": 0.38', b'\\"unsure\\": 8.38'), r"unsure must lie in \[0, 1\]"),
        "other cues": (whole.replace(b'\\"bc\\"', b'\\"xc\\"'), "damaged header: cues are b with"),
    }
    for name, (content, message) in cases.items():
        file = tmp_path / f"{name}.safetensors"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ModelError, match=message):
            read_network(file)


def _spoilt(net: object) -> bytes:
    content = dump_checkpoint(net)  # type: ignore[arg-type]
    good = np.zeros(12, dtype="<f4")
    net.last_bias.data[:] = 12345.0  # type: ignore[attr-defined]
    marked = dump_checkpoint(net)  # type: ignore[arg-type]
    assert len(marked) == len(content)
    return marked.replace(np.full(len(good), 12345.0, dtype="<f4").tobytes(), np.full(12, np.nan, "<f4").tobytes())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2500), st.binary(min_size=1, max_size=8))
def test_a_spoilt_file_is_refused_or_read_but_never_breaks(place: int, bytes_there: bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "net.safetensors"
        whole = dump_checkpoint(random_net())
        file.write_bytes(whole[:place] + bytes_there + whole[place + len(bytes_there) :])
        with suppress(ModelError):
            read_network(file)
