"""The README's pictures of a report card: runs the README's Python example, takes pictures of the page it writes.

    python docs/pages/card_picture.py            # run the example, name the card
    python docs/pages/card_picture.py --write    # and replace docs/_static/report.png and predicates-report.png

Needs torch for the trained network, and Chromium for the picture. Two minutes of one core; the scenes stay in the
cache.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "_static" / "report.png"
SCENE = ROOT / "docs" / "_static" / "predicates-report.png"
EXAMPLE = "#examples .example[data-exam=predicates]"
SIZE = {"width": 1280, "height": 1080}


def run_example(folder: Path) -> Path:
    """Run the first Python example of the README in a folder; gives the report card."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    if example is None:
        raise SystemExit("README.md has no Python example")
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec(compile(example[1], "README.md", "exec"), {"__name__": "readme"})
    finally:
        os.chdir(before)
    return folder / "card.html"


def take_pictures(card: Path) -> None:
    """Picture the top of the card, and its first scene of the predicates exam."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto(card.as_uri())
        page.screenshot(path=PICTURE)
        page.locator(EXAMPLE).first.screenshot(path=SCENE)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--card", type=Path, help="take the pictures of this card, and run nothing")
    parser.add_argument("--write", action="store_true", help="replace the two pictures in docs/_static")
    parser.add_argument("--folder", type=Path, help="keep dataset, runs and card here")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sightline-card-") as temporary:
        card = wanted.card or run_example(wanted.folder or Path(temporary))
        if wanted.write:
            take_pictures(card)


if __name__ == "__main__":
    main()
