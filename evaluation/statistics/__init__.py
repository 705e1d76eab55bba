"""Statistics of judgments: arrays in, numbers or small frozen results out; numpy, scipy, numba, nothing of Quorum.

Import from six names:

| name | question |
|---|---|
| `agreement` | do judges agree? alpha, kappa, AC1, percent; by unit, by pair of raters, at thresholds |
| `aggregation` | what do they say together? votes, means, Dawid-Skene, Bradley-Terry, tournament, Borda |
| `meta` | does a metric judge as people do? accuracy, grouped correlation, tie calibration, clusters |
| `correlation` | do two columns rise together? Pearson, Spearman, Kendall |
| `ranking` | are the right things ranked first? R@k, S@k, median rank, R-precision |
| `significance` | could a difference be chance? McNemar, randomisation, bootstrap, Williams, Holm |

`power` and `people` simulate how many judgments a study needs. `catalogue.call_of` leads from a result's signature
back to its call, `results.as_json` writes a result as JSON, `errors` names what is refused, `inputs` checks what is
handed in and `resampling` draws.
"""
