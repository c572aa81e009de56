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
from sightline.stats.bootstrap import Statistic, StrataStatistic, bootstrap, bootstrap_strata
from sightline.stats.consistency import rate, symmetry, transitivity
from sightline.stats.intervals import Interval, intervals, intervals_strata, macro_intervals
from sightline.stats.paired import Comparison, Comparisons, compare, compare_strata, holm, holm_by_family

__all__ = [
    "Comparison",
    "Comparisons",
    "DawidSkene",
    "HumanCeiling",
    "Interval",
    "Statistic",
    "StrataStatistic",
    "bootstrap",
    "bootstrap_strata",
    "compare",
    "compare_strata",
    "dawid_skene",
    "fleiss_kappa",
    "holm",
    "holm_by_family",
    "human_ceiling",
    "intervals",
    "intervals_strata",
    "krippendorff_alpha",
    "leave_one_out_counts",
    "macro_intervals",
    "rate",
    "symmetry",
    "transitivity",
]
