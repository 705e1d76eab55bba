"""The statistics that sign their results, and how to repeat their calls from signatures."""

from quorum.numeric.signatures import BadSignature, Call, call_of_function, parse_version
from quorum.statistics import (
    aggregation,
    agreement,
    choosing,
    correlation,
    disagreement,
    drawing,
    judges,
    meta,
    power,
    ranking,
    significance,
    stopping,
    variance_components,
)
from quorum.statistics.inference import VERSION, statistic_of

MODULES = (
    agreement,
    aggregation,
    choosing,
    power,
    correlation,
    disagreement,
    drawing,
    judges,
    meta,
    ranking,
    significance,
    stopping,
    variance_components,
)
STATISTICS = {
    function: statistic
    for module in MODULES
    for function in vars(module).values()
    if (statistic := statistic_of(function)) is not None
}


def call_of(signature: str) -> Call:
    """Return the call that a signature describes, to be used as `call_of(text)(*data)`.

    Raise BadSignature if the signature names no known statistic, or an option that the statistic does not have.
    """
    target = parse_version(signature, VERSION)
    for function, statistic in STATISTICS.items():
        # Fixed fields, such as input:rows, distinguish statistics with the same name.
        if statistic.name == target.name and statistic.fixed.items() <= target.fields.items():
            options = {key: value for key, value in target.fields.items() if key not in statistic.fixed}
            return call_of_function(signature, function, options)
    names = sorted({statistic.name for statistic in STATISTICS.values()})
    raise BadSignature(f"{signature!r} is of no statistic known here, expected one of {', '.join(names)}")
