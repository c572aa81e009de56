"""Phases of the training of a deformable part model: first filters, latent rounds, parts, boxes.

Each phase is a function of the model before it, the pictures and the plan alone, so that a training that was
interrupted goes on with the last phase that is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sightline.errors import DataError
from sightline.models.dpm.detector import FilterBank, LevelScores, RootPlace, part_moves
from sightline.models.dpm.filters import (
    BIAS,
    LEAST_BEND,
    PART,
    ComponentFilters,
    Dpm,
    DpmConfig,
    FilterShape,
    MixtureComponent,
)
from sightline.models.dpm.hog import mirrored
from sightline.training.dpm.examples import (
    FeatureStore,
    Neighbourhood,
    Positive,
    hard_negatives,
    negatives_of,
    placement_vector,
    positives_of,
    random_windows,
    warped,
    wrong_answers,
)
from sightline.training.dpm.plan import ASPECTS, DpmPlan, TrainingPicture
from sightline.training.dpm.solver import Constraint, solve

Vector = NDArray[np.float32]
Progress = Callable[[str, int, int], None]

RANDOM_WINDOWS: Final = 300
"""Windows of pictures without the class that the first filters of a component are told apart from."""
FIRST_BEND: Final = (0.0, 0.0, 0.1, 0.1)
"""Cost of moving a part before it is learned."""
SILENT: Final = -2.0
"""Score of filters that learned nothing, for no object was placed by them: 0 would be found everywhere."""
WRONG: Final = 4
"""Wrong answers about an object that a structured SVM takes in each search."""


@dataclass(frozen=True)
class Lesson:
    """What a model of one class is taught with.

    Attributes:
        plan: How.
        positives: Its objects.
        negatives: Pictures without the class.
        store: Features of whole pictures.
        progress: Told (what, done, of how many).
    """

    plan: DpmPlan
    positives: tuple[Positive, ...]
    negatives: tuple[TrainingPicture, ...]
    store: FeatureStore
    progress: Progress = lambda *_: None

    @classmethod
    def of(
        cls,
        plan: DpmPlan,
        pictures: Sequence[TrainingPicture],
        *,
        device: Any = "cpu",
        store: FeatureStore | None = None,
        progress: Progress | None = None,
    ) -> Lesson:
        """Choose objects and negatives; DataError where there are too few."""
        positives, negatives = positives_of(plan, pictures), negatives_of(plan, pictures)
        for found, what, least in (
            (len(positives), f"whole objects of class {plan.category}", 2),
            (len(negatives), f"pictures without {plan.category}", 1),
        ):
            if found < least:
                raise DataError("too little to learn from", expected=f"{least} {what} or more", found=found)
        more = {} if progress is None else {"progress": progress}
        return cls(plan, tuple(positives), tuple(negatives), store or FeatureStore(device), **more)

    def run(self, phase: str, net: Dpm | None) -> Dpm:
        """Run one phase of the plan on what the phase before it made."""
        if phase == "first":
            return self._first()
        assert net is not None
        if phase == "boxes":
            return self._with_boxes(net)
        if phase.startswith("parts-") and not any(shape.anchors for shape in net.config.filters):
            net = with_parts(net, self.plan.parts)
        return self._round(net, phase)

    # The first filters: boxes stretched to one size against windows drawn at random.

    def _first(self) -> Dpm:
        groups = self._groups()
        components: list[MixtureComponent] = []
        shapes: list[FilterShape] = []
        vectors: list[Vector] = []
        for section, members in groups:
            number = len(shapes)
            aspect = float(np.median([p.aspect for p, _ in members]))
            rows = max(4, round(float(np.sqrt(self.plan.cells * aspect))))
            columns = max(4, round(float(np.sqrt(self.plan.cells / aspect))))
            shapes.append(FilterShape(rows, columns))
            vectors.append(self._first_vector(members, rows, columns, sided=section is None))
            components += self._components(section, number)
            self.progress("first filters", number + 1, len(groups))
        net = Dpm(DpmConfig(self.plan.form, self.plan.views, tuple(shapes), tuple(components), self.plan.interval))
        for filters, vector in zip(_filters(net), vectors, strict=True):
            filters.fill(torch.from_numpy(vector))
        return net

    def _groups(self) -> list[tuple[int | None, list[tuple[Positive, bool]]]]:
        """Objects of each set of filters, and whether each is to be seen in a mirror: by section, or by aspect."""
        plan = self.plan
        if not plan.views:
            ordered = sorted(self.positives, key=lambda p: p.aspect)
            cut = [list(part) for part in np.array_split(np.arange(len(ordered)), ASPECTS)]
            return [(None, [(ordered[i], False) for i in part]) for part in cut if part]
        groups: list[tuple[int | None, list[tuple[Positive, bool]]]] = []
        for section in range(plan.views // 2 + 1):
            twin = -section % plan.views
            members = [(p, False) for p in self.positives if p.section == section]
            members += [(p, True) for p in self.positives if p.section == twin]  # its own mirror image: both ways
            if members:
                groups.append((section, members))
        return groups

    def _components(self, section: int | None, filters: int) -> list[MixtureComponent]:
        name, views = self.plan.category, self.plan.views
        if section is None:
            return [MixtureComponent(name, filters, False), MixtureComponent(name, filters, True)]
        made = []
        for at, flipped in dict.fromkeys([(section, False), (-section % views, -section % views != section)]):
            angles = [p.angles[1:] for p in self.positives if p.section == at]
            if not angles:  # only its mirror image was seen, which leans the other way
                angles = [p.angles[1:] * (1, -1) for p in self.positives if p.section == -at % views]
            elevation, theta = np.mean(angles, axis=0).tolist()
            made.append(MixtureComponent(name, filters, flipped, (at * 360.0 / views, elevation, theta)))
        return made

    def _first_vector(
        self, members: Sequence[tuple[Positive, bool]], rows: int, columns: int, *, sided: bool
    ) -> Vector:
        device = self.store.device
        seen = [warped(p.picture.load(), p.box, rows, columns, device) for p, _ in members]
        if sided:
            seen = facing_one_way(seen)
        else:
            seen = [mirrored(one) if flip else one for one, (_, flip) in zip(seen, members, strict=True)]
        rng = np.random.default_rng([self.plan.seed, rows, columns])
        windows = random_windows(self.negatives, rows / columns, RANDOM_WINDOWS, rng)
        others = [warped(picture.load(), box, rows, columns, device) for picture, box in windows]
        constraints = [
            Constraint((number,), 1.0, ((0, sign * _with_bias(one)),))
            for number, (sign, one) in enumerate([(1.0, s) for s in seen] + [(-1.0, o) for o in others])
        ]
        return solve(constraints, len(constraints[0].pieces[0][1]), self.plan.cost)

    # Rounds: place the roots (and parts) on the objects, then learn against hard negatives found again and again.

    def _round(self, net: Dpm, phase: str) -> Dpm:
        plan = self.plan
        offsets = np.cumsum([0, *(shape.size for shape in net.config.filters)])
        floors = _floors(net.config)
        structured = plan.form == "dpm-voc-vp" and phase.startswith("parts-")
        bank, banks = FilterBank(net, self.store.device), self._banks(net)
        cache: dict[tuple[object, ...], Constraint] = {}
        for done, positive in enumerate(self.positives):
            self.progress(f"{phase}: placing", done, len(self.positives))
            for mirror, filters, vector in self._placed(banks[positive.section], positive):
                key: tuple[object, ...] = ("object", positive.picture.name, positive.number, mirror)
                cache[key] = Constraint(key, 1.0, ((int(offsets[filters]), vector),), key)
        for search in range(plan.mining):
            if structured:
                self._add_wrong(cache, bank, offsets, f"{phase}: views, search {search + 1}")
            found = hard_negatives(bank, self.store, self.negatives, each=plan.hard, interval=plan.interval)
            what, names = (
                f"{phase}: negatives, search {search + 1}",
                {n.name: i for i, n in enumerate(self.negatives)},
            )
            for picture, place, vector in found:
                self.progress(what, names[picture.name], len(names))
                filters = net.config.components[place.component].filters
                key = ("none", picture.name, place.component, *_shortened(place, vector))
                cache.setdefault(key, Constraint(key, 1.0, ((int(offsets[filters]), -vector),), key))
            constraints = list(cache.values())
            weights = solve(constraints, int(offsets[-1]), plan.cost, floors=floors)
            net = _filled(net, weights, offsets)
            bank = FilterBank(net, self.store.device)
            cache = {c.key: c for c in constraints if c.weight > 0.0 or c.key[0] == "object"}
        learned = {first for c in constraints if c.weight > 0.0 for first, _ in c.pieces}
        for one, first in zip(_filters(net), offsets[:-1].tolist(), strict=True):
            if first not in learned:
                one.bias.fill_(SILENT / BIAS)
        return net

    def _placed(self, bank: FilterBank, positive: Positive) -> Iterator[tuple[bool, int, Vector]]:
        """Placements on an object: (whether in the mirror, number of the filters, features)."""
        near, every = self._near(positive), range(len(bank.components))
        views = [(False, near)]
        if self.plan.views and -positive.section % self.plan.views == positive.section:
            views.append((True, near.mirrored()))  # a section that is its own mirror image
        for mirror, seen in views:
            scores = list(bank.scores(seen.levels))
            place = seen.fitting_place(bank, scores, every, self.plan.overlap)
            if place is not None:
                vector = placement_vector(bank, scores[place.level], place)
                yield mirror, bank.mixture[place.component].filters, vector

    def _banks(self, net: Dpm) -> dict[int, FilterBank]:
        """The components that objects may be placed by, by section: those of it, or all."""
        every, device = list(enumerate(net.config.components)), self.store.device
        if not self.plan.views:
            return {-1: FilterBank(net, device)}
        wide = 360.0 / self.plan.views
        own = {s: [i for i, one in every if one.angles[0] == s * wide] for s in {p.section for p in self.positives}}
        return {section: FilterBank(net, device, only=numbers) for section, numbers in own.items()}

    def _near(self, positive: Positive, *, share: float = 0.5, reach: int = 1) -> Neighbourhood:
        plan = self.plan
        return Neighbourhood(
            positive, plan.cells, plan.interval, share=share, reach=reach, device=self.store.device
        )

    def _add_wrong(
        self, cache: dict[tuple[object, ...], Constraint], bank: FilterBank, offsets: NDArray[np.int64], what: str
    ) -> None:
        """Add the answers about each object that the structured SVM finds wrong and too good."""
        truth = {key[1:3]: one for key, one in cache.items() if key[0] == "object" and not key[3]}
        for done, positive in enumerate(self.positives):
            self.progress(what, done, len(self.positives))
            true = truth.get((positive.picture.name, positive.number))
            if true is None:
                continue
            near = self._near(positive, share=0.75, reach=2)
            scores = list(bank.scores(near.levels))
            for place, loss in wrong_answers(near, bank, scores, most=WRONG):
                vector = placement_vector(bank, scores[place.level], place)
                filters = bank.mixture[place.component].filters
                pieces = _difference(true.pieces[0], (int(offsets[filters]), vector))
                key = ("wrong", *true.key[1:3], place.component, *_shortened(place, vector))
                cache.setdefault(key, Constraint(true.group, loss, pieces, key))

    # Boxes: how far the object's edges are from the root's window, told by where the parts are.

    def _with_boxes(self, net: Dpm) -> Dpm:
        banks = self._banks(net)
        rows: dict[int, list[tuple[NDArray[np.float64], NDArray[np.float64]]]] = {}
        for done, positive in enumerate(self.positives):
            self.progress("boxes", done, len(self.positives))
            near, bank = self._near(positive), banks[positive.section]
            scores = list(bank.scores(near.levels))
            place = near.fitting_place(bank, scores, range(len(bank.components)), self.plan.overlap)
            if place is None:
                continue
            component = bank.mixture[place.component]
            edges, moves = _edges_of(bank, near, scores[place.level], place, mirror=component.mirrored)
            rows.setdefault(component.filters, []).append((np.concatenate(([1.0], moves)), edges))
        for number, pairs in rows.items():
            inputs, edges = (np.stack(part) for part in zip(*pairs, strict=True))
            held = np.diag([1e-6, *([1.0] * (inputs.shape[1] - 1))])
            solution = np.linalg.solve(inputs.T @ inputs + held, inputs.T @ edges)
            net_filters = net.filters[number]
            assert isinstance(net_filters, ComponentFilters)
            net_filters.edges.copy_(torch.from_numpy(solution.T.astype(np.float32)))
        return net


def _edges_of(
    bank: FilterBank, near: Neighbourhood, scores: LevelScores, place: RootPlace, *, mirror: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far the true edges are from the window, in its sides, and the moves of the parts; as not mirrored."""
    left, top, right, bottom = bank.window(place, scores.level.scale)
    wide, high = right - left, bottom - top
    edges = (near.box - (left, top, right, bottom)) / (wide, high, wide, high)
    moves = part_moves(bank.components[place.component], place, scores.part_places(place))
    if mirror:
        edges = edges[[2, 1, 0, 3]] * (-1, 1, -1, 1)
        moves[: len(moves) // 2] *= -1
    return edges, moves


def facing_one_way(seen: Sequence[Tensor]) -> list[Tensor]:
    """Mirror features (31, rows, columns) of some objects so that all are as alike as may be."""
    ways = torch.stack([torch.stack([one, mirrored(one)]) for one in seen]).flatten(2)  # (n, 2, …)
    flip = torch.zeros(len(seen), dtype=torch.long, device=ways.device)
    rows = torch.arange(len(seen), device=ways.device)
    total = ways[0, 0].clone()
    for i in range(1, len(seen)):  # one after the other, each like those before it
        flip[i] = (ways[i] @ total).argmax()
        total += ways[i, flip[i]]
    for _ in range(10):
        total = ways[rows, flip].sum(dim=0)
        own = torch.stack([total - ways[i, flip[i]] for i in range(len(seen))])
        again = torch.einsum("nwf,nf->nw", ways, own).argmax(dim=1)
        if bool((again == flip).all()):
            break
        flip = again
    return [mirrored(one) if turned else one for one, turned in zip(seen, flip.tolist(), strict=True)]


def with_parts(net: Dpm, count: int) -> Dpm:
    """Give every root its parts: greedily where it has most weight above 0, at twice its resolution."""
    made = []
    for filters in _filters(net):
        fine = functional.interpolate(filters.root[None], scale_factor=2, mode="bicubic", align_corners=False)[0]
        energy = (fine.clamp(min=0) ** 2).sum(dim=0)
        anchors, windows = [], []
        for _ in range(count):
            sums = functional.avg_pool2d(energy[None, None], PART, stride=1)[0, 0]
            y, x = divmod(int(sums.argmax()), sums.shape[1])
            anchors.append((y, x))
            windows.append(fine[:, y : y + PART, x : x + PART].clone())
            energy[y : y + PART, x : x + PART] = 0.0
        made.append((FilterShape(filters.shape.rows, filters.shape.columns, tuple(anchors)), filters, windows))
    new = Dpm(replace(net.config, filters=tuple(shape for shape, *_ in made)))
    for mine, (_, old, windows) in zip(_filters(new), made, strict=True):
        mine.root.copy_(old.root)
        mine.bias.copy_(old.bias)
        mine.parts.copy_(torch.stack(windows))
        mine.deformations.copy_(torch.tensor([FIRST_BEND] * count))
    return new


def _shortened(place: RootPlace, vector: Vector) -> tuple[object, ...]:
    """Tell placements apart whose roots may be the same and whose parts not."""
    return place.level, place.row, place.column, round(float(vector[:-1].sum()), 3)


def _filters(net: Dpm) -> Iterator[ComponentFilters]:
    for filters in net.filters:
        assert isinstance(filters, ComponentFilters)
        yield filters


def _with_bias(features: Tensor) -> Vector:
    return np.append(features.reshape(-1).cpu().numpy(), np.float32(BIAS)).astype(np.float32)


def _floors(config: DpmConfig) -> Vector:
    """Least values of all weights: only what it costs to move a part has one."""
    parts = []
    for shape in config.filters:
        low = np.full(shape.size, -np.inf, dtype=np.float32)
        bends = low[shape.size - 1 - 4 * len(shape.anchors) : shape.size - 1].reshape(-1, 4)
        bends[:, 2:] = LEAST_BEND
        parts.append(low)
    return np.concatenate(parts)


def _filled(net: Dpm, weights: Vector, offsets: NDArray[np.int64]) -> Dpm:
    made = Dpm(net.config)
    for number, filters in enumerate(_filters(made)):
        filters.fill(torch.from_numpy(weights[offsets[number] : offsets[number + 1]]))
    return made


def _difference(a: tuple[int, Vector], b: tuple[int, Vector]) -> tuple[tuple[int, Vector], ...]:
    """Give a − b as pieces; one where both have the same filters."""
    return ((a[0], a[1] - b[1]),) if a[0] == b[0] else (a, (b[0], -b[1]))
