"""How much judges agree beyond chance.

`reliability_data` is a (raters, units) table in which nan or None is missing, or `Ratings`, which
`ratings_of_judgments` makes of one judgment a row.

`agreement(data, coefficient)` returns any coefficient with its interval: `Alpha`, `AlphaOfParts`
(Krippendorff), `CohenKappa`, `FleissKappa`, `Gwet`, `Percent`. Each also has a function for its value alone
(`krippendorff_alpha`) and one for a signed result (`alpha_interval`) with the options of `agreement`. `span_alpha`
and `span_f1` are of marked spans. `BothOrders(coefficient, other_side)` is of choices between two texts.
"""

from quorum.statistics.agreement.alpha_and_gwet import (
    LEVELS,
    WEIGHTS,
    Alpha,
    AlphaOfParts,
    Gwet,
    Percent,
    alpha_interval,
    alpha_of_judgments,
    alpha_of_parts,
    gwet_ac,
    gwet_interval,
    krippendorff_alpha,
    percent_agreement,
    percent_interval,
)
from quorum.statistics.agreement.coefficient import (
    AgreementResult,
    BothOrders,
    Coefficient,
    Ratings,
    agreement,
    ratings_of_judgments,
)
from quorum.statistics.agreement.kappa import (
    CohenKappa,
    FleissKappa,
    KappaGrid,
    PairAgreement,
    ThresholdAgreement,
    agreement_by_pair,
    at_least,
    cohen_kappa,
    fleiss_interval,
    fleiss_kappa,
    kappa_grid,
    kappa_interval,
    threshold_kappa,
    weighted_kappa,
)
from quorum.statistics.agreement.spans import SpanAgreement, span_alpha, span_f1
