"""Agreement of judges beyond chance.

The argument `reliability_data`, called `data` in `agreement`, is a (raters, units) table or `Ratings`. In a table, nan
or None is a missing answer. `ratings_of_judgments` makes `Ratings` from columns with one judgment in each row.

`agreement(data, coefficient)` returns any coefficient with its interval: `Alpha`, `AlphaOfParts` (both Krippendorff's),
`CohenKappa`, `FleissKappa`, `Gwet`, `Percent`. For each but `AlphaOfParts` there is also a function that returns only
the value (`krippendorff_alpha`), and one that returns the result with a signature (`alpha_interval`), with the options
of `agreement`. For `AlphaOfParts` there is only `alpha_of_parts`, which takes columns. `span_alpha` and `span_f1`
compare marked spans. `BothOrdersCoefficient(coefficient, exchange)`, for choices between two texts, counts each unit
twice: as it was judged, and with its texts exchanged.
"""

from quorum.statistics.agreement.alpha import (
    LEVELS,
    Alpha,
    AlphaOfParts,
    alpha_interval,
    alpha_of_judgments,
    alpha_of_parts,
    krippendorff_alpha,
)
from quorum.statistics.agreement.both_orders import BothOrdersCoefficient
from quorum.statistics.agreement.coefficient import AgreementResult, Coefficient, agreement
from quorum.statistics.agreement.cohen import CohenKappa, cohen_kappa, kappa_interval
from quorum.statistics.agreement.fleiss import FleissKappa, fleiss_interval, fleiss_kappa
from quorum.statistics.agreement.gwet import (
    WEIGHTS,
    Gwet,
    Percent,
    gwet_ac,
    gwet_interval,
    percent_agreement,
    percent_interval,
)
from quorum.statistics.agreement.rater_pairs import PairAgreement, agreement_by_pair
from quorum.statistics.agreement.ratings import Ratings, ratings_of_judgments
from quorum.statistics.agreement.spans import SpanAgreement, span_alpha, span_f1
from quorum.statistics.agreement.thresholds import (
    KappaGrid,
    ThresholdAgreement,
    at_least,
    kappa_grid,
    threshold_kappa,
    weighted_kappa,
)
