"""The declaration of a metric: its function, its options, and the contents of its signature."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from quorum.metrics.comparison import ReferenceComparison, Tokenization
from quorum.metrics.inputs import InvalidInput
from quorum.numeric.arrays import Floats

OptionValue = int | float | str
MetricSettings = Mapping[str, OptionValue]  # the value of each option of a metric


@dataclass(frozen=True)
class Option:
    """An option of a metric.

    Attributes:
        default: the default value. Its type is the type of the option's values.
        choices: the allowed values of a text option.
        low, high: the bounds of a number, both allowed.
        quiet: whether a signature states the value only if it is not the default.
    """

    default: OptionValue
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1e6
    quiet: bool = False

    def check(self, name: str, value: object) -> OptionValue:
        """Return the value in the option's type. Raise InvalidInput, which calls it `name`, if it is not allowed."""
        if isinstance(self.default, str):
            if not isinstance(value, str) or value not in self.choices:
                raise InvalidInput(f"option {name} is {value!r}, expected one of {', '.join(self.choices)}")
            return str(value)
        is_whole = isinstance(self.default, int)
        expected = f"{'a whole number' if is_whole else 'a number'} from {self.low:g} to {self.high:g}"
        # A bool is an int in Python, but no caller means a number by it.
        number: Any = value
        is_number = isinstance(number, Integral if is_whole else Real) and not isinstance(number, bool)
        if not is_number or not self.low <= number <= self.high:
            raise InvalidInput(f"option {name} is {value!r}, expected {expected}")
        return int(number) if is_whole else float(number)


@dataclass(frozen=True)
class ComputedScores:
    """A metric's scores.

    Attributes:
        corpus: the score of all candidates together.
        images: (n,) the scores of the candidates.
        shown: the values of the signature fields that `Metric.computed` names.
    """

    corpus: float
    images: Floats
    shown: Mapping[str, str] = field(default_factory=dict)


Compute = Callable[[ReferenceComparison, Tokenization, MetricSettings], ComputedScores]


@dataclass(frozen=True)
class Metric:
    """The declaration of a metric.

    Attributes:
        what: a phrase that says what the metric computes, for lists of metrics.
        compute: the function that computes the scores.
        statistics: a phrase that says how the corpus score is computed from the scores of captions.
        tokenizer: the tokenizer that the metric's definition requires, or None if users may choose one.
        change: how words are changed, in parts separated by blanks. A part `@name` stands for the value of the option
            `name`. The parts, joined by "-", are a key of `text.changes.CHANGES`.
        shown: signature fields with fixed values.
        computed: names of the signature fields whose values only the computation knows.
        uses_documents: whether scores depend on the document corpus, if only because n-grams that it lacks are dropped.
        weighs_by_documents: whether n-grams weigh by their document frequencies.
        check: a function that is called before anything is computed; it raises MissingTables if tables are missing.
        cuts_words: whether a tokenizer of Quorum splits the texts, which the signature then names.
    """

    name: str
    what: str
    compute: Compute
    statistics: str = "mean over images"
    options: Mapping[str, Option] = field(default_factory=dict)
    tokenizer: str | None = None
    change: str = "none"
    shown: Mapping[str, str] = field(default_factory=dict)
    computed: tuple[str, ...] = ()
    uses_documents: bool = False
    weighs_by_documents: bool = False
    check: Callable[[MetricSettings], None] = lambda settings: None
    cuts_words: bool = True

    @property
    def has_mean_as_corpus_score(self) -> bool:
        """Whether the corpus score is the mean of the candidates' scores, as the default of `statistics` says."""
        return self.statistics == Metric.statistics

    def settings(self, options: Mapping[str, object]) -> dict[str, OptionValue]:
        """Return the value of each option: of `options`, else the default. Raise InvalidInput for a wrong value."""
        return {
            name: option.check(name, options[name]) if name in options else option.default
            for name, option in self.options.items()
        }

    def signature_fields(self, settings: MetricSettings) -> dict[str, OptionValue]:
        """Return the fields of the signature that state the values of options, then the `shown` ones."""
        return {
            name: value
            for name, value in settings.items()
            if not self.options[name].quiet or value != self.options[name].default
        } | dict(self.shown)

    def change_for(self, settings: MetricSettings) -> str:
        """Return `change` with the values of the options, such as "porter" for "@stem"."""
        parts = self.change.split(" ")
        return "-".join(str(settings[part[1:]]) if part.startswith("@") else part for part in parts)
