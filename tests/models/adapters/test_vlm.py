"""Vision-language models: a tiny one with random weights, built on the spot, asked like any other."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.api import board, examine
from sightline.errors import ConfigError, MissingExtraError, ModelError
from sightline.exams.runner import run_exam
from sightline.exams.turing.exam import TuringExam
from sightline.exams.turing.measures import asked_rows
from sightline.models import candidate, load
from sightline.models.adapters.prompts import PromptStyle
from sightline.models.adapters.vlm import VisionLanguage, spellings
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.store import Dataset
from sightline.store.writer import write_scenes

torch = pytest.importorskip("torch", reason="networks need torch")
transformers: Any = pytest.importorskip("transformers", reason="needs the extra vlm")


@pytest.fixture(scope="module")
def folder(tiny_vlm: Path) -> Path:
    """A LLaVA of a few thousand random weights."""
    return tiny_vlm


def stepwise(model: VisionLanguage, inputs: Any, ids: tuple[int, ...]) -> float:
    """Log-likelihood of tokens, one forward pass each."""
    total = 0.0
    tokens = inputs["input_ids"]
    for token in ids:
        with torch.inference_mode():
            out = model._model(
                input_ids=tokens, pixel_values=inputs["pixel_values"], attention_mask=torch.ones_like(tokens)
            )
        total += float(out.logits[0, -1].log_softmax(-1)[token])
        tokens = torch.cat([tokens, torch.tensor([[token]])], dim=1)
    return total


@pytest.mark.parametrize("options", ["", ",decide=generate,region=crop,history=2,max_new_tokens=3"])
def test_it_sits_the_exam(
    options: str, folder: Path, pictured_exam: tuple[TuringExam, Dataset], tmp_path: Path
) -> None:
    exam, data = pictured_exam
    sitting = candidate(f"vlm:path={folder}{options}")
    assert sitting.name == f"vlm:path=tiny{options}"
    assert sitting.fingerprint
    run = run_exam(exam, sitting, data, tmp_path / "r", limit=2)
    rows = asked_rows(run.records())
    assert rows["scene_id"].n_unique() == 2
    assert len(rows) >= 6
    if options:
        assert run.manifest["model"]["decide"] == "generate"
    else:
        assert set(rows["answer"]) <= {"yes", "no"}
        assert run.manifest["model"]["model_type"] == "llava"
    again = asked_rows(
        run_exam(exam, candidate(f"vlm:path={folder}{options}"), data, tmp_path / "again", limit=2).records()
    )
    assert again["answer"].to_list() == rows["answer"].to_list()


@pytest.mark.long
def test_six_ways_of_asking_stand_side_by_side(folder: Path, tmp_path: Path) -> None:
    """Boxes drawn, cropped or told; by likelihood, which says how sure it is, or by text."""
    grey = np.full((30, 40, 3), 128, np.uint8)
    told = (Relation("0", "1", "depth", "closer"), Relation("0", "1", "occlusion", "none"))
    boxes = {"0": (4.0, 4.0, 16.0, 20.0), "1": (20.0, 8.0, 36.0, 24.0)}
    scene = Scene(
        "s",
        views=(View("0", size=(40, 30), load_image=lambda: grey),),
        objects=tuple(Object(name, "cup") for name in boxes),
        sightings=tuple(Sighting("0", name, box) for name, box in boxes.items()),
        relations=told,
    )
    data = write_scenes([scene], tmp_path / "data")
    ways = [
        f"hf:{folder},region={region},decide={how}"
        for region in ("draw", "crop", "words")
        for how in ("likelihood", "generate")
    ]
    results = examine(ways, data, "relations", out=tmp_path / "runs", baselines=False)
    assert [result.name for result in results] == [way.replace(str(folder), "tiny") for way in ways]
    for result, way in zip(results, ways, strict=True):
        assert ("confidence" in result.records.rows.columns) == ("likelihood" in way)
        assert ("calibration" in result.scores.to_dict()["checks"]) == ("likelihood" in way)
        assert result.run.status == "finished"
    ranked = board(tmp_path / "runs", resamples=50)
    assert len(ranked.exams[0].rows) == 6


def test_the_likelier_word_is_the_answer(folder: Path, asked: Any) -> None:
    model, said = VisionLanguage(folder), []
    ids = [model._processor.tokenizer.encode(word) for word in ("yes", "no")]
    for text in ("Is there a ball?", "Is there a red ball?", "Is there a cube?", "Is there a unique cube?"):
        question = asked(text=text)
        inputs = model._inputs(model.style.prompt(question))
        yes, no = (stepwise(model, inputs, tuple(word)) for word in ids)
        said.append(model.answer(question))
        assert said[-1] == ("yes" if yes > no else "no")
        assert said[-1].confidence == pytest.approx(1 / (1 + math.exp(-abs(yes - no))), abs=1e-4)
    assert set(said) == {"yes", "no"}


def test_it_looks(folder: Path, asked: Any) -> None:
    """The same question about noise, about the same noise in another array, and about nothing."""
    model = VisionLanguage(folder)
    model.style = PromptStyle(template="{question}")
    noise = asked().view.image()
    told = []
    for pixels in (noise, noise.copy(), np.zeros_like(noise)):
        question = asked(text="?", view=View("0", load_image=lambda pixels=pixels: pixels))
        with torch.inference_mode():
            told.append(model._likelihoods(model._inputs(model.style.prompt(question))))
    assert told[0] == told[1]
    assert abs(told[0][0] - told[2][0]) > 1e-4  # rounding of float32 is a hundred times less


def test_words_of_more_than_one_token(folder: Path, asked: Any) -> None:
    """Each over all its spellings, as if told token by token."""
    model = VisionLanguage(folder)
    words: Any = (((30, 31, 32), (40,)), ((50, 51), (50, 52)))
    model.__dict__["_words"] = words
    inputs = model._inputs(model.style.prompt(asked()))
    expected = [math.log(sum(math.exp(stepwise(model, inputs, ids)) for ids in word)) for word in words]
    with torch.inference_mode():
        assert model._likelihoods(inputs) == pytest.approx(expected, abs=1e-3)


def test_single_tokens_take_one_pass(folder: Path, asked: Any) -> None:
    model = VisionLanguage(folder)
    model.__dict__["_words"] = (((7,), (8,)), ((9,), (10,)))
    inputs = model._inputs(model.style.prompt(asked()))
    expected = [math.log(sum(math.exp(stepwise(model, inputs, (i,))) for i in ids)) for ids in ((7, 8), (9, 10))]
    passes = []
    model._model.register_forward_hook(lambda *_: passes.append(1))
    with torch.inference_mode():
        assert model._likelihoods(inputs) == pytest.approx(expected, abs=1e-4)
    assert len(passes) == 1


def test_it_writes_what_is_likeliest(folder: Path, asked: Any) -> None:
    model = VisionLanguage(folder, decide="generate", max_new_tokens=4)
    inputs = model._inputs(model.style.prompt(asked()))
    tokens = inputs["input_ids"]
    for _ in range(4):
        with torch.inference_mode():
            logits = model._model(input_ids=tokens, pixel_values=inputs["pixel_values"]).logits
        tokens = torch.cat([tokens, logits[:, -1:].argmax(-1)], dim=1)
    new = tokens[0, inputs["input_ids"].shape[1] :]
    assert model.answer(asked()) == model._processor.tokenizer.decode(new, skip_special_tokens=True)


def test_without_a_chat_template(folder: Path, asked: Any) -> None:
    model = VisionLanguage(folder)
    model._processor.chat_template = None
    put = model.style.prompt(asked())
    told = model._processor.tokenizer.decode(model._inputs(put)["input_ids"][0])
    assert told.replace("<image>", "") == f"\n{put.text}\nAnswer:"
    assert model.answer(asked()) in ("yes", "no")


@pytest.mark.parametrize(
    ("decide", "parts"),
    [
        ("likelihood", {"_processor", "_model", "_words"}),  # all it needs
        ("generate", {"_processor", "_model"}),  # it need not know the words
    ],
)
def test_weights_are_loaded_before_the_first_question(decide: Any, parts: set[str], folder: Path) -> None:
    model = VisionLanguage(folder, decide=decide)
    loaded = {"_processor", "_model", "_words"}
    assert not loaded & set(vars(model))
    model.prepare(None)
    assert loaded & set(vars(model)) == parts


def test_weights_are_of_the_state_the_config_is_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the hub has may change between the two."""
    read, asked_for = transformers.AutoConfig.from_pretrained, []

    def config(name: str, **options: Any) -> Any:
        found = read(folder)
        found._commit_hash = "c0ffee"
        return found

    def weights(name: str, **options: Any) -> None:
        asked_for.append((name, options["revision"]))
        raise OSError("no network")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", config)
    monkeypatch.setattr(transformers.AutoModelForImageTextToText, "from_pretrained", weights)
    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", weights)
    sitting = candidate("vlm:hub=org/name,revision=main")
    assert sitting.fingerprint == "c0ffee"
    for part in ("_processor", "_model"):
        with pytest.raises(ModelError, match=r"org/name: Auto.* cannot load it: no network"):
            getattr(sitting.model, part)
    assert asked_for == [("org/name", "c0ffee")] * 2


@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        ({"dtype": "bfloat16"}, "bfloat16"),  # as told
        ({"dtype": "float16"}, "float16"),  # as told
        ({"device": "cpu"}, "float32"),  # whole on a CPU
    ],
)
def test_precision(options: dict[str, Any], dtype: str, folder: Path, asked: Any) -> None:
    """Nothing is computed: half precision kills the process on some virtual CPUs."""
    model = VisionLanguage(folder, **options)
    assert str(model._model.dtype) == f"torch.{dtype}"
    inputs = model._inputs(model.style.prompt(asked()))
    assert (str(inputs["pixel_values"].dtype), str(inputs["input_ids"].dtype)) == (f"torch.{dtype}", "torch.int64")


def test_neither_word_likelier_is_an_abstention(folder: Path, asked: Any) -> None:
    model = VisionLanguage(folder)
    model.__dict__["_words"] = (((7,),), ((7,),))
    assert model.answer(asked()) == "abstain"


def test_numbers_that_are_none(folder: Path, asked: Any) -> None:
    model = VisionLanguage(folder, dtype="float32")
    with torch.no_grad():
        model._model.lm_head.weight.fill_(float("nan"))
    with pytest.raises(ModelError, match="likelihoods are not numbers; try dtype=bfloat16"):
        model.answer(asked())


class Words:
    """A tokenizer by a table; what it does not know is token 0."""

    def __init__(self, **table: list[int]) -> None:
        self.table = table

    def encode(self, word: str, *, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens
        return self.table.get(word.replace(" ", "_"), [0])


@pytest.mark.parametrize(
    ("table", "yes", "no"),
    [
        ({"yes": [1], "no": [2], "Yes": [3], "No": [4]}, ((1,), (3,)), ((2,), (4,))),  # single tokens
        ({"yes": [1], "no": [2], "_yes": [1], "_no": [2]}, ((1,),), ((2,),)),  # the same with and without a blank
        ({"yes": [1], "no": [2], "_yes": [5, 1], "_no": [5, 2]}, ((1,),), ((2,),)),  # fewer tokens win
        ({"yes": [1, 2, 3], "no": [4, 5], "Yes": [], "No": [4]}, ((1, 2, 3),), ((4, 5),)),  # more than one a word
    ],
)
def test_spellings(table: dict[str, list[int]], yes: Any, no: Any) -> None:
    assert spellings(Words(**table)) == (yes, no)


def test_a_tokenizer_without_the_words() -> None:
    with pytest.raises(ModelError, match="m: its tokenizer cannot tell yes from no"):
        spellings(Words(), "m")


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ("", ConfigError, "vlm needs either path=FOLDER or hub=ORG/NAME"),  # neither
        (":path={folder},hub=a/b", ConfigError, "vlm needs either path"),  # both
        (":path={folder},revision=main", ConfigError, "a revision is one of the hub's"),  # of a folder
        (":path=/nowhere", ModelError, "/nowhere: not a folder with a model (it has no config.json)"),  # no folder
        (":path={folder},max_new_tokens=0", ConfigError, "max_new_tokens must be at least 1"),  # nothing to say
        (":path={folder},device=toaster", ConfigError, "vlm: no device 'toaster' here"),  # no such device
        (":path={folder},device=cuda:99", ConfigError, "vlm: no device 'cuda:99' here"),  # not on this machine
        (
            ":path={folder},dtype=int8",
            ConfigError,
            "expected auto or float32 or bfloat16 or float16",
        ),  # no such dtype
        (":path={folder},region=point", ConfigError, "expected draw or crop or words"),  # no such way
        (":path={folder},history=some", ConfigError, "option history: expected a whole number or all"),  # how many?
        (":path={folder},prompt=/nowhere", ConfigError, "/nowhere: cannot be read as a prompt"),  # no prompt
        (":path={folder},temperatur=1", ConfigError, "vlm has no option 'temperatur', did you mean"),  # misspelt
        (":path={folder},temperature=1", ConfigError, "by likelihood nothing is drawn"),  # nothing to draw
    ],
)
def test_bad_options(options: str, error: type[Exception], says: str, folder: Path) -> None:
    with pytest.raises(error) as raised:
        load(f"vlm{options.format(folder=folder)}")
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("config", "error", "says"),
    [
        ({"model_type": "bert"}, ModelError, "a bert model does not answer in words about a picture"),  # no eyes
        ({"model_type": "nosuch"}, ModelError, "AutoConfig cannot load it"),  # unknown
        ({"model_type": "florence2"}, ConfigError, "only writes: give decide=generate"),  # encoder and decoder
        ({"model_type": "llava"}, ModelError, "cannot load it"),  # without weights and processor
    ],
)
def test_not_a_model_for_this(
    config: dict[str, str], error: type[Exception], says: str, tmp_path: Path, asked: Any
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(error) as raised:
        VisionLanguage(tmp_path).answer(asked())
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("options", "where", "given"),
    [
        ("path={folder}", "{folder}", {"local_files_only": True}),  # a folder: nothing is fetched
        ("hub=org/name", "org/name", {"revision": None}),  # asked for by name
        ("hub=org/name,revision=v1", "org/name", {"revision": "v1"}),  # of one state
    ],
)
def test_only_the_hub_is_fetched_from(
    options: str, where: str, given: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def refuse(name: str, **options: Any) -> None:
        calls.append((name, options))
        raise OSError("no network")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refuse)
    with pytest.raises(ModelError, match="AutoConfig cannot load it: no network"):
        load(f"vlm:{options.format(folder=folder)}")
    assert calls == [(where.format(folder=folder), {"trust_remote_code": False, **given})]


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_without_the_packages_the_extra_is_named(
    package: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'{package}: pip install "sightline-exams\[vlm\]"'):
        load(f"vlm:path={folder}")
