"""The fuzzer's inputs are those of the importers' tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "store" / "formats"))
