"""Small random vocabularies, annotated images and legal histories for the Turing exam's property tests.

Everything is made by a numpy generator, so a case is its seed; the strategies only draw seeds and sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from reference.turing_oracle import picture_of, truth, walked
from sightline.exams.turing.annotations.columns import Columns, packed
from sightline.exams.turing.estimate.estimator import Assumptions, Estimator, QuestionOptions
from sightline.exams.turing.stream.engine import Engine, ask_all
from sightline.exams.turing.stream.operators import Operator
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.vocabulary.questions import History, Label, Question, labels_of
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)

NAMES = ("person", "car", "tree")
GROUPS = ("colour", "doing", "carrying")
REGIONS = (
    Region("image", (0.0, 0.0, 1.0, 1.0)),
    Region("left", (0.0, 0.0, 0.5, 1.0)),
    Region("right", (0.5, 0.0, 1.0, 1.0)),
    Region("middle", (0.25, 0.25, 0.75, 0.75)),
    Region("corner", (0.0, 0.0, 0.25, 0.25)),
)


@dataclass(frozen=True)
class Case:
    """A vocabulary, images annotated in it, and a history that is legal, though it may hold of no image."""

    vocabulary: Vocabulary
    columns: Columns
    history: History


def cases(*, images: int = 8, steps: int = 6, links: int = 3) -> st.SearchStrategy[Case]:
    """Cases of at most so many images and steps. More than 64 relations now and then, whatever `links` says."""
    return st.builds(
        random_case,
        st.integers(0, 2**32 - 1),
        images=st.integers(1, images),
        steps=st.integers(0, steps),
        links=st.one_of(st.integers(0, links), st.just(70)),
    )


def assumptions() -> st.SearchStrategy[Assumptions]:
    """Every combination of the switches."""
    return st.builds(Assumptions, *([st.booleans()] * 7))


def random_case(seed: int, *, images: int = 8, steps: int = 6, links: int = 3) -> Case:
    rng = np.random.default_rng(seed)
    vocabulary = random_vocabulary(rng, links=links)
    columns = random_columns(rng, vocabulary, images)
    return Case(vocabulary, columns, random_history(rng, vocabulary, columns, steps))


def random_vocabulary(rng: np.random.Generator, *, links: int = 3) -> Vocabulary:
    """One to three types of zero to five attributes in up to three groups, the first of them exclusive at times."""
    kinds = []
    for name in NAMES[: rng.integers(1, 4)]:
        groups = [GROUPS[i] for i in np.sort(rng.integers(0, 3, size=rng.integers(0, 6)))]
        attributes = [
            Attribute(f"{g}{i}", g, f"{g} {i}", AttributeSource("flag", f"{g}{i}")) for i, g in enumerate(groups)
        ]
        exclusive = frozenset({"colour"}) if rng.random() < 0.5 else frozenset()
        kinds.append(ObjectType(name, (name, f"big {name}"), tuple(attributes), exclusive))
    return Vocabulary(
        "random", tuple(kinds), tuple(_link(rng, i) for i in range(links)), REGIONS[: rng.integers(1, 6)]
    )


def _link(rng: np.random.Generator, i: int) -> RelationType:
    ends = [tuple(n for n in NAMES if rng.random() < 0.5) if rng.random() < 0.3 else () for _ in range(2)]
    given = tuple(g for g in (*GROUPS, "region") if rng.random() < 0.3)
    group = str(rng.choice(["where", "what"]))
    ordered = bool(rng.random() < 0.6)
    if not ordered:
        ends[1] = ends[0]
    return RelationType(f"r{i}", f"relation {i} of", *ends, ordered=ordered, group=group, given=given)


def random_columns(
    rng: np.random.Generator, vocabulary: Vocabulary, images: int, *, most_objects: int = 5
) -> Columns:
    """Images of zero to `most_objects` objects; about one fact in six unknown, one object in ten a crowd."""
    sizes = rng.integers(0, most_objects + 1, size=images)
    n = int(sizes.sum())
    types = rng.integers(0, len(vocabulary.types), size=n).astype(np.int16)
    yes, no = _facts(rng, vocabulary, types)
    holds = [_pairs(rng, vocabulary, m) for m in sizes]
    seen = rng.random((n, len(vocabulary.regions))) < 0.6
    seen[:, 0] = True
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Columns(
        ids=np.array([f"s{i:03d}" for i in range(images)], dtype=object),
        starts=starts,
        objects=np.array([f"o{k}" for m in sizes for k in range(m)], dtype=object),
        types=types,
        crowd=rng.random(n) < 0.1,
        yes=packed(yes),
        no=packed(no),
        seen=packed(seen)[:, 0],
        pair_starts=np.concatenate([[0], np.cumsum(sizes * sizes)]).astype(np.int64),
        holds=packed(np.concatenate([h for h, _ in holds])),
        fails=packed(np.concatenate([f for _, f in holds])),
        n_attributes=yes.shape[1],
        n_regions=len(vocabulary.regions),
        n_links=len(vocabulary.links),
    )


def _facts(rng: np.random.Generator, vocabulary: Vocabulary, types: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attributes each object has and has not; of an exclusive group it has at most one, and lacks the rest."""
    shape = len(types), max(len(k.attributes) for k in vocabulary.types)
    yes, no = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for i, t in enumerate(types):
        kind = vocabulary.types[t]
        for k, attribute in enumerate(kind.attributes):
            same = [j for j, other in enumerate(kind.attributes) if other.group == attribute.group]
            if attribute.group in kind.exclusive and yes[i, same].any():
                no[i, k] = True
            else:
                draw = rng.random()
                yes[i, k], no[i, k] = draw < 0.45, draw > 0.6
                if yes[i, k] and attribute.group in kind.exclusive:
                    no[i, same] = True
                    no[i, k] = False
    return yes, no


def _pairs(rng: np.random.Generator, vocabulary: Vocabulary, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(n², R) what holds and what fails, row-major, symmetric where a relation is unordered."""
    draw = rng.random((n, n, len(vocabulary.links)))
    for k, link in enumerate(vocabulary.links):
        if not link.ordered:
            draw[:, :, k] = np.triu(draw[:, :, k]) + np.triu(draw[:, :, k], 1).T
    holds, fails = draw < 0.5, draw > 0.65
    holds[np.arange(n), np.arange(n)] = fails[np.arange(n), np.arange(n)] = False
    shape = n * n, len(vocabulary.links)
    return holds.reshape(shape), fails.reshape(shape)


def random_history(rng: np.random.Generator, vocabulary: Vocabulary, columns: Columns, steps: int) -> History:
    """Random questions with the answers of one image, where it decides them, and at times a lie.

    Labelled objects are spoken of only after they were labelled.
    """
    rich = max(rng.integers(len(columns), size=2), key=lambda i: columns.starts[i + 1] - columns.starts[i])
    picture = picture_of(columns.image(int(rich)), vocabulary)
    history: History = ()
    for _ in range(3 * steps):
        labelled = walked(picture, history)
        for _ in range(4):  # most uniqueness questions are denied; labels are what makes a history interesting
            question = random_question(rng, vocabulary, labels_of(history))
            answer = None if labelled is None else truth(picture, question, labelled)
            if answer or question.kind != "unique":
                break
        if labelled is None or rng.random() < 0.03:
            answer = bool(rng.random() < 0.5)
        if answer is not None:
            history = (*history, (question, answer))
        if len(history) == steps:
            break
    return history


def ask(
    estimator: Estimator,
    vocabulary: Vocabulary,
    operator: Operator,
    *,
    scene_id: str,
    seed: int,
    number: int = 0,
    **options: Any,
) -> Stream:
    """A whole stream by any estimator."""
    engine = Engine(
        estimator, vocabulary, scene_id=scene_id, seed=seed, number=number, options=QuestionOptions(**options)
    )
    return ask_all(engine, operator)


def random_question(rng: np.random.Generator, vocabulary: Vocabulary, labels: tuple[Label, ...]) -> Question:
    """Any legal question after those labels, of up to three attributes."""
    pairs = [
        (a, b, r) for a in labels for b in labels for r in vocabulary.links if a != b and r.joins(a.type, b.type)
    ]
    owners = [label for label in labels if vocabulary.kind(label.type).attributes]
    kind = str(rng.choice(["exist", "unique", "unique", "attribute", "attribute", "relation", "relation"]))
    if kind == "relation" and pairs:
        a, b, link = pairs[rng.integers(len(pairs))]
        return Question("relation", subject=a, object=b, relation=link.name)
    if kind == "attribute" and owners:
        owner = owners[rng.integers(len(owners))]
        return Question(
            "attribute", attributes=random_attributes(rng, vocabulary.kind(owner.type), least=1), subject=owner
        )
    wanted = vocabulary.types[rng.integers(len(vocabulary.types))]
    region = vocabulary.regions[rng.integers(len(vocabulary.regions))].name
    search = "exist" if kind == "exist" or rng.random() < 0.3 else "unique"
    return Question(search, wanted.name, random_attributes(rng, wanted, least=0), region)


def random_attributes(rng: np.random.Generator, kind: ObjectType, *, least: int) -> tuple[str, ...]:
    """Up to three names in the vocabulary's order, at most one of an exclusive group; mostly few."""
    size = min(len(kind.attributes), least + int(rng.choice([0, 0, 1, 2])))
    chosen: list[Attribute] = []
    for i in sorted(rng.permutation(len(kind.attributes))[:size]):
        attribute = kind.attributes[i]
        if not (attribute.group in kind.exclusive and any(a.group == attribute.group for a in chosen)):
            chosen.append(attribute)
    return tuple(a.name for a in chosen)


def all_questions(vocabulary: Vocabulary, labels: tuple[Label, ...], most_attributes: int = 1) -> list[Question]:
    """Every legal question of at most one attribute after those labels (two with `most_attributes` 2)."""
    questions = []
    for kind in vocabulary.types:
        for names in _sets(kind, most_attributes):
            questions += [
                Question(search, kind.name, names, region.name)
                for region in vocabulary.regions
                for search in ("exist", "unique")
            ]
            questions += [
                Question("attribute", attributes=names, subject=label)
                for label in labels
                if names and label.type == kind.name
            ]
    return questions + [
        Question("relation", subject=a, object=b, relation=link.name)
        for a in labels
        for b in labels
        for link in vocabulary.links
        if a != b and link.joins(a.type, b.type)
    ]


def _sets(kind: ObjectType, most: int) -> list[tuple[str, ...]]:
    sets: list[tuple[Attribute, ...]] = [()]
    for _ in range(most):
        sets += [
            (*chosen, a)
            for chosen in sets
            for i, a in enumerate(kind.attributes)
            if all(kind.attributes.index(c) < i for c in chosen)
            and not (a.group in kind.exclusive and any(c.group == a.group for c in chosen))
        ]
    return list(dict.fromkeys(tuple(a.name for a in chosen) for chosen in sets))
