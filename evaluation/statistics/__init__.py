"""Judgments and scores -> figures with intervals, without Django: arrays in, numbers or small frozen results out.

`agreement`     alpha, kappas, AC, percent; by unit, by pair, at thresholds
`aggregation`   majority, weights, Dawid-Skene, Bradley-Terry, tournaments, Borda
`correlation`   Pearson, Spearman, Kendall's tau-b and tau-c
`meta`          a metric against people: accuracy on pairs, ties, grouped correlation, clusters
`ranking`       R@k, S@k, R-precision, median rank
`significance`  McNemar, randomisation, bootstrap, Williams, several tests at once
`catalogue`     from a signature back to its call
`errors`        what is raised for wrong input

The other modules are their parts; docs/statistics.md describes all of it.
"""
