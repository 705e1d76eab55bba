"""Statistics of judgments: functions of arrays that return numbers or frozen dataclasses. No Django.

| package | question |
|---|---|
| `agreement` | Do judges agree? Alpha, kappa, AC1, percent; by unit, by pair of raters, at thresholds |
| `aggregation` | What do they answer together? Votes, means, models of workers, Bradley-Terry, tournament, Borda |
| `disagreement` | How do they differ? Soft labels, entropy, what predicts them, groups of raters |
| `meta` | Does a metric agree with people? Accuracy, grouped correlation, tie calibration |
| `correlation` | Do two columns rise together? Pearson, Spearman, Kendall |
| `ranking` | Are the right things ranked first? R@k, S@k, median rank, R-precision |
| `judges` | May a model replace a person? What would people answer where only the model answered? |
| `significance` | Could a difference be chance? McNemar, randomisation, bootstrap, Holm |

`power` simulates how many judgments a study needs. `catalogue.call_of` returns the call that a result's signature
describes. See docs/statistics.md. Papers are cited as H13 (Hodosh et al. 2013), V15 (Vedantam et al. 2015), MC12
(Mason, Charniak 2012), WG15 and WG16 (Wang, Gaizauskas 2015 and 2016).

Columns are (N,), with one judgment or comparison in each row. Names are numbers, text or other hashable values.
Winners are 1, 2, or 0 for neither. `people` are people's scores or means, in the same rows as a metric's scores.
Results list names in ascending order, with (U,) units, (W,) workers, (R,) raters, (L,) labels, (K,) items, (P,) pairs
or patterns, (G,) groups, (Q,) queries, (S,) systems, (B,) resamples. (V,) columns have votes, answers, or distinct
values.

All functions raise BadShape, BadValue or BadOption for invalid arguments. The following parameters and fields mean
the same everywhere; `inference` declares them as `Result`, `Inference` and the options `Sampling`:

clusters: "naive" if rows are independent, or (N,) columns by name, such as {"item": images, "rater": workers}. With
columns, intervals and tests generalise to other items, other raters or both, and nothing is resampled. A result has the
number of clusters of each column.
confidence, resamples, seed: options of percentile bootstrap intervals. Resamples without a defined figure are left out
and counted as `undefined_resamples`. In a result, `seed` is None if the caller passed a generator.
labels: the scale; by default the values that occur.
missing: "refuse" raises BadValue for nan; "leave-out" drops rows without a score and counts them as `left_out`.
reason: why a figure or interval is nan. note: a warning about a figure that is defined.
converged, iterations, gradient: how the fit of a model ended. `gradient` is the largest partial derivative at its end.
"""

from typing import TYPE_CHECKING

from quorum.numeric.submodules import lazy_modules

if not TYPE_CHECKING:  # pragma: no branch, as type checkers alone skip it; they would accept every name
    __getattr__, __dir__ = lazy_modules(__name__, __path__)
