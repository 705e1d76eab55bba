"""Named errors of the statistics; each message is one sentence: what, where, what was expected.

An undefined statistic is no error: it is nan, and the result says why.
"""


class StatisticsError(ValueError):
    """Base of every error the statistics raise about what they were given."""


class BadShape(StatisticsError):
    """Arrays of a wrong shape, or whose lengths do not fit together."""


class BadValue(StatisticsError):
    """A value that the statistic cannot take."""


class BadOption(StatisticsError):
    """An option that is not among the known ones."""


class DuplicateJudgment(StatisticsError):
    """One worker judged one unit more than once."""
