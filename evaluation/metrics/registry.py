"""The metrics as data: descriptions, options, functions that compute them.

To add a metric, write its function in its own module and declare it in `METRICS`, or in a package as an entry point of
the group `quorum.metrics` (docs/metrics.md).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from evaluation.metrics import bleu, cider, h13, rouge
from evaluation.metrics.comparison import Comparison, View
from evaluation.metrics.errors import InvalidInput, MetricsError, PackageFailed, UnknownName
from evaluation.metrics.meteor import scoring as meteor
from evaluation.metrics.meteor.matching import ALL, STAGE_CHOICES
from evaluation.metrics.meteor.tables import find_tables
from evaluation.numeric.arrays import Floats

VERSION = "1.0"

GROUP = "quorum.metrics"  # of entry points
# What the code of a package may raise.
FAILURES = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError),
    *(RuntimeError, SyntaxError, TypeError, ValueError),
)

STEMMERS = ("porter", "porter-1980", "none")

OptionValue = int | float | str
Settings = Mapping[str, OptionValue]

_CIDER, _CIDER_D = cider.Variant(), cider.Variant(unseen="logn", clipped=True)

TextScores = Callable[[Sequence[str], Sequence[Sequence[str]], Settings], Sequence[float] | Floats]


@dataclass(frozen=True)
class Option:
    """A metric's setting. A `quiet` one is in a signature only if it is not the default."""

    default: OptionValue
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1e6
    quiet: bool = False

    def check(self, name: str, value: object) -> OptionValue:
        if isinstance(self.default, str):
            if not isinstance(value, str) or value not in self.choices:
                raise InvalidInput(f"option {name} is {value!r}, expected one of {', '.join(self.choices)}")
            return str(value)
        whole = isinstance(self.default, int)
        expected = f"{'a whole number' if whole else 'a number'} from {self.low:g} to {self.high:g}"
        # A bool is an int to Python and never what a caller means here.
        number: Any = value
        is_number = isinstance(number, Integral if whole else Real) and not isinstance(number, bool)
        if not is_number or not self.low <= number <= self.high:
            raise InvalidInput(f"option {name} is {value!r}, expected {expected}")
        return int(number) if whole else float(number)


@dataclass(frozen=True)
class ComputedScores:
    """A metric's scores; `shown` are the signature fields of `Metric.computed`."""

    corpus: float
    images: Floats
    shown: Mapping[str, str] = field(default_factory=dict)


Compute = Callable[[Comparison, View, Settings], ComputedScores]


@dataclass(frozen=True)
class Metric:
    """The declaration of a metric.

    Attributes:
        statistics: how the corpus figure is made.
        tokenizer: set if the definition fixes the words.
        change: a key of `text.words.CHANGES`; a part with an @ is the value of that option.
        shown: fixed signature fields; `computed` names those that only the computation knows.
        uses_documents: scores depend on the document corpus; `weighs_by_documents`: by document frequencies.
        check: raises MissingTables before anything is computed.
        cuts_words: whether Quorum's tokenizer cuts the texts, which is then in the signature.
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
    check: Callable[[Settings], None] = lambda settings: None
    cuts_words: bool = True

    def settings(self, options: Mapping[str, object]) -> dict[str, OptionValue]:
        return {
            name: option.check(name, options[name]) if name in options else option.default
            for name, option in self.options.items()
        }

    def signature_fields(self, settings: Settings) -> dict[str, OptionValue]:
        return {
            name: value
            for name, value in settings.items()
            if not self.options[name].quiet or value != self.options[name].default
        } | dict(self.shown)

    def change_under(self, settings: Settings) -> str:
        parts = self.change.split(" ")
        return "-".join(str(settings[part[1:]]) if part.startswith("@") else part for part in parts)


def _mean(scores: Floats) -> ComputedScores:
    return ComputedScores(float(np.mean(scores)), scores)


def _bleu(order: int) -> Compute:
    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        smoothing, length = str(settings["smoothing"]), str(settings["length"])
        statistics = bleu.bleu_statistics(comparison, view, length)
        corpus = bleu.bleu_scores(bleu.pooled(statistics), smoothing)[0, order - 1]
        images = comparison.once(
            ("bleu scores", view, smoothing, length), lambda: bleu.bleu_scores(statistics, smoothing)
        )
        return ComputedScores(float(corpus), images[:, order - 1].copy())

    return compute


def _rouge_l(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
    return _mean(rouge.rouge_l_scores(comparison, view, float(settings["beta"])))


def _overlap_of_words(scores: Callable[[Comparison, View], Floats]) -> Compute:
    return lambda comparison, view, settings: _mean(scores(comparison, view))


def _variant(variant: cider.Variant, settings: Settings) -> cider.Variant:
    chosen: dict[str, Any] = {name: settings[name] for name in ("n", "sigma", "scale") if name in settings}
    return replace(variant, **chosen)


def _cider(variant: cider.Variant) -> Compute:
    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        return _mean(cider.cider_scores(comparison, view, _variant(variant, settings)))

    return compute


def _meteor(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
    stages = meteor.stages_named(str(settings["stages"]))
    tables = find_tables()
    statistics = meteor.meteor_statistics(comparison, view, tables, stages)
    corpus = meteor.meteor_scores(meteor.pooled(statistics))[0]
    shown = {"stages": STAGE_CHOICES[stages - 1], "data": tables.digest}
    return ComputedScores(float(corpus), meteor.meteor_scores(statistics), shown)


def _check_meteor(settings: Settings) -> None:
    meteor.stages_named(str(settings["stages"]))


def _rouge_grams(window: int, spared: int = -1) -> Compute:
    return _rouge(
        lambda comparison, view, _: rouge.gram_overlap(comparison, view, window=window, spared=spared)
    )


def _rouge(overlap_of: Callable[[Comparison, View, Settings], rouge.Overlap]) -> Compute:
    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        overlap = overlap_of(comparison, view, settings)
        chosen = {name: str(settings[name]) for name in ("measure", "multi", "jackknife", "corpus")}
        alpha = float(settings["alpha"])
        return ComputedScores(*rouge.rouge155_scores(comparison, overlap, view, alpha=alpha, **chosen))

    return compute


_rouge_lcs = _rouge(lambda comparison, view, _: rouge.lcs_overlap(comparison, view))
_rouge_w = _rouge(
    lambda comparison, view, settings: rouge.weighted_lcs_overlap(comparison, view, float(settings["weight"]))
)


_ORDERS_OF_NGRAM = {"n": Option(4, low=1, high=9)}
_ORDER_OF_STEPS = {"order": Option("stop-first", choices=h13.ORDERS)}


def _rouge155_metric(name: str, what: str, compute: Compute, **more: Option) -> Metric:
    return Metric(
        name,
        f"{what} as ROUGE-1.5.5 computes it (Lin 2004)",
        compute,
        options={
            "measure": Option("f", choices=rouge.MEASURES),
            "alpha": Option(0.5, low=0.0, high=1.0, quiet=True),
            "multi": Option("average", choices=rouge.MULTI),
            "jackknife": Option("no", choices=rouge.JACKKNIFE, quiet=True),
            "corpus": Option("mean", choices=rouge.CORPUS, quiet=True),
            "stop": Option("keep", choices=rouge.STOPS),
            "stem": Option("none", choices=rouge.STEMS),
        }
        | more,
        tokenizer="rouge",
        change="rouge @stop @stem",
    )


def _cider_metric(name: str, what: str, variant: cider.Variant = _CIDER, *, stem: str = "porter") -> Metric:
    return Metric(
        name,
        what,
        _cider(variant),
        options=_ORDERS_OF_NGRAM | {"stem": Option(stem, choices=STEMMERS)},
        change="@stem",
        shown={"unseen": variant.unseen},
        uses_documents=True,
        weighs_by_documents=variant.idf,
    )


METRICS = {
    metric.name: metric
    for metric in (
        *(
            Metric(
                f"bleu-{order}",
                f"BLEU up to {order}-grams as the MS COCO evaluation computes it (V15 eq. 6-8)",
                _bleu(order),
                statistics="matches, guesses and lengths summed over images",
                options={
                    "smoothing": Option("coco", choices=bleu.SMOOTHINGS, quiet=True),
                    "stem": Option("none", choices=STEMMERS, quiet=True),
                    "length": Option(bleu.CLOSEST, choices=bleu.LENGTHS, quiet=True),
                },
                change="@stem",
            )
            for order in range(1, 5)
        ),
        Metric(
            "rouge-l",
            "longest common subsequence as the MS COCO evaluation computes it (V15 eq. 12-14)",
            _rouge_l,
            options={"beta": Option(1.2)},
        ),
        _rouge155_metric("rouge-1", "overlap of words", _rouge_grams(0, spared=0)),
        _rouge155_metric("rouge-2", "overlap of bigrams", _rouge_grams(1)),
        _rouge155_metric("rouge-l-155", "longest common subsequence", _rouge_lcs),
        _rouge155_metric(
            "rouge-w",
            "longest common subsequence with weighted runs",
            _rouge_w,
            weight=Option(1.2, low=1.0, high=5.0),
        ),
        _rouge155_metric(
            "rouge-s4", "overlap of pairs of words with at most four between them", _rouge_grams(5)
        ),
        _rouge155_metric("rouge-su4", "overlap of such pairs and of words", _rouge_grams(5, spared=1)),
        Metric(
            "cider-d",
            "CIDEr-D as the MS COCO evaluation computes it, times 10 (V15 eq. 4-5)",
            _cider(_CIDER_D),
            options=_ORDERS_OF_NGRAM
            | {"sigma": Option(6.0, low=1e-6), "scale": Option(10.0, low=1e-6, quiet=True)},
            uses_documents=True,
            weighs_by_documents=True,
        ),
        _cider_metric("cider", "CIDEr of the paper: n-grams of no document are dropped (V15 eq. 1-3)"),
        _cider_metric(
            "cider-logn",
            "CIDEr of the authors' later code: n-grams of no document weigh log N",
            cider.Variant(unseen="logn"),
            stem="porter-1980",
        ),
        _cider_metric(
            "cider-max",
            "CIDEr with the best reference instead of the mean (V15 App. VIII)",
            cider.Variant(over="max"),
        ),
        _cider_metric(
            "cider-exp", "CIDEr with weights that grow as e^n (V15 App. VIII)", cider.Variant(weights="exp")
        ),
        _cider_metric(
            "cider-noidf", "CIDEr without document frequencies (V15 App. VIII)", cider.Variant(idf=False)
        ),
        _cider_metric("cider-nostem", "CIDEr without stemming (V15 App. VIII)", stem="none"),
        Metric(
            "meteor",
            "METEOR 1.5 for English as the MS COCO evaluation runs it (V15 eq. 16-20)",
            _meteor,
            statistics="matches, chunks and lengths of the best references summed over images",
            options={"stages": Option(ALL, choices=(ALL, *STAGE_CHOICES))},
            computed=("stages", "data"),
            check=_check_meteor,
        ),
        Metric(
            "bleu-h13",
            "clipped unigram precision without brevity penalty (H13 §4.1.1)",
            _overlap_of_words(h13.h13_bleu_scores),
            tokenizer="h13",
        ),
        Metric(
            "bleu-pre",
            "bleu-h13 on stems without stop words, as the ROUGE script makes them (H13 §4.3.2)",
            _overlap_of_words(h13.h13_bleu_scores),
            options=_ORDER_OF_STEPS,
            tokenizer="rouge",
            change="@order",
        ),
        Metric(
            "rouge-h13",
            "unigram recall summed over references, on stems without stop words (H13 §4.1.1)",
            _overlap_of_words(h13.h13_rouge_scores),
            options=_ORDER_OF_STEPS,
            tokenizer="rouge",
            change="@order",
        ),
    )
}


def text_metric(
    name: str, what: str, function: TextScores, *, options: Mapping[str, Option] | None = None
) -> Metric:
    """Return the declaration of a metric that a function of texts computes; its corpus figure is the mean.

    The function gets n candidates, n lists of references and the options' values, and returns n scores, higher for
    better.
    """

    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        n, bounds = comparison.size, comparison.group_starts.tolist()
        groups = [comparison.texts[start:end] for start, end in pairwise(bounds)]
        try:
            references = [groups[group] for group in comparison.group_of.tolist()]
            scores = np.array(function(comparison.texts[:n], references, settings), dtype=np.float64)
        except MetricsError:
            raise
        except FAILURES as error:
            raise PackageFailed(
                f"metric {name!r} cannot be computed: {type(error).__name__}: {error}"
            ) from error
        if scores.shape != (n,) or not np.isfinite(scores).all():
            raise PackageFailed(f"metric {name!r} gives no finite number for each of {n} candidates")
        return _mean(scores)

    return Metric(name, what, compute, options=dict(options or {}), cuts_words=False)


def package_metrics() -> dict[str, EntryPoint]:
    """Return the metrics of installed packages by name, without loading them; built-in names are Quorum's."""
    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=_package_of):
        package, other = _package_of(point), points.get(point.name, point)
        if package != _package_of(other):
            raise PackageFailed(
                f"packages {_package_of(other)} and {package} both have a metric {point.name!r}, expected one of the "
                "two to be installed"
            )
        if point.name not in METRICS:
            points[point.name] = point
    return points


def package_names() -> list[str]:
    """Return the names of ``package_metrics``; none where two packages share one, as whoever uses one is told."""
    try:
        return list(package_metrics())
    except PackageFailed:
        return []


def _package_of(point: EntryPoint) -> str:
    return "" if point.dist is None else f"{point.dist.name}-{point.dist.version}"


def metric_named(text: str) -> Metric:
    """Return the metric of a name, which options may follow. Raise UnknownName or PackageFailed."""
    name = text.partition("|")[0]
    if name in METRICS:
        return METRICS[name]
    packages = package_metrics()
    if name not in packages:
        raise UnknownName("metric", name, [*METRICS, *packages])
    point = packages[name]
    try:
        metric = point.load()
    except FAILURES as error:
        raise PackageFailed(
            f"metric {name!r} of package {_package_of(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(metric, Metric) or metric.name != name:
        raise PackageFailed(
            f"the entry point {name!r} of package {_package_of(point)} is {point.value}, expected a Metric of that name"
        )
    return replace(metric, shown={**metric.shown, "package": _package_of(point)})
