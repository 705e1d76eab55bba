"""Judges that are no people, such as language models: may one replace a person, and what would people answer?

See contrib/judges/README.md.
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
