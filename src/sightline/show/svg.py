"""Small pieces of SVG as text: elements, escaping, colours, widths of words, round tick values.

A chart is one string that can stand inside an HTML page or alone. Colours are CSS variables with a fallback,
so a page may set its own light and dark values (`THEME_CSS`) and a lone chart still reads. Nothing here has an
``id``: any number of charts can share a page.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

INK = "var(--chart-ink, currentColor)"
MUTED = "var(--chart-muted, #67707c)"
RULE = "var(--chart-rule, #d9dde2)"
GROUND = "var(--chart-ground, #f4f5f6)"
PAPER = "var(--chart-paper, #ffffff)"
ACCENT = "var(--chart-accent, #b3392b)"
BASELINE = "var(--chart-baseline, #8b949e)"
FIRST = "var(--chart-a, #b3392b)"
SECOND = "var(--chart-b, #1f6f9f)"

THEME_CSS = """\
:root { --chart-ink: #1c232b; --chart-muted: #67707c; --chart-rule: #d9dde2; --chart-ground: #f4f5f6;
  --chart-paper: #ffffff; --chart-accent: #b3392b; --chart-baseline: #8b949e; --chart-a: #b3392b;
  --chart-b: #1f6f9f; }
@media screen and (prefers-color-scheme: dark) { :root { --chart-ink: #e6e9ec; --chart-muted: #98a2ad;
  --chart-rule: #363d45; --chart-ground: #20252b; --chart-paper: #15191d; --chart-accent: #f0806f;
  --chart-baseline: #7d8792; --chart-a: #f0806f; --chart-b: #6fb4dd; } }
"""
"""Values of the chart variables for a page: light, and dark on a dark screen; print stays light."""

_FONT = "Inter, 'Helvetica Neue', Arial, system-ui, sans-serif"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_EMS = (
    dict.fromkeys("ijlI' |.,", 0.32)
    | dict.fromkeys("ft:;!()[]r/-·", 0.42)
    | dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", 0.74)
    | dict.fromkeys("mwMW%@—", 1.0)
)
"""Widths of letters that are not 0.63 em wide, in the widest of the usual fonts (DejaVu Sans)."""
_BOLD = 1.12
"""A bold letter's width over that of a plain one."""


def escape(text: object) -> str:
    r"""Text safe in an element or a quoted attribute; characters XML forbids become �.

    >>> escape("<b>&\x00")
    '&lt;b&gt;&amp;�'
    """
    return _FORBIDDEN.sub("\ufffd", str(text)).translate(_ENTITIES)


def number(value: float) -> str:
    """A coordinate, to a hundredth, without trailing zeros.

    >>> number(12.0), number(0.126), number(-0.001)
    ('12', '0.13', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def element(name: str, *children: str, **attributes: object) -> str:
    """One element. Attribute values are escaped, children are markup already; ``_`` in a name stands for ``-``.

    >>> element("rect", x=1.5, stroke_width=2, fill=None)
    '<rect x="1.5" stroke-width="2"/>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{number(v) if isinstance(v, float) else escape(v)}"'
        for key, v in attributes.items()
        if v is not None
    )
    return f"<{name}{given}>{''.join(children)}</{name}>" if children else f"<{name}{given}/>"


def text_line(
    x: float,
    y: float,
    content: object,
    *,
    size: float = 12,
    fill: str = INK,
    anchor: str | None = None,
    bold: bool = False,
    **attributes: object,
) -> str:
    """A line of text with its baseline at (x, y); `anchor` is start, middle or end."""
    place = {"x": float(x), "y": float(y), "font_size": float(size)}
    looks = {"fill": fill, "text_anchor": anchor, "font_weight": "600" if bold else None, **attributes}
    return element("text", escape(content), **place, **looks)


def rect(x: float, y: float, width: float, height: float, *children: str, **attributes: object) -> str:
    """A rectangle with its top left corner at (x, y)."""
    place = {"x": float(x), "y": float(y), "width": float(width), "height": float(height)}
    return element("rect", *children, **place, **attributes)


def line(
    x0: float, y0: float, x1: float, y1: float, *, stroke: str = RULE, width: float = 1, **more: object
) -> str:
    """A straight rule."""
    ends = {"x1": float(x0), "y1": float(y0), "x2": float(x1), "y2": float(y1)}
    return element("line", **ends, stroke=stroke, stroke_width=float(width), **more)


def hover(content: object) -> str:
    """What a pointer resting on the parent element shows."""
    return element("title", escape(content))


def document(width: float, height: float, title: str, description: str, *body: str) -> str:
    """The whole drawing: shrinks to a phone, grows by a third at most, and tells readers what it is."""
    style = (
        f"width:100%;max-width:{number(width * 4 / 3)}px;height:auto;display:block;"
        f"font-family:var(--chart-font,{_FONT});font-variant-numeric:tabular-nums;print-color-adjust:exact;-webkit-print-color-adjust:exact"
    )
    box, head = f"0 0 {number(width)} {number(height)}", hover(title) + element("desc", escape(description))
    return element("svg", head, *body, xmlns="http://www.w3.org/2000/svg", viewBox=box, role="img", style=style)


def nothing(title: str, width: float) -> str:
    """What stands where there is nothing to draw."""
    message = text_line(width / 2, 26, "nothing to show", size=12, fill=MUTED, anchor="middle", font_style="italic")
    frame = rect(0.5, 0.5, width - 1, 41, fill="none", stroke=RULE)
    return document(width, 42, title, "nothing to show", frame, message)


def text_width(text: str, size: float = 12, *, bold: bool = False) -> float:
    """About how wide a line will be set, in the same unit as `size`; errs to the wide side.

    >>> text_width("mm") > text_width("ii")
    True
    """
    em = 0.0
    for c in text:
        em += 1.0 if unicodedata.east_asian_width(c) in "WF" else _EMS.get(c, 0.63)
    return em * size * (_BOLD if bold else 1.0)


def shorten(text: str, room: float, size: float = 12, *, bold: bool = False, tail: float = 0.0) -> str:
    """The text, cut with an ellipsis where it would be wider than `room`.

    Args:
        text: What is to be set.
        room: Width there is for it.
        size: Of the letters.
        bold: Whether they are bold.
        tail: Share of the kept letters that come from the end; 0 cuts the end off.

    >>> shorten("a very long label", 60), shorten("model_of_june_v2", 60, tail=0.4)
    ('a very l…', 'mode…v2')
    """
    if text_width(text, size, bold=bold) <= room:
        return text
    for kept in range(len(text) - 1, 0, -1):
        last = round(kept * tail)
        cut = text[: kept - last].rstrip() + "…" + text[len(text) - last :].lstrip()
        if text_width(cut, size, bold=bold) <= room:
            return cut
    return "…"


def short_names(names: Sequence[str], room: float, size: float = 12, *, bold: bool = False) -> list[str]:
    """Cut names in the middle where they are wider than `room`; those that differ stay different, or are numbered.

    >>> short_names(["resnet_50_of_may", "resnet_50_of_june", "vit"], 80)
    ['resne…_may', 'resnet…june', 'vit']
    """
    cut: list[str] = []
    for tail in (0.4, 0.7, 0.2):
        cut = [shorten(name, room, size, bold=bold, tail=tail) for name in names]
        if len({*cut}) == len({*names}):
            return cut
    number = {name: i for i, name in enumerate(dict.fromkeys(names), 1)}
    return [
        name if short == name else f"{number[name]} {shorten(name, room - 2 * size, size, bold=bold, tail=0.4)}"
        for name, short in zip(names, cut, strict=True)
    ]


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values in [low, high], steps of 1, 2 or 5 times a power of ten.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * 0.7)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def shade(share: float) -> str:
    """A colour for a share of the way from low to high: ever darker, so it also orders in grey print.

    Set in OKLCh (lightness, chroma, hue), where equal steps look equal; from pale sand to deep blue.

    >>> shade(0.0), shade(1.0)
    ('#f6f1e1', '#0a4170')
    """
    t = min(1.0, max(0.0, share))
    light, chroma, hue = 0.958 - 0.588 * t, 0.022 + 0.075 * math.sin(math.pi * min(t, 0.8) / 1.6), 95 + 155 * t**0.7
    return _oklch(light, chroma, math.radians(hue))


def on_shade(share: float) -> str:
    """Ink that reads on `shade(share)`."""
    return "#ffffff" if share > 0.64 else "#0f141a"


def _oklch(light: float, chroma: float, hue: float) -> str:
    """OKLCh to 8-bit sRGB, cut to the gamut."""
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    rgb: Sequence[float] = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(c)):02x}" for c in rgb)


def _gamma(linear: float) -> float:
    c = min(1.0, max(0.0, linear))
    return 12.92 * c if c <= 0.0031308 else 1.055 * float(c ** (1 / 2.4)) - 0.055
