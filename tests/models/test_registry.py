from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace

import pytest

from exams.relations.pair_tables import random_table
from sightline.errors import ConfigError, DataError, MissingExtraError, ModelError
from sightline.models import available, candidate, check_spec, load, manifest, name_of, needs_training, registry
from sightline.models.manifest import MANIFEST
from sightline.models.registry import fingerprint
from sightline.models.specs import canonical, trained
from sightline.skills import RelationsStudy, skills_of

NEEDS_A_PATH = {
    "depth",
    "depth_tuned",
    "onnx_depth",
    "predictions",
    "detections",
    "predicate_answers",
    "viewpoint_answers",
    "answers",
    "vlm",
    "hf",
    "openai",
    "http",
    "onnx",
    "classifier",
    "segmenter",
    "vdpm",
    "tflite",
}
WEIGHTS = Path(registry.__file__).parent / "weights" / "sornet-tiny.safetensors"
DETECTIONS = "image_id,entity,xmin,xmax,ymin,ymax,score\nx,cat,0.1,0.4,0.2,0.9,0.7\n"


@pytest.mark.parametrize("name", sorted(set(MANIFEST) - NEEDS_A_PATH))
def test_every_name_loads_with_the_skills_it_announces(name: str) -> None:
    model = load(name)
    assert skills_of(model) == MANIFEST[name].skills
    assert name_of(model) == name


def test_the_listing_has_all_names_with_a_description() -> None:
    listed = available()
    assert [m.name for m in listed[: len(MANIFEST)]] == list(MANIFEST)
    assert all(m.description and m.skills for m in listed[: len(MANIFEST)])


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("size:margin=0.25,overlap=0.01", {"margin": 0.25, "overlap": 0.01, "tuned_on": 0}),  # both options
        ("size:margin=tuned", {"margin": None, "overlap": 0.0, "tuned_on": 0}),  # a word among numbers
        ("size_tuned", {"margin": None, "overlap": 0.0, "tuned_on": 0}),  # preset
        ("size_tuned:margin=0.5", {"margin": 0.5, "overlap": 0.0, "tuned_on": 0}),  # preset overridden
        ("location", {"margin": 0.02, "overlap": 0.0, "tuned_on": 0}),  # published margin
    ],
)
def test_options(spec: str, told: dict[str, float]) -> None:
    assert load(spec).facts() == told


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ("botom_edge", ModelError, "unknown model 'botom_edge', did you mean 'bottom_edge'?"),  # misspelt
        ("zzz", ModelError, "unknown model 'zzz'; `sightline models` lists the names"),  # nothing near
        ("zzz", ModelError, "predictions.csv or a checkpoint, weights.safetensors"),  # what is no name
        ("size:margn=1", ConfigError, "size has no option 'margn', did you mean 'margin'?"),  # misspelt option
        ("majority:x=1", ConfigError, "majority has no option 'x'; its options: none"),  # no options at all
        ("size:margin=wide", ConfigError, "expected a number or tuned, found 'wide'"),  # wrong type
        ("size:margin=-1", ConfigError, "margin must be at least 0"),  # out of range
        ("size:margin=nan", ConfigError, "margin must be at least 0"),  # not a number
        ("size:margin", ConfigError, "expected option=value, found 'margin'"),  # no value
        ("size:margin=1,margin=2", ConfigError, "'margin' is given twice"),  # twice
        ("class_prior:folds=1", ConfigError, "folds must be at least 2"),  # too few folds
        ("random:seed=-1", ConfigError, "seed must not be negative"),  # bad seed
        ("predictions", ConfigError, "predictions needs the option path"),  # required option
        ("depth", ConfigError, "either folder=PATH"),  # neither source
        ("depth:folder=/nowhere", ModelError, "/nowhere: no such folder"),  # missing folder
        ("onnx_depth:path=/nowhere.onnx", ModelError, "no such ONNX file"),  # missing network
        ("/nowhere/p.csv", ModelError, "/nowhere/p.csv: no such file"),  # missing predictions
        ("/nowhere/m.py:net", ModelError, "/nowhere/m.py: no such file"),  # missing Python file
        ("/nowhere/w.safetensors", ModelError, "/nowhere/w.safetensors: no such file"),  # missing checkpoint
        (f"{WEIGHTS}:path=b.safetensors", ConfigError, "no option 'path'; its options: device, glances"),  # other
        (f"{WEIGHTS}:glance=3", ConfigError, "has no option 'glance', did you mean 'glances'?"),  # misspelt
        (f"{WEIGHTS}:glances=few", ConfigError, "option glances: expected a whole number, found 'few'"),  # a word
        (f"{WEIGHTS}:glances=0", ConfigError, "glances at a scene must be 1 to"),  # it must look
        (f"{WEIGHTS}:device=foo", ModelError, f"{WEIGHTS}: RuntimeError: Expected one of cpu"),  # no such device
        (f"{WEIGHTS}:device=cuda:99", ModelError, f"{WEIGHTS}: "),  # no such card
        ("sornet:device=foo", ModelError, "sornet: RuntimeError: Expected one of cpu"),  # likewise by name
        ("/nowhere/p.jsonl", ModelError, "/nowhere/p.jsonl: no such file"),  # missing answers
        ("shape_prior:folds=1", ConfigError, "folds must be at least 2"),  # too few folds
        ("shape_prior:seed=-1", ConfigError, "seed must not be negative"),  # bad seed
        ("size_prior:looks=hue", ConfigError, "expected shape or size or shape+size, found 'hue'"),  # no such look
        ("m.py", ModelError, "say which object"),  # file without object
        ("m.py:", ModelError, "say which object"),  # empty object
        ("size+bottom_edge", ModelError, "bottom_edge cannot detect (its skills: relate)"),  # no detector
        ("", ModelError, "unknown model ''"),  # nothing
    ],
)
def test_a_miss_is_helpful(spec: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as raised:
        load(spec)
    assert says in str(raised.value)


@pytest.mark.parametrize("spec", ["botom_edge", "zzz", "/nowhere/m.py:net", "/nowhere/w.safetensors", "m.py", ""])
def test_no_model_is_told_without_loading_one(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_build", lambda *_: pytest.fail("it was built"))
    check_spec("size:margin=0.1")
    with pytest.raises(ModelError):
        check_spec(spec)


@pytest.mark.parametrize(
    ("name", "text", "wanted", "says"),
    [
        ("a.csv", "", ("predicates",), "a header with scene_id, subject, object, predicate, answer"),  # no header
        ("a.csv", "", ("answer",), "a header with scene_id, stream, step, answer"),  # likewise
        ("a.csv", "", ("detect",), "a header with image_id, entity"),  # likewise
        ("a.csv", "", ("relate", "detect"), "a header with image_id_1"),  # likewise, the first skill
        ("a.csv", "", (), "a header with image_id_1"),  # nobody says
        ("a.csv", "scene,reply\n", ("answer",), "scene_id: column is missing"),  # a header of nothing known
        ("a.csv", "predicate\n", ("answer",), "expected scene_id, subject, object"),  # what it tells goes first
        ("a.csv", "image_id\n", ("relate",), "entity: column is missing"),  # likewise
        ("a.csv", "image_id_1\n", ("predicates",), "entity_1: column is missing"),  # likewise
        ("a.jsonl", '{"reply": "no"}\n', ("answer",), "an object with scene_id, stream, step, answer"),
        ("a.jsonl", '{"reply": "no"}\n', ("predicates",), "an object with scene_id, subject, object"),
        ("a.jsonl", '{"predicate": "left"}\n', ("answer",), "an object with scene_id, subject"),  # it tells
    ],
)
def test_a_file_of_nothing_known_is_told_what_is_wanted(
    tmp_path: Path, name: str, text: str, wanted: tuple[str, ...], says: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as raised:
        candidate(str(tmp_path / name), wanted=wanted)
    assert says in str(raised.value)


def test_of_two_empty_files_each_is_told_its_part(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.touch()
    with pytest.raises(DataError, match="a header with image_id, entity"):
        load(f"size+{file}", ("relate", "detect"))


def test_entry_points_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def points(group: str) -> EntryPoints:
        given = {
            "die": "sightline.models.baselines.labels:Random",
            "size": "json:JSONDecoder",
            "broken": "no.such:Thing",
            "mute": "json:JSONDecoder",
        }
        return EntryPoints(EntryPoint(name, value, group) for name, value in given.items())

    monkeypatch.setattr(manifest, "entry_points", points)
    assert load("die:seed=3").seed == 3
    assert ("die", (), True) in [(m.name, m.skills, bool(m.description)) for m in available()]
    assert load("size").facts()["margin"] == 0.0  # a built-in name cannot be taken over
    with pytest.raises(ModelError, match=r"broken: cannot import no\.such:Thing"):
        load("broken")
    with pytest.raises(ModelError, match="JSONDecoder has no skill"):
        load("mute")


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for module in ("sornet", "nets.sornet", "nets.checkpoints"):
        monkeypatch.delitem(sys.modules, f"sightline.models.{module}", raising=False)
    weights = tmp_path / "w.safetensors"
    weights.touch()
    for spec in ("sornet", str(weights)):
        with pytest.raises(MissingExtraError, match=r'torch: pip install "sightline-exams\[torch\]"'):
            load(spec)


def test_shipped_weights_have_a_fingerprint_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load", lambda spec, wanted: SimpleNamespace(name=spec, fingerprint="abc"))
    assert candidate("sornet").fingerprint == "abc"


def test_two_specs_make_one_model(tmp_path: Path) -> None:
    found = tmp_path / "a+b.csv"
    found.write_text(DETECTIONS)
    model = load(f"bottom_edge+{found}")
    assert skills_of(model) == ("relate", "detect")
    assert name_of(model) == "bottom_edge + a+b.csv"
    assert skills_of(load(str(found))) == ("detect",)  # a plus in a file's name joins nothing


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("a/b/net.py:Net", "net.py:Net"),  # folders go
        ("depth:folder=/x/maps,inverse=true", "depth:folder=maps,inverse=true"),  # also inside options
        ("", "object"),  # nothing to go by
    ],
)
def test_display_name(spec: str, name: str) -> None:
    assert name_of(object(), spec) == name


def test_a_candidate_changes_with_its_files(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text(DETECTIONS)
    before = candidate(str(file))
    assert (before.name, skills_of(before.model)) == ("d.csv", ("detect",))
    assert fingerprint(f"detections:path={file}") == before.fingerprint
    file.write_text(DETECTIONS.replace("0.7", "0.8"))
    assert fingerprint(str(file)) != before.fingerprint
    assert fingerprint(f"size+{file}") == fingerprint(str(file))
    folder = fingerprint(f"depth:folder={tmp_path}")
    (tmp_path / "new.npy").touch()
    assert len({"", folder, fingerprint(f"depth:folder={tmp_path}")}) == 3
    assert fingerprint("size:margin=0.1") == ""


def test_a_checkpoint_changes_with_the_files_of_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.safetensors").write_bytes(b"weights")
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "old.npy").touch()
    spec = f"{tmp_path / 'net.safetensors'}:depth={tmp_path / 'maps'},glances=5"
    before = fingerprint(spec)
    (tmp_path / "maps" / "new.npy").touch()
    assert len({before, fingerprint(spec), fingerprint(str(tmp_path / "net.safetensors"))}) == 3
    monkeypatch.chdir(tmp_path)
    assert canonical("./net.safetensors:glances=5") == "net.safetensors:glances=5"
    assert canonical(spec) == "net.safetensors:depth=maps,glances=5"


def test_the_folder_of_a_training_takes_options(tmp_path: Path) -> None:
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "plan.json").write_text("{}")
    (folder / "relations.safetensors").write_bytes(b"weights")
    assert trained(f"{folder}:depth=maps") == f"{folder / 'relations.safetensors'}:depth=maps"
    assert trained(str(folder)) == str(folder / "relations.safetensors")
    assert trained("size:margin=0.1") == "size:margin=0.1"


@pytest.mark.parametrize("name", [n for n, entry in MANIFEST.items() if entry.blind and "relate" in entry.skills])
def test_who_needs_training_says_so(name: str) -> None:
    """The flag decides who sits where there is nothing to learn from, so it must be true."""
    test = {"within_image": random_table(1)}
    model = load(name)
    try:
        if hasattr(model, "prepare_relations"):
            model.prepare_relations(RelationsStudy(train={}, test=test))
    except ConfigError:
        assert needs_training(name)
    else:
        assert not needs_training(name)
