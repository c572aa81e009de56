"""Corpora in a folder: the same after reopening, whole or not at all, and never a stale one."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from exams.turing.turing_cases import Case, all_questions, random_case
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.annotations.columns import Columns
from sightline.exams.turing.estimate import layout
from sightline.exams.turing.estimate.bits import ABREAST, transpose, transpose_abreast
from sightline.exams.turing.estimate.corpus import MARKER, OWNED, Corpus, fingerprint_of
from sightline.exams.turing.estimate.estimator import Chance
from sightline.exams.turing.estimate.frequencies import Frequencies
from sightline.exams.turing.vocabulary.files import load_vocabulary
from sightline.exams.turing.vocabulary.questions import Question, labels_of
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "turing.py"


@pytest.fixture(scope="module")
def benchmark_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("turing_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def urban(benchmark_module: ModuleType) -> tuple[Columns, Vocabulary]:
    vocabulary = load_vocabulary("urban")
    return benchmark_module.made_up(vocabulary, 300, 5), vocabulary


def chances(corpus: Corpus) -> list[Chance]:
    estimator = Frequencies(corpus)
    estimator.learn(Question("unique", "vehicle", region="left half"), True)
    estimator.learn(Question("unique", "person"), True)
    return estimator.chances(all_questions(corpus.vocabulary, estimator.labels, 1))


def test_a_reopened_corpus_is_the_same(urban: tuple[Columns, Vocabulary], tmp_path: Path) -> None:
    built = Corpus.build(*urban, tmp_path / "c")
    opened, inside = Corpus.open(tmp_path / "c"), Corpus.build(*urban)
    assert opened.vocabulary == urban[1]
    assert len(opened) == len(urban[0]) == len(inside)
    assert np.array_equal(opened.planes, inside.planes)
    expected = np.array(chances(inside))
    for corpus in (built, opened):
        assert np.array_equal(np.array(chances(corpus)), expected, equal_nan=True)
    assert {file.name for file in (tmp_path / "c").iterdir()} == set(OWNED)


def test_nothing_in_a_corpus_can_be_written_to(urban: tuple[Columns, Vocabulary], tmp_path: Path) -> None:
    for corpus in (Corpus.build(*urban), Corpus.build(*urban, tmp_path / "c")):
        assert not corpus.planes.flags.writeable
        assert not corpus.tables.records.flags.writeable
    assert urban[0].starts.flags.writeable  # the columns it was built from are left alone


def _from_another_process(folder: Path) -> list[Chance]:
    return chances(Corpus.open(folder))


def test_processes_share_it(urban: tuple[Columns, Vocabulary], tmp_path: Path) -> None:
    expected = np.array(chances(Corpus.build(*urban, tmp_path / "c")))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(_from_another_process, (tmp_path / "c",))
    assert np.array_equal(np.array(found), expected, equal_nan=True)


def changed(columns: Columns, vocabulary: Vocabulary, what: str) -> tuple[Columns, Vocabulary]:
    if what == "words":
        return columns, replace(vocabulary, most_attributes=vocabulary.most_attributes + 1)
    values = getattr(columns, what).copy()
    values[-1] ^= values.dtype.type(1)
    return replace(columns, **{what: values}), vocabulary


@pytest.mark.parametrize("what", ["words", "yes", "no", "seen", "crowd", "types", "holds", "fails"])
def test_a_stale_corpus_is_refused(urban: tuple[Columns, Vocabulary], what: str, tmp_path: Path) -> None:
    Corpus.build(*urban, tmp_path / "c")
    Corpus.open(tmp_path / "c", fingerprint=fingerprint_of(*urban))
    with pytest.raises(DataError, match="other annotations or another vocabulary"):
        Corpus.open(tmp_path / "c", fingerprint=fingerprint_of(*changed(*urban, what)))


def test_a_failed_build_leaves_nothing(
    urban: tuple[Columns, Vocabulary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(layout, "fill_pairs", killed)
    with pytest.raises(KeyboardInterrupt):
        Corpus.build(*urban, tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_another_is_replaced_only_when_told(urban: tuple[Columns, Vocabulary], tmp_path: Path) -> None:
    Corpus.build(*urban, tmp_path / "c")
    other = changed(*urban, "yes")
    with pytest.raises(ConfigError, match="already holds"):
        Corpus.build(*other, tmp_path / "c")
    assert Corpus.build(*other, tmp_path / "c", overwrite=True).fingerprint == fingerprint_of(*other)


def _cut(folder: Path) -> None:
    planes = folder / "planes.bin"
    planes.write_bytes(planes.read_bytes()[:-8])


def _newer(folder: Path) -> None:
    head = json.loads((folder / MARKER).read_text())
    (folder / MARKER).write_text(json.dumps(head | {"format": 99}))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: (folder / MARKER).unlink(), "no corpus here"),  # not a corpus
        (lambda folder: (folder / MARKER).write_text("{"), "not JSON"),  # no JSON
        (lambda folder: (folder / MARKER).write_text("[]"), "another format"),  # not a mapping
        (lambda folder: (folder / MARKER).write_text('{"format": 2}'), "damaged"),  # half of it
        (_newer, "another format"),  # of a later version
        (_cut, "damaged"),  # planes cut short
        (lambda folder: (folder / "records.npy").unlink(), "damaged"),  # a table is gone
        (lambda folder: (folder / "sure.npy").write_bytes(b""), "damaged"),  # a table is empty
    ],
)
def test_damage_is_told(urban: tuple[Columns, Vocabulary], harm: object, message: str, tmp_path: Path) -> None:
    Corpus.build(*urban, tmp_path / "c")
    harm(tmp_path / "c")  # type: ignore[operator]
    with pytest.raises(DataError, match=message):
        Corpus.open(tmp_path / "c")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_regions": 3}, "n_regions"),  # of other regions
        ({"n_links": 1}, "n_links"),  # of other relations
        ({"n_attributes": 99}, "n_attributes"),  # of other attributes
        ({"types": "beyond"}, "type that the vocabulary has not"),  # a type too many
    ],
)
def test_columns_of_another_vocabulary(
    urban: tuple[Columns, Vocabulary], change: dict[str, object], message: str
) -> None:
    columns, vocabulary = urban
    if change == {"types": "beyond"}:
        change = {"types": columns.types + np.int16(1)}
    with pytest.raises(DataError, match=message):
        Corpus.build(replace(columns, **change), vocabulary)


def test_no_images_at_all(urban: tuple[Columns, Vocabulary], benchmark_module: ModuleType, tmp_path: Path) -> None:
    corpus = Corpus.build(benchmark_module.first_images(urban[0], 0), urban[1], tmp_path / "c")
    assert len(corpus) == 0
    assert Frequencies(corpus).chances([Question("exist", "person")])[0].support == 0


@pytest.mark.parametrize("bits", [1, 20, 32, 33, 64])
def test_turning_words(bits: int) -> None:
    table = np.random.default_rng(bits).random((64, bits)) < 0.5
    words = (table.astype(np.uint64) << np.arange(bits, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    transpose(words, bits)
    back = words[:bits, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    assert np.array_equal(back.astype(bool), table.T)


@pytest.mark.parametrize("bits", [1, 20, 32, 33, 64])
def test_turning_blocks_abreast(bits: int) -> None:
    blocks = np.random.default_rng(bits).integers(0, 2**bits, (64, ABREAST), dtype=np.uint64, endpoint=False)
    expected = [blocks[:, b].copy() for b in range(ABREAST)]
    transpose_abreast(blocks, bits)
    for b, words in enumerate(expected):
        transpose(words, bits)
        assert np.array_equal(blocks[:bits, b], words[:bits])


def test_facts_say_what_the_records_say(urban: tuple[Columns, Vocabulary]) -> None:
    corpus = Corpus.build(*urban)
    tables, one = corpus.tables, np.uint64(1)
    for t, kind in enumerate(corpus.vocabulary.types):
        part = slice(*tables.type_starts[t : t + 2].tolist())
        bits = np.unpackbits(tables.facts[part].view(np.uint8), axis=1, bitorder="little").astype(bool)
        yes, no, seen = (tables.records[part, column] for column in range(3))
        for k in range(len(kind.attributes)):
            assert np.array_equal(bits[:, k], yes >> np.uint64(k) & one)
            assert np.array_equal(bits[:, tables.may_have[t, k]], ~no >> np.uint64(k) & one)
        for w in range(len(corpus.vocabulary.regions)):
            assert np.array_equal(bits[:, len(kind.attributes) + w], seen >> np.uint64(w) & one)
        assert not bits[:, corpus.number_of_facts(kind.name) :].any()


@pytest.mark.long
def test_the_benchmark_runs(benchmark_module: ModuleType) -> None:
    result = benchmark_module.measure(200, 0, pandas=importlib.util.find_spec("pandas") is not None)
    assert [row["candidates"] for row in result["steps"]] == [670, 2680]
    assert result["steps"][0]["labels"] >= 1
    assert all(row["questions"] for row in result["streams"]["streams"])
    assert "670 candidates" in benchmark_module.describe(result)


def test_random_cases_have_labels() -> None:
    """The cases the other tests lean on do label objects."""
    found: list[Case] = [random_case(seed, images=40) for seed in range(30)]
    assert sum(bool(labels_of(case.history)) for case in found) > 10
