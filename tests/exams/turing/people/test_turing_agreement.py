"""Two operators: how far they agree, and one file of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sightline.errors import DataError
from sightline.exams.turing.people.agreement import adjudicate, agree, settle_by
from sightline.exams.turing.people.terminal import settle_in_terminal


def row(scene: str, question: str, answer: str, **more: Any) -> dict[str, Any]:
    return {"scene_id": scene, "seed": 0, "stream": 0, "question": {"q": question}, "answer": answer, **more}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    words = ["yes", "yes", "no", "no", "ambiguous", "yes"]
    first = [row(f"s{i // 2}", str(i), word, box=[0, 0, 1, 1]) for i, word in enumerate(words)]
    words = ["yes", "no", "no", "no", "ambiguous", "no"]
    second = [row(f"s{i // 2}", str(i), word, box=None) for i, word in enumerate(words)]
    apart = [row("s0", "0", "no", stream=1), row("s0", "0", "no", seed=3), row("s0", "0", "no", labels=["ball 1"])]
    return write(tmp_path / "a", *first, row("s9", "x", "yes")), write(tmp_path / "b", *second, *apart)


def test_agreement_and_kappa(files: tuple[Path, Path]) -> None:
    found = agree(*files)
    assert (found.shared, found.streams, found.alone) == (6, 3, (1, 3))
    assert found.agreement.value == pytest.approx(4 / 6)
    shares = [4 / 12, 6 / 12, 2 / 12]  # of yes, no and ambiguous among the twelve answers
    chance = sum(p * p for p in shares)
    assert found.kappa.value == pytest.approx((4 / 6 - chance) / (1 - chance))
    assert found.counts == ((1, 2, 0), (0, 2, 0), (0, 0, 1))
    assert [(a["question"]["q"], a["answer"], b["answer"]) for a, b in found.disagreements] == [
        ("1", "yes", "no"),
        ("5", "yes", "no"),
    ]
    assert "6 questions of 3 streams" in str(found)
    assert found.to_dict()["disagreements"][0]["second"] == "no"


def test_a_label_stands_for_what_gave_it(tmp_path: Path) -> None:
    """The first found object 1 below, the second above: what each says of it is of another thing."""

    def unique(region: str, answer: str, **more: Any) -> dict[str, Any]:
        found = row("s", "", answer, **more)
        return {**found, "question": {"type": "unique", "object_type": "object", "region": region}}

    red = {"labels": ["object 1"]}
    first = [unique("top", "no"), unique("bottom", "yes"), row("s", "is object 1 red", "yes", **red)]
    second = [unique("top", "yes"), row("s", "is object 1 red", "no", **red)]
    files = write(tmp_path / "a", *first), write(tmp_path / "b", *second)
    found = agree(*files)
    assert (found.shared, found.alone) == (1, (2, 1))
    for word, kept in (("no", ["yes"]), ("yes", ["no"])):
        third = write(tmp_path / "c", unique("top", word))
        adjudicate(*files, tmp_path / "out", settle_by(third))
        rows = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
        assert [r["answer"] for r in rows if "labels" in r] == kept
    same = agree(files[0], files[0])
    assert (same.shared, same.agreement.value) == (3, 1.0)


def test_one_file_of_two(files: tuple[Path, Path], tmp_path: Path) -> None:
    third = write(tmp_path / "c", row("s0", "1", "no"))
    assert adjudicate(*files, tmp_path / "out", settle_by(third)) == 2
    rows = {
        (r["scene_id"], r["question"]["q"]): r
        for r in map(json.loads, (tmp_path / "out").read_text().splitlines())
        if r["stream"] == 0 and r["seed"] == 0 and "labels" not in r
    }
    assert (rows["s0", "1"]["answer"], rows["s0", "1"]["box"]) == ("no", None)  # the third agrees with the second
    assert (rows["s2", "5"]["answer"], rows["s2", "5"]["box"]) == ("ambiguous", None)  # and is silent here
    assert rows["s0", "0"]["box"] == [0, 0, 1, 1]
    assert rows["s9", "x"]["answer"] == "yes"
    assert agree(tmp_path / "out", files[0]).shared == 7


@pytest.mark.parametrize(("typed", "said"), [("y", "yes"), ("n", "no"), ("a", "ambiguous"), ("q", None)])
def test_a_person_settles(typed: str, said: str | None) -> None:
    both = row("s", "1", "yes", text="Is there a ball?"), row("s", "1", "no")
    if said is None:
        with pytest.raises(KeyboardInterrupt):
            settle_in_terminal(*both, lambda _: typed)
    else:
        assert settle_in_terminal(*both, lambda _: typed) == said


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row("other", "0", "yes")], "no question stands in both files"),
        ([row("s0", "0", "maybe")], "row 1, answer: not an answer"),
        ([{"answer": "yes"}], "row 1: not a line of answers"),
        ([row("s0", "0", "yes") | {"labels": 0.5}], "row 1, labels: not labels .*expected a list, found 0.5"),
        ([row("s0", "0", "yes"), row("s0", "0", "no")], "row 2, answer: answered otherwise"),
        ([], "no question stands in both files"),
    ],
)
def test_files_that_do_not_fit(
    files: tuple[Path, Path], tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        agree(files[0], write(tmp_path / "c", *rows))
