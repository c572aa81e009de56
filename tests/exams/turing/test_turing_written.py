"""Written tests and streams as JSON: there and back, whole or not at all, and without the truth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from exams.turing.turing_cases import ask, random_columns, random_vocabulary
from reference.turing_oracle import SlowEstimator
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.annotations.columns import Columns, read_columns, subset, write_columns
from sightline.exams.turing.stream.operators import FromFile, GroundTruth
from sightline.exams.turing.stream.steps import Step, Stream, step_from_json, steps_to_json
from sightline.exams.turing.stream.written import (
    anonymous_columns,
    read_key,
    read_test,
    single_questions,
    write_test,
)
from sightline.exams.turing.vocabulary.questions import Question, Truth
from sightline.exams.turing.vocabulary.regions import region_set
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    RelationType,
    Vocabulary,
)
from sightline.store import Dataset, Tables

SEED = 28


def attribute(name: str, group: str) -> Attribute:
    return Attribute(name, group, name, AttributeSource("flag", name))


WORDS = Vocabulary(
    "street",
    (
        ObjectType(
            "person", ("person",), (attribute("tall", "size"), attribute("wet", "state"), attribute("old", "age"))
        ),
        ObjectType(
            "car", ("car",), (attribute("red", "colour"), attribute("blue", "colour")), frozenset({"colour"})
        ),
    ),
    (
        RelationType("near", "near each other", ordered=False, values=("near",)),
        RelationType("closer", "closer to the camera than", camera=True, values=("closer",)),
    ),
    region_set(["halves", "quarters"]),
)


class World:
    """A vocabulary, training images, and streams about other images, one of them without questions."""

    def __init__(self, seed: int = SEED) -> None:
        rng = np.random.default_rng(seed)
        self.words = WORDS
        self.training: Columns = random_columns(rng, self.words, 80, most_objects=4)
        self.asked: Columns = random_columns(rng, self.words, 3, most_objects=4)
        estimator = SlowEstimator(self.training, self.words, min_support=3)
        made = [
            ask(
                estimator.fork(),
                WORDS,
                GroundTruth(self.asked.image(i), WORDS),
                scene_id=f"t{i}",
                seed=seed,
                number=number,
                min_support=3,
                epsilon=0.25,
            )
            for i in range(3)
            for number in (0, 1)
        ]
        self.streams: list[Stream] = [*made, Stream("t2", seed, 2, (), "exhausted")]


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def dataset(folder: Path, *, pictures: bool) -> Dataset:
    """Scenes t0, t1 and t2; the last without a picture."""
    rows: dict[str, list[Any]] = {"scene_id": ["t0", "t1", "t2"], "view_id": ["0"] * 3, "image": [None] * 3}
    for i in range(2 if pictures else 0):
        header = Image.Exif()
        header[270] = "a person on the left"  # ImageDescription
        Image.new("RGB", (8, 6), (40 * i, 9, 9)).save(folder / f"truth_{i}.png", exif=header)
        rows["image"][i] = f"truth_{i}.png"
    views = pl.DataFrame(rows, schema_overrides={"image": pl.String})
    return Dataset.from_tables(Tables.build(views=views), folder)


def test_the_world_has_all_that_matters(world: World) -> None:
    steps = [step for stream in world.streams for step in stream.steps]
    assert any(step.truth is Truth.AMBIGUOUS for step in steps)
    assert {step.question.kind for step in steps} == {"exist", "unique", "attribute", "relation"}


def test_a_test_comes_back_as_written(world: World, tmp_path: Path) -> None:
    data, key = dataset(tmp_path, pictures=True), tmp_path / "keys" / "key.jsonl"
    about = {"epsilon": 0.25, "nothing": float("nan")}
    name = write_test(tmp_path / "t", world.streams, data, world.words, world.training, key=key, about=about)
    test = read_test(tmp_path / "t")
    assert (test.id, test.vocabulary, test.about) == (name, world.words, {"epsilon": 0.25, "nothing": None})
    names = names_in(key)
    assert sorted(names.values()) == [f"{name}-{i:06d}" for i in range(3)]
    ordered = sorted(world.streams, key=lambda s: (names[s.scene_id], s.number))
    asked = [(s.scene_id, s.number, p) for s in ordered for p in s.steps if p.truth is not Truth.AMBIGUOUS]
    assert list(test.questions.items()) == [
        ((names[scene], number, step.number), step.question) for scene, number, step in asked
    ]
    keyed = {(stream.scene_id, stream.number): stream for stream in read_key(key, test)}
    for stream in world.streams:
        if stream.steps:
            image = names[stream.scene_id]
            assert keyed.pop((image, stream.number)) == replace(stream, seed=0, scene_id=image)
    assert not keyed
    assert same(test.training(), anonymous_columns(world.training)[0])
    for scene, file in test.files.items():
        assert (file is None) is (scene == names["t2"])
        if file is not None:
            with Image.open(tmp_path / "t" / file) as picture:
                assert picture.size == (8, 6)
                real = next(told for told, drawn in names.items() if drawn == scene)
                assert picture.getpixel((0, 0)) == (40 * int(real[-1]), 9, 9)
                assert picture.info == {}


def names_in(key: Path) -> dict[str, str]:
    """Scene id → name in the test, as the key has them."""
    return {row["scene_id"]: row["image"] for row in rows_of(key)}


def test_training_images_have_no_names(world: World, tmp_path: Path) -> None:
    plain_ids = np.array([f"geospa/train/7/{i:08d}" for i in range(80)], dtype=object)
    named = replace(
        world.training, ids=plain_ids, objects=np.char.add("object ", world.training.objects.astype(str))
    )
    nameless, order = anonymous_columns(named)
    assert nameless.ids.tolist() == [f"{i:06d}" for i in range(80)]
    assert sorted(order.tolist()) == [*range(80)]
    assert order.tolist() != [*range(80)]
    for row, old in enumerate(order):
        new, before = nameless.image(row), named.image(int(old))
        assert new.objects == tuple(map(str, range(len(before.objects))))
        assert all(
            np.array_equal(getattr(new, n), getattr(before, n)) for n in ("types", "yes", "no", "seen", "holds")
        )
    turned = subset(named, np.arange(80)[::-1])  # the order of the data leaves no trace
    assert same(anonymous_columns(turned)[0], nameless)


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_nothing_handed_out_names_the_images(world: World, tmp_path: Path) -> None:
    told = {f"t{i}": f"no-person-here-{i}" for i in range(3)}  # scene ids that tell the answer
    data = dataset(tmp_path, pictures=True).tables()
    views = data.views.with_columns(pl.col("scene_id").replace(told))
    streams = [replace(stream, scene_id=told[stream.scene_id]) for stream in world.streams]
    renamed = Dataset.from_tables(Tables.build(views=views), tmp_path)
    write_test(tmp_path / "t", streams, renamed, world.words, world.training, key=tmp_path / "key.jsonl")
    for file in (tmp_path / "t").rglob("*"):
        assert "person-here" not in file.name
        assert not file.is_file() or b"person-here" not in file.read_bytes()
        assert "truth_" not in file.name
    assert "no-person-here-0" in (tmp_path / "key.jsonl").read_text()


def test_pictures_count_in_the_fingerprint(world: World, tmp_path: Path) -> None:
    data = dataset(tmp_path, pictures=True)
    how = {"vocabulary": world.words, "training": world.training, "overwrite": True}
    old = write_test(tmp_path / "t", world.streams, data, key=tmp_path / "key.jsonl", **how)
    again = write_test(tmp_path / "u", world.streams, data, key=tmp_path / "key2.jsonl", **how)
    assert old == again  # the same test, the same id
    Image.new("RGB", (8, 6), (7, 7, 7)).save(tmp_path / "truth_1.png")
    new = write_test(tmp_path / "u", world.streams, data, key=tmp_path / "key2.jsonl", **how)
    assert new != old
    with pytest.raises(DataError, match="key of another test"):
        read_key(tmp_path / "key.jsonl", read_test(tmp_path / "u"))
    assert not {place[0] for place in read_test(tmp_path / "u").questions} & {
        place[0] for place in read_test(tmp_path / "t").questions
    }  # so answers to the old test fit no question of the new one
    Image.new("RGB", (8, 6), (7, 7, 7)).save(tmp_path / "t" / "pictures" / "000001.png")
    with pytest.raises(DataError, match=r"test\.json, id: questions, vocabulary or pictures were changed"):
        read_test(tmp_path / "t")
    (tmp_path / "t" / "pictures" / "000001.png").unlink()
    (tmp_path / "t" / "pictures" / "000001.png").symlink_to(tmp_path / "truth_1.png")
    with pytest.raises(DataError, match="leads out"):
        read_test(tmp_path / "t")


def test_a_line_names_only_labels_given_before_it(world: World, tmp_path: Path) -> None:
    write_test(
        tmp_path / "t",
        world.streams,
        dataset(tmp_path, pictures=False),
        world.words,
        world.training,
        key=tmp_path / "key.jsonl",
    )
    rows = rows_of(tmp_path / "t" / "questions.jsonl")
    real = {drawn: told for told, drawn in names_in(tmp_path / "key.jsonl").items()}
    lines = {(real[row["scene_id"]], row["stream"], row["step"]): row["labels"] for row in rows}
    for stream in world.streams:
        before: dict[str, list[float] | None] = {}
        for step in stream.steps:
            if (labels := lines.get((stream.scene_id, stream.number, step.number))) is not None:
                assert labels == before
            if step.label is not None:
                region = step.question.region
                before[str(step.label)] = None if region == "image" else list(world.words.region(region).box)
    assert any(lines.values())


def test_the_folder_does_not_depend_on_the_answers_but_for_labels(world: World, tmp_path: Path) -> None:
    lied = [replace(s, steps=tuple(map(contrary, s.steps))) for s in world.streams]
    data = dataset(tmp_path, pictures=True)
    for name, streams in (("true", world.streams), ("lied", lied)):
        write_test(tmp_path / name, streams, data, world.words, world.training, key=tmp_path / f"{name}.key")
    files = sorted(p.relative_to(tmp_path / "true") for p in (tmp_path / "true").rglob("*") if p.is_file())
    assert len(files) == 9
    for file in files:
        assert (tmp_path / "true" / file).read_bytes() == (tmp_path / "lied" / file).read_bytes()
        assert b"a person on the left" not in (tmp_path / "true" / file).read_bytes()
    assert (tmp_path / "true.key").read_bytes() != (tmp_path / "lied.key").read_bytes()


def contrary(step: Step) -> Step:
    """The step with another answer, chance and object, where that gives and takes no label."""
    if step.question.kind == "unique" or step.truth is Truth.AMBIGUOUS:
        return replace(step, object_id="other")
    return replace(step, truth=Truth.NO if step.truth is Truth.YES else Truth.YES, p_yes=0.123, support=7, among=3)


def test_the_key_answers_as_an_operator(world: World, tmp_path: Path) -> None:
    key = tmp_path / "key.jsonl"
    first = world.streams[:1]
    write_test(tmp_path / "t", first, dataset(tmp_path, pictures=False), world.words, world.training, key=key)
    again = ask(
        SlowEstimator(world.training, world.words, min_support=3),
        world.words,
        FromFile(key, "t0", world.words),
        scene_id="t0",
        seed=SEED,
        min_support=3,
        epsilon=0.25,
    )
    assert again == first[0]


def test_the_images_asked_about_are_not_handed_out(world: World, tmp_path: Path) -> None:
    asked = replace(world.asked, ids=np.array(["t0", "t1", "t2"], dtype=object))
    data = dataset(tmp_path, pictures=False)
    with pytest.raises(ConfigError, match="among the training images"):
        write_test(tmp_path / "t", world.streams, data, world.words, asked, key=tmp_path / "k")
    others = replace(world.training, ids=np.array([f"t{i}" for i in range(80)], dtype=object))
    write_test(tmp_path / "t", world.streams, data, world.words, others, key=tmp_path / "k")  # only called alike


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": "t/key.jsonl"}, "inside the test's folder"),
        ({"key": "there.jsonl"}, "is there already"),
        ({"double": True}, "same number"),
        ({"view": "top"}, "no such view"),
        ({"scene": True}, "no such scene"),
    ],
)
def test_a_write_that_fails_leaves_nothing(
    world: World, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    (tmp_path / "there.jsonl").write_text("mine")
    streams = world.streams * (2 if change.get("double") else 1)
    streams = [*streams, Stream("nowhere", 0, 0, (), "exhausted")] if change.get("scene") else streams
    before = sorted(tmp_path.iterdir())
    with pytest.raises((ConfigError, DataError), match=message):
        write_test(
            tmp_path / "t",
            streams,
            dataset(tmp_path, pictures=False),
            world.words,
            world.training,
            key=tmp_path / change.get("key", "key.jsonl"),
            view=change.get("view"),
        )
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "there.jsonl").read_text() == "mine"


@pytest.fixture
def folder(world: World, tmp_path: Path) -> Path:
    write_test(
        tmp_path / "t",
        world.streams,
        dataset(tmp_path, pictures=False),
        world.words,
        world.training,
        key=tmp_path / "key.jsonl",
    )
    return tmp_path


def test_an_old_test_is_replaced_only_when_told(folder: Path, world: World) -> None:
    data = dataset(folder, pictures=False)
    old = read_test(folder / "t").id

    def again(**more: Any) -> str:
        key = folder / more.pop("key", "key.jsonl")
        return write_test(folder / "t", world.streams[:2], data, world.words, world.training, key=key, **more)

    with pytest.raises(ConfigError, match="overwrite"):
        again(key="other.jsonl")
    assert read_test(folder / "t").id == old
    assert again(overwrite=True) == read_test(folder / "t").id != old
    read_key(folder / "key.jsonl", read_test(folder / "t"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("test.json", "{", "", "not JSON"),
        ("test.json", '"format": 2', '"format": 9', "another format"),
        ("test.json", '"id": "', '"id": 7, "x": "', "test.json, x: unknown field"),
        ("test.json", '"about": {', '"about": [', "not JSON"),
        ("questions.jsonl", "{", "", "row 1: not JSON"),
        ("questions.jsonl", '"labels"', '"label"', "row 1: not a question of a test"),
        ("questions.jsonl", '"question": {', '"question": {"x": 1}, "y": {', "row 1"),
        ("questions.jsonl", '"text": "', '"text": "x', "were changed"),
    ],
)
def test_a_damaged_test_is_refused(folder: Path, file: str, old: str, new: str, message: str) -> None:
    edit(folder / "t" / file, old, new)
    with pytest.raises(DataError, match=message):
        read_test(folder / "t")


def test_a_key_must_fit(folder: Path, world: World) -> None:
    test, key = read_test(folder / "t"), folder / "key.jsonl"
    lines = key.read_text().splitlines()
    key.write_text("\n".join(line for line in lines if json.loads(line)["step"] != 1))
    with pytest.raises(DataError, match="no answer to a question"):
        read_key(key, test)
    key.write_text("\n".join([lines[0], '{"test": "1234"}']))
    with pytest.raises(DataError, match="row 2, test: key of another test"):
        read_key(key, test)
    key.write_text(json.dumps({"test": test.id, "answer": "no"}))
    with pytest.raises(DataError, match="row 1: not a line of a key"):
        read_key(key, test)
    spoilt = json.loads(lines[0])
    spoilt["question"]["type"] = "eist"
    key.write_text(json.dumps(spoilt))
    with pytest.raises(DataError, match=r"key\.jsonl, row 1, question: .*unknown type of question"):  # by make fuzz
        read_key(key, test)


def test_damaged_training_annotations_are_refused(folder: Path) -> None:
    (folder / "t" / "training" / "pairs.parquet").write_bytes(b"no table")
    with pytest.raises(DataError, match=r"pairs\.parquet: table cannot be decoded"):
        read_test(folder / "t").training()


def test_the_list_of_questions_has_each_once(world: World) -> None:
    rows = list(single_questions(world.words))
    kinds = [row["type"] for row in rows]
    words = world.words
    searches = 2 * len(words.regions) * sum(1 + len(kind.attributes) for kind in words.types)
    assert kinds.count("exist") + kinds.count("unique") == searches
    assert kinds.count("attribute") == sum(len(kind.attributes) for kind in words.types)
    assert kinds.count("relation") == len(words.links)
    assert len({json.dumps(row["question"]) for row in rows}) == len(rows)


@pytest.mark.parametrize("seed", range(8))
def test_annotations_come_back_as_written(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    words = random_vocabulary(rng, links=70 if seed == 3 else seed % 3)
    columns = random_columns(rng, words, 9, most_objects=0 if seed == 7 else 5)  # and empty ones
    write_columns(columns, words, tmp_path)
    assert same(read_columns(tmp_path, words), columns)


def same(a: Columns, b: Columns) -> bool:
    for name in Columns.__dataclass_fields__:
        left, right = getattr(a, name), getattr(b, name)
        if not np.array_equal(left, right) or getattr(left, "dtype", 0) != getattr(right, "dtype", 0):
            return False
    return True


def test_steps_come_back_from_json(world: World) -> None:
    for stream in world.streams:
        rows = json.loads(json.dumps(steps_to_json(stream, world.words)))
        assert tuple(step_from_json(row, world.words) for row in rows) == stream.steps


def test_steps_have_the_fixed_fields(world: World) -> None:
    stream = world.streams[0]
    rows = steps_to_json(stream, world.words)
    given: list[str] = []
    for row, step in zip(rows, stream.steps, strict=True):
        assert list(row)[:8] == ["step", "type", "text", "region", "p_yes", "support", "answer", "labels"]
        assert row["labels"] == given
        assert row["answer"] in ("yes", "no", "ambiguous")
        region = step.question.region
        whole = region == "image" or not step.question.instantiates
        assert row["region"] == (None if whole else list(world.words.region(region).box))
        given += [row["label"]] if row["label"] else []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "maybe"}, "row 1: not a step: 'maybe'"),  # no such answer
        ({"question": {}}, "row 1"),  # no such question
        ({"label": "person"}, "row 1: .*not the label of an object"),  # a label without a number
        ({"support": None}, "row 1: not a step"),  # no number
        ({"step": None}, "not a step"),  # nor here
    ],
)
def test_a_step_that_is_none(world: World, change: dict[str, Any], message: str) -> None:
    row = steps_to_json(world.streams[0], world.words)[0] | change
    with pytest.raises(DataError, match=message):
        step_from_json(row, world.words)


def test_a_chance_of_nothing_is_null(world: World) -> None:
    kind = world.words.types[0].name
    step = Step(1, Question("exist", kind), float("nan"), 0, Truth.NO)
    stream = Stream("s", 0, 0, (step,), "operator")
    rows = steps_to_json(stream, world.words)
    assert rows[0]["p_yes"] is None
    assert np.isnan(step_from_json(rows[0], world.words).p_yes)
