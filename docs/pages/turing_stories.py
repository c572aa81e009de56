"""Three stories a data set, as `sightline turing ask` prints them, and the story of the how-to page.

    python docs/pages/turing_stories.py --work DIR            # prints docs/results/turing/stories.md
    python docs/pages/turing_stories.py --work DIR --write    # writes it, and the story of docs/howto/turing.md

Needs the real data (SIGHTLINE_DATA, else ../shared/data); imports it into DIR and generates 2,100 scenes there,
where they are not yet. The images are spread evenly over those that may be asked about, in the order of their ids.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from sightline.store import Dataset

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "results" / "turing" / "stories.md"
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data"))
HOWTO = ROOT / "docs" / "howto" / "turing.md"
HOWTO_PICTURE = ROOT / "docs" / "_static" / "turing-story.webp"
HOWTO_LINES, SHOWN = 8, "geospa/val_default/0/00000000"
SPELT = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
STORIES = 3
COLUMNS = "132"

HEAD = """\
# Nine stories

Questions about three images of each data set, as they are printed for a person. Regions are told by their place;
the letter stands in the picture that `--save` draws. *p* is the chance of a yes as estimated before asking, *of*
what that rests on. What the streams are worth stands in {doc}`../turing`.

```console
$ python docs/pages/turing_stories.py --work DIR --write
```
"""


@dataclass(frozen=True)
class StorySet:
    """One data set.

    Attributes:
        title: What the page calls it.
        prepare: Commands that make its folders in the working folder, by the folder each makes.
        ask: Arguments of `sightline turing ask`, but for the image.
        begins: How ids of images that may be asked about begin.
    """

    title: str
    prepare: dict[str, tuple[str, ...]]
    ask: tuple[str, ...]
    begins: str

    @property
    def folder(self) -> str:
        """The folder asked about."""
        return self.ask[0]


SETS = (
    StorySet(
        "Generated scenes",
        {
            "train": ("generate", "geospa/train", "--scenes", "2000", "--size", "96x64", "--out", "train"),
            "test": ("generate", "geospa/val_default", "--scenes", "100", "--out", "test"),
        },
        ("test", "--train", "train"),
        "",
    ),
    StorySet(
        "VRD",
        {"vrd": ("import", str(DATA / "vrd" / "vrd.json"), "--format", "vrd", "--out", "vrd")},
        ("vrd", "--train-split", "train", "--closed"),
        "test/",
    ),
    StorySet(
        "2.5VRD",
        {"vrd25": ("import", str(DATA / "2.5vrd"), "--format", "2.5vrd", "--out", "vrd25")},
        ("vrd25", "--train-split", "test", "--closed"),
        "within_image/validation/",
    ),
)


def main() -> None:
    """Print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where data is imported and generated")
    parser.add_argument(
        "--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} and the how-to's story"
    )
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    text = "\n".join([HEAD, *(part for stories in SETS for part in told(stories, options.work))])
    if not options.write:
        print(text)
        return
    PAGE.write_text(text, encoding="utf-8")
    write_howto(options.work)


def told(stories: StorySet, work: Path) -> Iterator[str]:
    """The section of a data set."""
    for folder, command in stories.prepare.items():
        if not (work / folder).exists():
            _sightline(work, *command)
    scenes = Dataset.open(work / stories.folder).tables().views["scene_id"].unique().sort()
    ids = [scene for scene in scenes if scene.startswith(stories.begins)]
    yield f"## {stories.title}\n"
    for i in range(STORIES):
        command = ("turing", "ask", *stories.ask, "--image", ids[i * len(ids) // STORIES])
        said = "\n".join(line.rstrip() for line in _sightline(work, *command).strip().splitlines())
        yield f"```console\n$ sightline {' '.join(command)}\n{said}\n```\n"


def write_howto(work: Path) -> None:
    """Put the first lines of a story into the how-to page, and its picture beside."""
    page = HOWTO.read_text(encoding="utf-8")
    begin, end = page.index("```text\n") + len("```text\n"), page.index("```\n", page.index("```text\n") + 4)
    said = _sightline(work, "turing", "ask", *SETS[0].ask, "--image", SHOWN, "--save", "story.png").splitlines()[2:]
    lines = [line.rstrip() for line in said[:HOWTO_LINES]]
    picture = Image.open(work / "story.png")
    picture.convert("RGB").save(HOWTO_PICTURE, quality=88, method=6)
    questions = sum(" Q: " in line for line in said)
    labels = sum("(Label this" in line for line in said)
    alt = f"![A generated scene with the regions in which {_counted(labels)} found, outlined and labelled, "
    alt += f"and {questions} questions with their answers]"
    page = page[:begin] + "\n".join(lines) + "\n" + page[end:]
    HOWTO.write_text(re.sub(r"!\[A generated scene[^]]*\]", alt, page, count=1), encoding="utf-8")


def _counted(objects: int) -> str:
    return "one object was" if objects == 1 else f"{SPELT.get(objects, objects)} objects were"


def _sightline(work: Path, *arguments: str) -> str:
    """What a command of the package prints."""
    command = [sys.executable, "-m", "sightline", *arguments]
    done = subprocess.run(
        command, cwd=work, env=os.environ | {"COLUMNS": COLUMNS}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
