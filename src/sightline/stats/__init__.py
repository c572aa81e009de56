"""Statistics by cluster: intervals, paired tests, ranked scores (AP), agreement of raters, consistency."""

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
from sightline.stats.consistency import OrderedPairs, rate, symmetry, transitivity
from sightline.stats.intervals import Interval, intervals, macro_intervals
from sightline.stats.matching import BoxSet, match, match_best, overlap, rank_boxes
from sightline.stats.paired import Comparison, Comparisons, compare, holm, holm_by_family
from sightline.stats.ranked import (
    Groups,
    PrecisionRecall,
    Ranking,
    SortedErrors,
    average_precision,
    compare_ranked,
    curve,
    mean_known,
    median_error,
    rank,
    ranked_intervals,
    sort_errors,
)

__all__ = [
    "BoxSet",
    "Comparison",
    "Comparisons",
    "DawidSkene",
    "Groups",
    "HumanCeiling",
    "Interval",
    "OrderedPairs",
    "PrecisionRecall",
    "Ranking",
    "SortedErrors",
    "Statistic",
    "average_precision",
    "bootstrap",
    "compare",
    "compare_ranked",
    "curve",
    "dawid_skene",
    "fleiss_kappa",
    "holm",
    "holm_by_family",
    "human_ceiling",
    "intervals",
    "krippendorff_alpha",
    "leave_one_out_counts",
    "macro_intervals",
    "match",
    "match_best",
    "mean_known",
    "median_error",
    "overlap",
    "rank",
    "rank_boxes",
    "ranked_intervals",
    "rate",
    "sort_errors",
    "symmetry",
    "transitivity",
]
