"""Words as markup: templates that escape all they are given, and text that Markdown shows as it is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from jinja2 import Environment

_PARTED: Final = re.compile(r"(?<=[_:,=/@+])(?=\S)")
"""Where a long name may go on in the next line."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~!])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def render_part(package: str, template: str, **values: Any) -> str:
    """Render a template of a package to HTML.

    All values are escaped but `markupsafe.Markup`, and what the template puts through ``drawn``: SVG made by our
    own functions. A value that the template names and nobody gives is an error.

    Args:
        package: Whose folder ``templates`` has it; those of `sightline.show` can be imported in it.
        template: Its file name.
        **values: What it shows.
    """
    return _templates(package).get_template(template).render(**values)


def part_style(package: str, style: str) -> str:
    """Read a style sheet from a package's folder ``templates``."""
    templates = _templates(package)
    assert templates.loader is not None
    return templates.loader.get_source(templates, style)[0]


def environment(*packages: str) -> Environment:
    """Make an environment with the templates of these packages, the first that has a name before the others."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # a table in a terminal needs none

    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["breakable"] = breakable
    made.globals["drawn"] = Markup
    return made


@lru_cache(maxsize=16)
def _templates(package: str) -> Environment:
    return environment(*dict.fromkeys((package, "sightline.show")))


def breakable(text: str) -> Markup:
    """Escape a name that may go on in the next line after an underscore or what else parts words without a blank.

    >>> str(breakable("openai:eye,region=crop"))
    'openai:<wbr>eye,<wbr>region=<wbr>crop'
    """
    return Markup("<wbr>").join(escape(part) for part in _PARTED.split(text))


def markdown_text(text: str) -> str:
    r"""Escape text so that Markdown shows it as it is, on one line.

    >>> markdown_text("a|b <c>\nd")
    'a\\|b &lt;c&gt; d'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).translate(_ENTITIES)
