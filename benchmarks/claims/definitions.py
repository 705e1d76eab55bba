# ruff: noqa: E501 (a sentence is one line)
"""Accept texts that define a term. They claim nothing about a study."""

import re

from benchmarks.claims.patterns import CHECKERS, Checker

DEFINITIONS = (
    "Exports contain these answers and mark them.", "Participants below the pass mark .", "Excluded participants .",
    "All pages of work that participants have taken", "Consensus of each item",
    "“At best” is the value if all unjudged texts were relevant.",
    "“At best” is the value if all unjudged items were relevant.",
    "The table uses the texts that have a consensus and references. It shows 95 % intervals.",
    "The model of Dawid and Skene (1979) weights each participant by an accuracy estimated from the answers. The consensus itself is not changed.",
    "Percent agreement does not correct for chance. Fleiss’ kappa treats all disagreements equally. Gwet’s AC has identity weights.",
    "Percent agreement does not correct for chance. Fleiss’ kappa treats all disagreements equally. Gwet’s AC has quadratic weights.",
    "S@k: the share of lists in which a text that people find relevant is among the first k.",
    "R-precision: the share of relevant texts among the first r, where r is the number of texts known to be relevant. It is averaged over the queries that have a relevant text, with 95 % intervals.",
    "R-precision: the share of relevant items among the first r, where r is the number of items known to be relevant. It is averaged over the queries that have a relevant item, with 95 % intervals.",
    "The table shows people’s answers to the judged texts of each system, at any rank. The 95 % intervals come from resampled items.",
    "Money: 0.00 USD pay for approved work", "Money> this study has no budget in Quorum",
    "The figure shows the result of each metric after fewer judgments, in the order in which judgments arrived. If a line is flat, more judgments would hardly change the result of the metric.",
    "The page Results compares them with the scores of texts.", "Settled:", "Not decided:", "The model did not converge; treat this result with caution.",
)  # fmt: skip
PATTERNS = [
    *map(re.escape, DEFINITIONS),
    r"The results were computed on .+\. The counts are current\.",
    r"Answers are on the scale .*",
]
CHECKERS.extend(Checker(re.compile(pattern), lambda rows: True, "definitions") for pattern in PATTERNS)
