"""Judges that are no people, such as language models: may one replace a person, and what would people answer?

`alternative_annotator` tests whether a judge is as near to the other people as a person is. `prediction_powered`
estimates people's mean from their answers to some units and the judge's answers to all units. See
contrib/judges/README.md.
"""

from quorum.statistics.judges.alternative_annotator import (
    ACCURACY,
    EPSILON,
    MIN_UNITS,
    RMSE,
    AlternativeAnnotatorResult,
    alternative_annotator_test,
)
from quorum.statistics.judges.prediction_powered import (
    MIN_CURVE_LENGTH,
    PredictionPoweredResult,
    SavingsCurve,
    prediction_powered_mean,
    savings_curve,
)
