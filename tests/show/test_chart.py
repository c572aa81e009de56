"""Every chart: well-formed, escaped, honest about what is missing, inside its frame."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.show.chart import CATEGORY_COLOURS, DotRow, bars, dot_intervals, heat_grid, histogram, stacked_bars
from sightline.show.svg import on_shade, shade, short_names, shorten, text_width, ticks
from sightline.show.xy import (
    FEWEST,
    Point,
    ReferenceLine,
    band_chart,
    by_part,
    calibration_chart,
    common_domain,
    xy_chart,
)
from sightline.stats import Interval

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('x')</script>\"&\x00\x1b\ud800 onload=1"
NAN = math.nan

Draw = Callable[[str], str]


def score(value: float, room: float = 0.1, n: int = 50) -> Interval:
    return Interval(value, value - room, value + room, n, "percentile bootstrap")


CHARTS: list[Draw] = [
    lambda s: dot_intervals([DotRow(s, 0.5, 0.4, 0.6, "model", s)], reference_lines=[(0.5, s)], title=s),
    lambda s: heat_grid([[0.5]], [[3]], [s], [s], s, row_name=s, col_name=s),
    lambda s: stacked_bars({s: {s: 1.0, "other": 2.0}}, counts={s: 3}, title=s),
    lambda s: bars([s], [3.0], title=s),
    lambda s: histogram({3: 2, 9: 1}, title=s, x_label=s, counted=s),
    lambda s: xy_chart(
        [by_part(s, [s], [score(0.5)], "model")],
        x_names=[s],
        title=s,
        y_label="share",
        rules=[ReferenceLine(0.4, 0.4, s)],
    ),
    lambda s: band_chart([Point(1, score(0.5), s)], epsilon=0.1, title=s),
    lambda s: calibration_chart([Point(0.4, score(0.5), s)], title=s),
]
NAMES = ["dot_intervals", "heat_grid", "stacked_bars", "bars", "histogram", "xy_chart", "band", "calibration"]


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def shown(svg: str) -> list[str]:
    """The text a reader sees, without hover texts."""
    return ["".join(t.itertext()) for t in parse(svg).iter(f"{SVG}text")]


def rects(svg: str) -> list[dict[str, str]]:
    return [r.attrib for r in parse(svg).iter(f"{SVG}rect")]


@pytest.mark.parametrize("draw", CHARTS, ids=NAMES)
def test_every_chart_stands_alone_and_says_what_it_is(draw: Draw) -> None:
    root = parse(draw("plain"))
    assert root.tag == f"{SVG}svg"
    assert root.attrib["role"] == "img"
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "plain"
    assert "plain" in (root[1].text or "")
    assert root.attrib["viewBox"].startswith("0 0 440 ")


@pytest.mark.parametrize("draw", CHARTS, ids=NAMES)
def test_hostile_text_stays_text(draw: Draw) -> None:
    root = parse(draw(HOSTILE))
    assert not list(root.iter(f"{SVG}script"))
    assert not [a for e in root.iter() for a in e.attrib if a.startswith("on")]
    assert "<script>alert('x')</script>" in "".join(root.itertext())


@pytest.mark.parametrize("draw", CHARTS, ids=NAMES)
def test_nothing_is_fetched_and_nothing_has_an_id(draw: Draw) -> None:
    root = parse(draw("plain"))
    for node in root.iter():
        assert "id" not in node.attrib
        assert not re.search(r"https?:|url\(", " ".join(node.attrib.values()))


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.sampled_from(CHARTS))
def test_any_text_gives_well_formed_xml_with_finite_numbers(text: str, draw: Draw) -> None:
    root = parse(draw(text))
    for node in root.iter():
        numbers = [v for k, v in node.attrib.items() if k in {"x", "y", "width", "height", "x1", "x2", "cx", "cy"}]
        assert all(math.isfinite(float(v)) for v in numbers)


@pytest.mark.parametrize(
    "svg",
    [
        dot_intervals([]),
        heat_grid(np.zeros((0, 0)), np.zeros((0, 0)), [], [], "t"),
        stacked_bars({}),
        stacked_bars({"a": {}}),
        bars([], []),
        histogram({}, title="t", x_label="questions", counted="stream"),
        xy_chart([], title="t"),
        xy_chart([by_part("a", ["p", "q"], [None, score(NAN)])], x_names=["p", "q"], title="t"),
        band_chart([Point(1, score(0.5, n=FEWEST - 1), "few")], epsilon=0.1, title="t"),
        calibration_chart([], title="t"),
    ],
)
def test_empty_input_says_so(svg: str) -> None:
    assert shown(svg) == ["nothing to show"]


@pytest.mark.parametrize(
    ("row", "dots", "bands", "words"),
    [
        (DotRow("a", 0.5, 0.4, 0.6), 1, 1, {"0.500", "0.400–0.600"}),  # dot and interval
        (DotRow("a", 0.5), 1, 0, {"0.500"}),  # no interval known
        (DotRow("a", 0.5, NAN, 0.6), 1, 0, {"0.500"}),  # half an interval is none
        (DotRow("a", NAN, NAN, NAN, "model", "no truth"), 0, 0, {"undefined", "no truth"}),  # no score
        (DotRow("a", math.inf), 0, 0, {"undefined"}),  # infinite is no score either
    ],
)
def test_dot_rows(row: DotRow, dots: int, bands: int, words: set[str]) -> None:
    svg = dot_intervals([row])
    assert len(list(parse(svg).iter(f"{SVG}circle"))) == dots
    assert len(rects(svg)) == bands
    assert words <= set(shown(svg))


def test_dots_lie_on_one_linear_scale() -> None:
    svg = dot_intervals([DotRow("a", 0.0), DotRow("b", 0.25), DotRow("c", 1.0)], domain=(0.0, 1.0))
    a, b, c = (float(dot.attrib["cx"]) for dot in parse(svg).iter(f"{SVG}circle"))
    assert b - a == pytest.approx((c - a) / 4, abs=0.02)


def test_what_leaves_the_domain_becomes_an_arrow() -> None:
    svg = dot_intervals([DotRow("a", 0.2, 0.1, 0.3), DotRow("b", 0.7, 0.4, 0.95)], domain=(0.5, 0.9))
    root = parse(svg)
    assert len(list(root.iter(f"{SVG}circle"))) == 1
    assert len(list(root.iter(f"{SVG}path"))) == 3  # a's score; both ends of b


def test_only_the_model_is_bold() -> None:
    svg = dot_intervals([DotRow("mine", 0.5, kind="model"), DotRow("rule", 0.4)])
    bold = [t.text for t in parse(svg).iter(f"{SVG}text") if t.attrib.get("font-weight")]
    assert bold == ["mine", "0.500"]


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, -3.0])
def test_one_score_alone_has_a_scale(value: float) -> None:
    (dot,) = parse(dot_intervals([DotRow("a", value, value, value)])).iter(f"{SVG}circle")
    assert 0 < float(dot.attrib["cx"]) < 440


def test_heat_grid_hatches_empty_cells_and_prints_the_rest() -> None:
    svg = heat_grid([[0.5, NAN], [0.25, 1.0]], [[10, 4], [0, 2000]], ["r", "s"], ["c", "d"], "t")
    assert [t for t in shown(svg) if t not in "rscd"] == [".50", "10", "1.00", "2,000"]
    assert len(list(parse(svg).iter(f"{SVG}path"))) == 2  # undefined, and no cases
    told = [t.text for g in parse(svg).iter(f"{SVG}g") for t in g.iter(f"{SVG}title")]
    assert told[1:3] == ["r, d: undefined (n = 4)", "s, c: no cases (n = 0)"]


def test_heat_grid_keeps_rows_and_columns_apart() -> None:
    svg = heat_grid([[0.1, 0.2, 0.3]], [[5, 5, 5]], ["r"], ["c", "d", "e"], "t")
    cells = [r for r in rects(svg) if r["fill"].startswith("#")]
    assert len({r["y"] for r in cells}) == 1
    assert [float(r["x"]) for r in cells] == sorted({float(r["x"]) for r in cells})
    with pytest.raises(ValueError, match="shape"):
        heat_grid([[0.1]], [[5]], ["r"], ["c", "d"], "t")


def test_stacked_bars_fill_the_same_width_from_shares_or_counts() -> None:
    svg = stacked_bars({"a": {"x": 0.25, "y": 0.75}, "b": {"x": 30, "y": 10, "z": NAN}}, categories=["x", "y", "z"])
    drawn = [float(r["width"]) for r in rects(svg) if r["height"] == "19"]
    assert sum(drawn[:2]) == pytest.approx(sum(drawn[2:]), abs=0.1)
    assert drawn[0] == pytest.approx(drawn[3], abs=0.1)
    assert [t for t in shown(svg) if t.isdigit()] == ["25", "75", "75", "25"]


def test_stacked_bars_limits() -> None:
    assert "no data" in shown(stacked_bars({"a": {"x": 0.0}}))
    with pytest.raises(ValueError, match="at most"):
        stacked_bars({"a": {str(i): 1.0 for i in range(7)}})


@pytest.mark.parametrize(
    ("values", "log", "ratio"),
    [
        ([100.0, 25.0], False, 4.0),  # lengths by value
        ([10_000.0, 100.0], True, 2.0),  # lengths by logarithm from 1
        ([1.0, 0.1], True, math.inf),  # from the power of ten below the smallest
    ],
)
def test_bar_lengths(values: list[float], log: bool, ratio: float) -> None:
    first, second = (float(r["width"]) for r in rects(bars(["a", "b"], values, log=log)))
    assert (first / second if second else math.inf) == pytest.approx(ratio, rel=1e-3)


@pytest.mark.parametrize("log", [False, True])
def test_bars_without_length_are_still_named(log: bool) -> None:
    svg = bars(["a", "b", "c"], [0.0, NAN, 1234.0], log=log)
    assert {"a", "b", "c", "0", "no data", "1,234"} <= set(shown(svg))
    assert [float(r["width"]) > 0 for r in rects(svg)] == [False, False, True]


def test_text_stays_inside_the_drawing() -> None:
    """Estimated widths: no line of any chart may run out at the right, however long its labels."""
    long = "a label that is far too long to stand anywhere in a chart of this width, at all"
    for draw in CHARTS:
        for node in parse(draw(long)).iter(f"{SVG}text"):
            if "transform" in node.attrib:
                continue
            wide = text_width("".join(node.itertext()), float(node.attrib["font-size"]))
            share = {"end": 0.0, "middle": 0.5}.get(node.attrib.get("text-anchor", ""), 1.0)
            assert float(node.attrib["x"]) + share * wide <= 446, "".join(node.itertext())


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_even_and_inside(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert 2 <= len(found) <= 9
    slack = 1e-6 * span + 1e-9 * abs(low)
    assert low - slack <= found[0] <= found[-1] <= low + span + slack
    gaps = [b - a for a, b in itertools.pairwise(found)]
    assert max(gaps) - min(gaps) <= slack


def luminance(colour: str) -> float:
    """WCAG relative luminance of #rrggbb."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_four_categories_stay_apart_in_grey() -> None:
    light = [luminance(c) for c in CATEGORY_COLOURS[:4]]
    assert all((b + 0.05) / (a + 0.05) > 1.25 for a, b in itertools.pairwise(light))


def test_shades_darken_evenly_and_their_ink_reads() -> None:
    steps = np.linspace(0, 1, 41)
    light = [luminance(shade(t)) for t in steps]
    assert all(a > b for a, b in itertools.pairwise(light))
    for t, paper in zip(steps, light, strict=True):
        bright, dark = sorted([paper, luminance(on_shade(t))], reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.0


@given(st.text(max_size=40), st.floats(20, 200))
def test_shortened_text_fits(text: str, room: float) -> None:
    assert text_width(shorten(text, room)) <= room


def dots(svg: str) -> list[tuple[float, float]]:
    return [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in parse(svg).iter(f"{SVG}circle")]


@given(st.lists(st.text(min_size=1, max_size=70), min_size=1, max_size=6, unique=True), st.floats(60, 300))
@settings(max_examples=60, deadline=None)
def test_short_names_fit_and_stay_different(names: list[str], room: float) -> None:
    short = short_names(names, room)
    assert len({*short}) == len(names)
    for name, cut in zip(names, short, strict=True):
        assert cut == name or text_width(cut) <= room + 1e-9


def test_parts_stand_in_columns_and_undefined_ones_are_left_out() -> None:
    parts = ["near", "middle", "far"]
    one = by_part("one", parts, [score(0.4), None, score(0.6)])
    two = by_part("two", parts, [score(0.5), score(NAN), score(0.5)], "model")
    svg = xy_chart([one, two], x_names=parts, title="t", y_domain=(0.0, 1.0))
    (a, low), (b, high), (c, half), _ = dots(svg)
    assert c - a == pytest.approx(6, abs=0.01)  # beside each other
    assert half == pytest.approx((low + high) / 2, abs=0.02)
    assert b > a
    assert low > high  # up is more
    assert {"near", "middle", "far", "one", "two"} <= set(shown(svg))
    (bold,) = [t.text for t in parse(svg).iter(f"{SVG}text") if t.attrib.get("font-weight")]
    assert bold == "two"


def test_lines_join_only_what_has_an_order() -> None:
    one = by_part("one", ["a", "b"], [score(0.4), score(0.6)])
    paths = [
        xy_chart([one], x_names=["a", "b"], title="t", joined=joined).count("<path") for joined in (True, False)
    ]
    assert paths == [1, 0]


def test_names_at_the_ends_do_not_overlap() -> None:
    series = [by_part(f"model {i}", ["a"], [score(0.02, 0.0)]) for i in range(6)]
    root = parse(xy_chart(series, x_names=["a"], title="t", y_domain=(0.0, 1.0)))
    heights = sorted(float(t.attrib["y"]) for t in root.iter(f"{SVG}text") if (t.text or "").startswith("model"))
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 12 - 1e-6
    assert heights[-1] <= float(root.attrib["viewBox"].split()[3])


def test_what_misses_the_band_stands_out() -> None:
    inside, outside = Point(1, score(0.5), "step 1"), Point(2, score(0.9, 0.05), "step 2")
    few = Point(3, score(1.0, NAN, FEWEST - 1), "step 3")
    svg = band_chart([inside, outside, few], epsilon=0.15, title="t")
    assert len(dots(svg)) == 2
    assert svg.count("--chart-accent") == 2  # bar and dot of step 2
    assert "step 2: 90.0 % (85.0–95.0), 50 images" in svg
    assert "--chart-accent" not in band_chart([inside], epsilon=0.15, title="t")


def test_a_right_estimate_lies_on_the_diagonal() -> None:
    svg = calibration_chart([Point(0.4, score(0.4), "a"), Point(0.6, score(0.65), "b")], title="t")
    root = parse(svg)
    diagonal = next(e.attrib for e in root.iter(f"{SVG}line") if e.attrib["y1"] != e.attrib["y2"])
    x0, y0, x1, y1 = (float(diagonal[k]) for k in ("x1", "y1", "x2", "y2"))
    on, off = (y - (y0 + (y1 - y0) * (x - x0) / (x1 - x0)) for x, y in dots(svg))
    assert on == pytest.approx(0, abs=0.02)
    assert off < -5  # above: more often than estimated


def test_histogram_joins_neighbours_and_marks_the_mean() -> None:
    svg = histogram({3: 2, 5: 2, 200: 1}, title="t", x_label="questions", counted="stream")
    assert "mean 43.2" in shown(svg)
    assert len(rects(svg)) <= 48
    assert "3–7 questions: 4 streams" in svg
    assert "5 streams, 3 to 200" in svg


def test_a_common_scale_holds_all_that_is_drawn() -> None:
    assert common_domain([score(0.52, 0.01), None, score(0.71, 0.02)]) == (0.5, 0.75)
    assert common_domain([score(0.97)]) == (0.85, 1.0)
    assert common_domain([None, score(NAN, NAN)]) == (0.0, 1.0)
