"""PairNet on numpy alone: chances of depth and occlusion labels for ordered pairs, read from a checkpoint.

The same network as `models.nets.pairs.PairNet`, which is trained by torch; a test holds the two together. Every
unordered pair is computed once, in an order of its own, so that (a, b) and (b, a) agree to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ModelError, SightlineError
from sightline.models.relations.cues import ANTISYMMETRIC, SYMMETRIC, box_cues, checked_cues

Floats = NDArray[np.float32]
KIND: Final = "sightline-pairs-1"
_EVEN, _ODD = 6, 2  # outputs that stay and that change sign when a pair is turned
_BLOCK: Final = 1 << 11  # pairs at a time: what they need stays in the processor's cache
_TYPES: Final = {"F32": "<f4", "F16": "<f2"}


class Chances(NamedTuple):
    """(n, 4) chances of the codes of `Depth` and of `Occlusion`."""

    depth: Floats
    occlusion: Floats


class ObjectPairs(NamedTuple):
    """Ordered pairs of objects.

    Attributes:
        boxes_a: (n, 4) xyxy, fractions of the image; `boxes_b` likewise.
        classes_a: (n,) places of the classes, 0 for one that is not known; `classes_b` likewise.
        objects_a: (n, F) further numbers of each object; `objects_b` likewise.
    """

    boxes_a: NDArray[np.float64]
    boxes_b: NDArray[np.float64]
    classes_a: NDArray[np.intp]
    classes_b: NDArray[np.intp]
    objects_a: Floats
    objects_b: Floats

    def rows(self, which: NDArray[np.intp] | slice) -> ObjectPairs:
        """Some of the pairs."""
        columns: list[Any] = [column[which] for column in self]
        return ObjectPairs(*columns)

    def where_turned(self, turned: NDArray[np.bool_]) -> ObjectPairs:
        """The pairs, some of them the other way round."""
        columns: list[Any] = [_chosen(turned, self[end ^ 1], self[end]) for end in range(6)]
        return ObjectPairs(*columns)


@dataclass(frozen=True, eq=False)
class PairNetwork:
    """The weights of a PairNet, ready to answer.

    Attributes:
        weights: Arrays in single precision, by the names of `PairNet`.
        classes: Class names it knows, from place 1 on.
        cues: Which cues it has.
        unsure: Chance below which no depth label is given within an image; `unsure_across` across two.
        ordered: Answers follow a total preorder of the objects.
        about: What the file says of how it was made; JSON values.
    """

    weights: Mapping[str, Floats]
    classes: tuple[str, ...]
    cues: str
    unsure: float
    unsure_across: float
    ordered: bool
    about: Mapping[str, Any]

    @property
    def objects(self) -> int:
        """Further numbers of an object, for cues d and a."""
        return len(self.weights["object_middle"])

    @property
    def members(self) -> int:
        """Networks whose chances are averaged."""
        return len(self.weights["last_bias"])

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights and settings."""
        settings = [self.classes, self.cues, self.unsure, self.unsure_across, self.ordered]
        digest = blake2b(json.dumps(settings).encode(), digest_size=16)
        for name in sorted(self.weights):
            digest.update(self.weights[name].tobytes())
        return digest.hexdigest()

    def chances(self, pairs: ObjectPairs, *, across: bool) -> Chances:
        """Chances of every label; those of (b, a) are exactly those of (a, b), turned round."""
        row, place, turned = distinct(pairs)
        depth, occlusion = (np.empty((len(row), 4), dtype=np.float32) for _ in range(2))
        once = pairs.rows(row).where_turned(turned[row])
        for start in range(0, len(row), _BLOCK):
            rows = slice(start, start + _BLOCK)
            depth[rows], occlusion[rows] = self._block(once.rows(rows), across=across)
        chances = Chances(depth[place], occlusion[place])
        for label_chances in chances:
            label_chances[turned] = label_chances[turned][:, [0, 2, 1, 3]]
        return chances

    def _block(self, pairs: ObjectPairs, *, across: bool) -> Chances:
        w = self.weights
        stays, turns = box_cues(pairs.boxes_a.astype(np.float32), pairs.boxes_b.astype(np.float32))
        stays, turns = (stays - w["middle"]) * w["even_scale"], turns * w["odd_scale"]
        flag = np.full((len(stays), 1), across, dtype=np.float32)
        more = [(given - w["object_middle"]) * w["object_scale"] for given in (pairs.objects_a, pairs.objects_b)]
        depth, occlusion = (np.zeros((len(stays), 4), dtype=np.float32) for _ in range(2))
        for member in range(self.members):
            named = [w["embedding"][member][of] for of in (pairs.classes_a, pairs.classes_b)]
            even = np.concatenate((stays, flag, named[0] + named[1], more[0] + more[1]), axis=1)
            odd = np.concatenate((turns, named[0] - named[1], more[0] - more[1]), axis=1)
            for layer in ("first", "second"):
                same, turning = even @ w[f"{layer}_even"][member], odd @ w[f"{layer}_odd"][member]
                same += w[f"{layer}_bias"][member]
                one = same + turning
                same -= turning
                np.maximum(one, 0, out=one)
                np.maximum(same, 0, out=same)
                even, odd = one + same, np.subtract(one, same, out=turning)
            rated = [w["rating"][member][of] for of in (pairs.classes_a, pairs.classes_b)]
            even = even @ w["last_even"][member] + w["last_bias"][member] + (rated[0] + rated[1])[:, :_EVEN]
            odd = odd @ w["last_odd"][member] + (rated[0] - rated[1])[:, _EVEN:]
            depth += _softmax(even[:, :3], odd[:, 0])
            occlusion += _softmax(even[:, 3:], odd[:, 1])
        share = np.float32(1 / self.members)
        return Chances(depth * share, occlusion * share)


class Distinct(NamedTuple):
    """Every unordered pair once.

    Attributes:
        row: (k,) a row of each.
        place: (n,) which of them each row is.
        turned: (n,) whether the row has it the other way round.
    """

    row: NDArray[np.intp]
    place: NDArray[np.intp]
    turned: NDArray[np.bool_]


def distinct(pairs: ObjectPairs) -> Distinct:
    """Find the unordered pairs among ordered ones, and the order in which each is computed."""
    a = [*pairs.boxes_a.T, pairs.classes_a, *pairs.objects_a.T]
    b = [*pairs.boxes_b.T, pairs.classes_b, *pairs.objects_b.T]
    turned, open_yet = np.zeros(len(pairs.boxes_a), dtype=bool), np.ones(len(pairs.boxes_a), dtype=bool)
    for one, other in zip(a, b, strict=True):
        turned |= open_yet & (other < one)
        open_yet &= one == other
        if not open_yet.any():
            break
    # A key that tells pairs apart: equal for equal pairs, since each is computed alike wherever its row stands.
    columns = [_chosen(turned, other, one) for one, other in zip(a, b, strict=True)]
    columns += [_chosen(turned, one, other) for one, other in zip(a, b, strict=True)]
    key = np.zeros(len(turned), dtype=np.float64)
    for place, column in enumerate(columns):
        key += column * np.sin(place + 1.0)
    _, row, place_of = np.unique(key, return_index=True, return_inverse=True)
    strange = np.zeros(len(turned), dtype=bool)  # another pair of the same key
    for column in columns:
        strange |= column != column[row[place_of]]
    if strange.any():
        alone = np.flatnonzero(strange)
        place_of = place_of.copy()
        place_of[alone] = len(row) + np.arange(len(alone))
        row = np.concatenate((row, alone))
    return Distinct(row, place_of, turned)


def _chosen(which: NDArray[np.bool_], yes: NDArray[Any], no: NDArray[Any]) -> NDArray[Any]:
    return np.where(which[:, None] if yes.ndim == 2 else which, yes, no)


def _softmax(even: Floats, odd: Floats) -> Floats:
    """Chances of the codes 0…3 from (n, 3) logits of 0, ordered and 3, and (n,) how far the first leads."""
    logits = (even[:, 0], even[:, 1] + odd, even[:, 1] - odd, even[:, 2])
    top = np.maximum(np.maximum(logits[0], logits[1]), np.maximum(logits[2], logits[3]))
    raised = [np.exp(of - top) for of in logits]  # column by column: sums along rows of four are slow
    total = raised[0] + raised[1] + raised[2] + raised[3]
    return np.stack([of / total for of in raised], axis=1)


def read_network(path: str | Path) -> PairNetwork:
    """Read a PairNet from its checkpoint, without torch.

    Raises:
        ModelError: No such file, none of a PairNet, or weights that do not fit together or are no numbers.
    """
    file = Path(path)
    header, weights = _read_tensors(file)
    found = header.get("kind", "a header without a kind")
    if found != KIND:
        raise ModelError(f"{file}: a checkpoint of another architecture: expected kind {KIND!r}, found {found!r}")
    try:
        config, about = json.loads(header["config"]), json.loads(header.get("told", "{}"))
        expected = _shapes(config)
        network = PairNetwork(
            weights,
            tuple(config["classes"]),
            checked_cues(config["cues"]),
            unsure=float(config["unsure"]),
            unsure_across=float(config["unsure_across"]),
            ordered=bool(config["ordered"]),
            about=dict(about),
        )
    except (KeyError, TypeError, ValueError, RecursionError, SightlineError) as error:
        raise ModelError(f"{file}: damaged header: {error}") from error
    for name in ("unsure", "unsure_across"):
        if not 0.0 <= getattr(network, name) <= 1.0:
            raise ModelError(f"{file}: damaged header: {name} must lie in [0, 1], not {getattr(network, name)}")
    shapes = {name: array.shape for name, array in weights.items()}
    for name in sorted(expected.keys() | shapes.keys()):
        if expected.get(name) != shapes.get(name):
            wanted, was = (str(table.get(name, "none")) for table in (expected, shapes))
            raise ModelError(f"{file}: weights of another size: {name}: expected {wanted}, found {was}")
        if not np.isfinite(weights[name]).all():
            raise ModelError(f"{file}: weights that are no numbers: {name}")
    return network


def _shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights of a PairNet, by name."""
    members, hidden, width, more = (int(config[name]) for name in ("members", "hidden", "embedding", "objects"))
    names = len(config["classes"]) + 1
    return {
        "embedding": (members, names, width),
        "rating": (members, names, _EVEN + _ODD),
        "first_even": (members, SYMMETRIC + 1 + width + more, hidden),
        "first_odd": (members, ANTISYMMETRIC + width + more, hidden),
        "first_bias": (members, hidden),
        "second_even": (members, hidden, hidden),
        "second_odd": (members, hidden, hidden),
        "second_bias": (members, hidden),
        "last_even": (members, hidden, _EVEN),
        "last_odd": (members, hidden, _ODD),
        "last_bias": (members, _EVEN),
        "middle": (SYMMETRIC,),
        "even_scale": (SYMMETRIC,),
        "odd_scale": (ANTISYMMETRIC,),
        "object_middle": (more,),
        "object_scale": (more,),
    }


def _read_tensors(file: Path) -> tuple[dict[str, str], dict[str, Floats]]:
    """Header and arrays of a safetensors file: a length, JSON, then the numbers."""
    try:
        content = file.read_bytes()
    except OSError:
        raise ModelError(f"{file}: no such file") from None
    try:
        start = 8 + int.from_bytes(content[:8], "little")
        entries = json.loads(content[8:start])
        header = {str(name): str(value) for name, value in entries.pop("__metadata__", {}).items()}
        return header, {name: _array(content, start, entry) for name, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{file}: not a readable safetensors file: {error}") from error


def _array(content: bytes, start: int, entry: Mapping[str, Any]) -> Floats:
    begin, end = entry["data_offsets"]
    shape: Sequence[int] = entry["shape"]
    numbers = np.frombuffer(content[start + begin : start + end], dtype=np.dtype(_TYPES[entry["dtype"]]))
    array: Floats = numbers.reshape(shape).astype(np.float32)
    return array
