"""Every statistic that signs its results, and the way from a signature back to its call."""

from evaluation.signatures import Call
from evaluation.statistics import aggregation, agreement, correlation, meta, ranking, significance
from evaluation.statistics.signed import call_among

STATISTICS = tuple(
    {
        function: None
        for module in (agreement, aggregation, correlation, meta, ranking, significance)
        for function in vars(module).values()
        if isinstance(getattr(function, "statistic", None), tuple)
    }
)


def call_of(signature: str) -> Call:
    """The call that a statistic's signature was made by, waiting for the data: `call_of(text)(*data)`.

    Raises BadSignature for a text that is none, of another version, or of something unknown here.
    """
    return call_among(STATISTICS, signature)
