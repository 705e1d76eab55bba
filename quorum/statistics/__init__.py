"""Statistics of judgments: arrays in, numbers or small frozen results out. No Django. See docs/statistics.md.

| package | question |
|---|---|
| `agreement` | Do judges agree? Alpha, kappa, AC1, percent; by unit, by pair of raters, at thresholds |
| `aggregation` | What is their joint answer? Votes, means, models of workers, Bradley-Terry, tournament, Borda |
| `disagreement` | How do they differ? Soft labels, entropy, what predicts them, groups of raters |
| `meta` | Does a metric agree with people? Accuracy, grouped correlation, tie calibration, clusters |
| `correlation` | Do two columns rise together? Pearson, Spearman, Kendall |
| `ranking` | Are the right things ranked first? R@k, S@k, median rank, R-precision |
| `judges` | May a model replace a person? What would people say where it answered alone? |
| `significance` | Could a difference be chance? McNemar, randomisation, bootstrap, Holm |

`power` simulates how many judgments a study needs. `catalogue.call_of` turns a result's signature into its call.

Columns are (N,), one judgment or comparison a row; names are numbers, text or other hashable values. Winners are
1, 2, or 0 for neither. Results list names in ascending order, with (U,) units, (W,) workers, (R,) raters, (L,)
labels, (K,) items, (P,) pairs or patterns, (G,) groups, (Q,) queries, (B,) resamples.

All functions raise BadShape, BadValue or BadOption for arguments that they cannot take. These parameters and fields
mean the same everywhere; `inference` has them once, as `Result`, `Inference` and the options `Sampling`:

clusters: "naive" for independent rows, or columns of one entry a row by name, such as {"item": images, "rater":
workers}. Intervals and tests then speak of other items, other raters or both, and nothing is resampled. In a result:
how many of each there are.
confidence, resamples, seed: of percentile bootstrap intervals, which leave out `undefined_resamples`. `seed` of a
result is None if the caller passed a generator.
labels: the scale; by default what occurs.
missing: refuse nan ("refuse"), or drop rows without a score ("leave-out"), counted as `left_out`.
reason: why a figure or interval is nan. note: a warning about a figure that is defined.
converged, iterations, gradient: of fitted models; `gradient` is the largest partial derivative left.
"""
