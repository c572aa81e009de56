"""Statistics by cluster: bootstrap, intervals, paired tests, agreement between raters, consistency of answers."""

from sightline.stats.agreement import (
    DawidSkene,
    HumanCeiling,
    dawid_skene,
    fleiss_kappa,
    human_ceiling,
    krippendorff_alpha,
    leave_one_out_counts,
)
from sightline.stats.bootstrap import Statistic, bootstrap
from sightline.stats.consistency import rate, symmetry, transitivity
from sightline.stats.intervals import Interval, intervals, macro_intervals
from sightline.stats.paired import Comparison, Comparisons, compare, holm, holm_by_family

__all__ = [
    "Comparison",
    "Comparisons",
    "DawidSkene",
    "HumanCeiling",
    "Interval",
    "Statistic",
    "bootstrap",
    "compare",
    "dawid_skene",
    "fleiss_kappa",
    "holm",
    "holm_by_family",
    "human_ceiling",
    "intervals",
    "krippendorff_alpha",
    "leave_one_out_counts",
    "macro_intervals",
    "rate",
    "symmetry",
    "transitivity",
]
