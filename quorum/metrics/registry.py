"""The metrics as data, and their scores with signatures.

To add a metric, write its function in its own module and declare it in `METRICS`, or in a package as an entry point of
the group `quorum.metrics` (docs/metrics.md).

Captions left out: Every caption of an image is left out in turn and scored against the image's other captions, and so
are the texts in its place: a caption of another image or dataset, a sentence of a corpus, or words drawn one by one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from itertools import chain, pairwise
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import numpy as np

from quorum.metrics import bleu, cider, rouge
from quorum.metrics.comparison import Comparison, NumberedTexts, View, check_lists, check_texts
from quorum.metrics.inputs import InvalidInput, MetricsError, PackageFailed, UnknownName
from quorum.metrics.meteor import scoring as meteor
from quorum.metrics.meteor.alignment import ALL, STAGE_CHOICES
from quorum.metrics.meteor.tables import find_tables
from quorum.metrics.text.tokens import Tokenizer, encode, tokenizer_labelled, tokenizer_named
from quorum.numeric.arrays import Floats, Ints, starts_of
from quorum.numeric.signatures import BadSignature, Signature, Value, name_given, parse, parse_version

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


def _cider(variant: cider.Variant) -> Compute:
    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        chosen: dict[str, Any] = {
            name: settings[name] for name in ("n", "sigma", "scale") if name in settings
        }
        return _mean(cider.cider_scores(comparison, view, replace(variant, **chosen)))

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
_ORDER_OF_STEPS = {"order": Option("stop-first", choices=bleu.FILTERS)}


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
            _overlap_of_words(bleu.h13_bleu_scores),
            tokenizer="h13",
        ),
        Metric(
            "bleu-pre",
            "bleu-h13 on stems without stop words, as the ROUGE script makes them (H13 §4.3.2)",
            _overlap_of_words(bleu.h13_bleu_scores),
            options=_ORDER_OF_STEPS,
            tokenizer="rouge",
            change="@order",
        ),
        Metric(
            "rouge-h13",
            "unigram recall summed over references, on stems without stop words (H13 §4.1.1)",
            _overlap_of_words(bleu.h13_rouge_scores),
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
    shown = {**metric.shown, "package": _package_of(point)}
    return replace(metric, compute=_zero_if_empty(metric), shown=shown)


def _zero_if_empty(metric: Metric) -> Compute:
    """Return a computation that scores 0 for empty candidates, which a package need not expect, and others by it."""

    def scores(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        if not comparison.empty.any():
            return metric.compute(comparison, view, settings)
        images = np.zeros(comparison.size)
        if comparison.empty.all():
            return ComputedScores(0.0, images)
        of_others = metric.compute(comparison.without_empty(), view, settings)
        images[~comparison.empty] = of_others.images
        is_mean = metric.statistics == Metric.statistics
        return replace(of_others, corpus=float(images.mean()) if is_mean else of_others.corpus, images=images)

    return scores


FEW_DOCUMENTS = 10

# Signature fields of changes to captions before scoring.
DONE_BEFORE = ("own",)

# Of a corpus, WG16 retain sentences of so many tokens and characters.
LEAST_TOKENS, LEAST_CHARACTERS = 5, 10


@dataclass(frozen=True, slots=True, eq=False)
class MetricScore:
    """A metric's scores; `images` (n,) is read-only."""

    corpus: float
    images: Floats
    signature: str

    def __post_init__(self) -> None:
        self.images.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # A new instance, so that a copy is read-only too.
        return MetricScore, (self.corpus, self.images, self.signature)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of each metric as named; `warnings` tell of scores with little meaning."""

    scores: Mapping[str, MetricScore]
    tokenizer: str
    version: str
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", MappingProxyType(dict(self.scores)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Scores, (dict(self.scores), self.tokenizer, self.version, self.warnings)


def score(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Iterable[str] = ("bleu-4", "rouge-l", "cider-d"),
    tokenizer: str = "ptb",
    document_corpus: Sequence[Sequence[str]] | None = None,
    **options: OptionValue,
) -> Scores:
    """Score n candidate captions against n lists of references.

    `metrics` are names of `registry.METRICS`, with options as in a signature (`rouge-1|measure:recall`);
    `options` apply to every metric that declares them. `tokenizer` is one of `text.TOKENIZERS`, unless the metric
    fixes it. CIDEr's document frequencies count the lists of `document_corpus`; by default every candidate's
    references are one document.
    """
    tokenizer_named(tokenizer)  # an unknown name is refused before the texts are read
    chosen = _chosen(metrics, options)
    comparison = Comparison.of(candidates, references, document_corpus)
    uses_documents = any(metric.uses_documents for metric, _ in chosen.values())
    corpus_name = "corpus" if document_corpus is None or not uses_documents else name_given(document_corpus)
    return _scores(comparison, chosen, tokenizer, corpus_name)


def check_metrics(metrics: Iterable[str]) -> None:
    """Raise MetricsError for metrics that `score` would refuse."""
    _chosen(metrics, {})


@dataclass(frozen=True)
class PreparedReferences:
    """References, one list per image, tokenised once for many systems; each is one document of CIDEr's corpus."""

    references: Sequence[list[str]]
    metrics: tuple[str, ...]
    tokenizer: str
    cuts: tuple[NumberedTexts, ...]

    @classmethod
    def of(
        cls, references: Sequence[Sequence[str]], metrics: Iterable[str], tokenizer: str = "ptb"
    ) -> "PreparedReferences":
        check_lists(references, "references")
        for position, texts in enumerate(references):
            check_texts(texts, f"references[{position}]")
        names = tuple(metrics)
        used = dict.fromkeys(metric_named(name).tokenizer or tokenizer for name in names)
        texts = [text for group in references for text in group]
        cuts = tuple(NumberedTexts.of(texts, View(tokenizer_named(name))) for name in used)
        # Copy each list: one list object for two images would become one group.
        return cls([list(group) for group in references], names, tokenizer, cuts)

    def score(self, candidates: Sequence[str]) -> Scores:
        check_texts(candidates, "candidates")
        if len(candidates) != len(self.references):
            raise InvalidInput(
                f"{len(candidates)} candidates but {len(self.references)} lists of references, expected as many"
            )
        comparison = Comparison.of(candidates, self.references)
        for cut in self.cuts:
            comparison.once(("words", cut.view), partial(cut.behind, candidates))
        return _scores(comparison, _chosen(self.metrics, {}), self.tokenizer, "corpus")


def _scores(
    comparison: Comparison,
    chosen: Mapping[str, tuple[Metric, dict[str, OptionValue]]],
    tokenizer: str,
    corpus_name: str,
) -> Scores:
    cut = tokenizer_named(tokenizer)
    results, views = {}, dict[str, View]()
    for key, (metric, settings) in chosen.items():
        used = tokenizer_named(metric.tokenizer) if metric.tokenizer else cut
        figures = metric.compute(comparison, View(used, metric.change_under(settings)), settings)
        if metric.cuts_words:
            views[used.name] = View(used)
        fields = metric.signature_fields(settings) | dict(figures.shown)
        signature = _signature(metric, fields, used, comparison, corpus_name)
        results[key] = MetricScore(figures.corpus, figures.images, signature)
    weighed = dict.fromkeys(metric.name for metric, _ in chosen.values() if metric.weighs_by_documents)
    warnings = (
        *_empty_captions(comparison),
        *_without_tokens(comparison, views),
        *_few_documents(list(weighed), comparison),
    )
    return Scores(results, tokenizer, VERSION, warnings)


def _chosen(
    metrics: Iterable[str], options: Mapping[str, OptionValue]
) -> dict[str, tuple[Metric, dict[str, OptionValue]]]:
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise InvalidInput(f"metrics is the {type(metrics).__name__} {metrics!r}, expected a list of names")
    named: dict[str, tuple[Metric, Mapping[str, object]]] = {}
    for text in metrics:
        try:
            parsed = parse(f"{text}|v:{VERSION}")
        except BadSignature:
            raise InvalidInput(f"metric {text!r} is no name, nor name|option:value") from None
        metric = metric_named(parsed.name)
        _check_options([metric], parsed.fields)
        named[text] = metric, parsed.fields
    if not named:
        raise InvalidInput("metrics is empty, expected at least one name")
    _check_options([metric for metric, _ in named.values()], options)
    chosen = {
        text: (metric, metric.settings({**options, **fields})) for text, (metric, fields) in named.items()
    }
    for metric, settings in chosen.values():
        metric.check(settings)
    return chosen


def _check_options(chosen: Sequence[Metric], options: Mapping[str, object]) -> None:
    known = sorted({name for metric in chosen for name in metric.options})
    for name in options:
        if name not in known:
            raise UnknownName(f"option of {', '.join(metric.name for metric in chosen)}", name, known)


def _signature(
    metric: Metric,
    settings: Mapping[str, OptionValue],
    tokenizer: Tokenizer,
    comparison: Comparison,
    corpus_name: str,
) -> str:
    counts = comparison.reference_counts
    few, many = int(counts.min()), int(counts.max())
    fields: dict[str, Value] = dict(settings)
    if metric.cuts_words:
        fields["tok"] = tokenizer.label
    fields["refs"] = few if few == many else f"{few}-{many}"
    if metric.uses_documents:
        fields["df"] = corpus_name
    return str(Signature(metric.name, fields, VERSION))


@dataclass(frozen=True, slots=True)
class MetricCall:
    """A metric with all its settings, from a signature."""

    metric: str
    tokenizer: str
    options: Mapping[str, OptionValue]
    signature: str

    def __call__(
        self,
        candidates: Sequence[str],
        references: Sequence[Sequence[str]],
        document_corpus: Sequence[Sequence[str]] | None = None,
    ) -> MetricScore:
        """Score captions, which must give the same signature."""
        result = score(
            candidates, references, [self.metric], self.tokenizer, document_corpus, **self.options
        ).scores[self.metric]
        if result.signature != self.signature:
            raise InvalidInput(
                f"the captions give the signature {result.signature!r}, expected {self.signature!r}"
            )
        return result


def call_of(signature: str) -> MetricCall:
    """Return the call of a signature; changes to captions before it (`own:dropped`) are left to the caller.

    Raise BadSignature, UnknownName and InvalidInput.
    """
    parsed = parse_version(signature, VERSION).without(*DONE_BEFORE)
    signature = str(parsed)
    metric = metric_named(parsed.name)
    counted_on = [
        name
        for name, stated in (("tok", metric.cuts_words), ("refs", True), ("df", metric.uses_documents))
        if stated
    ]
    for name in counted_on:
        if name not in parsed.fields:
            raise BadSignature(f"{signature!r} has no field {name!r}, expected one from {metric.name}")
    options = {name: value for name, value in parsed.fields.items() if name not in counted_on}
    for name in options.keys() - metric.options.keys() - set(metric.shown) - set(metric.computed):
        raise BadSignature(f"{signature!r} has a field {name!r} that {metric.name} does not know")
    tokenizer = tokenizer_labelled(parsed.fields["tok"]) if metric.cuts_words else tokenizer_named("ptb")
    fixed: dict[str, Value] = dict(metric.shown)
    if metric.tokenizer:
        fixed["tok"] = tokenizer_named(metric.tokenizer).label
    for name, value in fixed.items():
        if parsed.fields.get(name, value) != value:
            raise BadSignature(
                f"{signature!r} has {name}:{parsed.fields[name]}, expected {name}:{value} from {metric.name}"
            )
    return MetricCall(metric.name, tokenizer.name, metric.settings(options), signature)


def _empty_captions(comparison: Comparison) -> tuple[str, ...]:
    empty = int(comparison.empty.sum())
    if not empty:
        return ()
    return ("1 empty caption scores 0" if empty == 1 else f"{empty} empty captions score 0",)


def _without_tokens(comparison: Comparison, views: Mapping[str, View]) -> Iterator[str]:
    """Tell of texts that a tokenizer makes nothing of, such as one that only knows ASCII of Chinese."""
    for tokenizer, view in views.items():
        nothing = comparison.tokens(view).lengths == 0
        captions = int((nothing[: comparison.size] & ~comparison.empty).sum())
        references = int(nothing[comparison.size :].sum())
        if captions or references:
            yield (
                f"tokenizer {tokenizer} finds no token in {captions} of {comparison.size} captions and {references} "
                f"of {len(nothing) - comparison.size} references; these match nothing; use one for their script"
            )


def _few_documents(affected: Sequence[str], comparison: Comparison) -> tuple[str, ...]:
    documents = comparison.distinct_documents(FEW_DOCUMENTS)
    if not affected or documents == FEW_DOCUMENTS:
        return ()
    names = ", ".join(affected)
    if documents == 1:
        return (
            f"{names}: the document corpus holds one distinct document, so that every n-gram in it weighs 0; "
            "score more items at once or give document_corpus",
        )
    return (
        f"{names}: document frequencies rest on {documents} distinct documents, too few to tell common "
        "words from rare ones; score more items at once or give document_corpus",
    )


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Captions left out, image by image.

    images: the captions of images that have two or more, in alphabetical order. texts: (n,) captions left out.
    references: (n,) the others of the same image. image_of: (n,) positions in `images`. alone: images with a single
    caption, which are left out.
    """

    images: list[list[str]]
    texts: list[str]
    references: list[list[str]]
    image_of: Ints
    alone: int

    @property
    def counts(self) -> Ints:
        return np.bincount(self.image_of, minlength=len(self.images))


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScores:
    """(n,) scores of each metric, of the captions left out and of what stood in their place."""

    upper: Mapping[str, Floats]
    lower: Mapping[str, Mapping[str, Floats]]
    signatures: Mapping[str, str]
    warnings: tuple[str, ...]


def hold_out(
    captions: Sequence[Sequence[str]],
    *,
    most: int | None = None,
    generator: np.random.Generator | None = None,
) -> HeldOut:
    """Leave out every caption of every image in turn, or `most` of each image, drawn with `generator`."""
    check_lists(captions, "captions")
    if most is not None and most < 1:
        raise InvalidInput(f"most is {most}, expected 1 or more captions to leave out of each image")
    images = [sorted(texts) for texts in captions if len(texts) > 1]
    texts: list[str] = []
    references: list[list[str]] = []
    counts = []
    draw = generator or np.random.default_rng(0)
    for captions_of_image in images:
        places: Sequence[int] = range(len(captions_of_image))
        if most is not None and most < len(captions_of_image):
            places = sorted(draw.choice(len(captions_of_image), size=most, replace=False).tolist())
        texts += [captions_of_image[position] for position in places]
        references += [
            captions_of_image[:position] + captions_of_image[position + 1 :] for position in places
        ]
        counts.append(len(places))
    alone = sum(len(captions_of_image) == 1 for captions_of_image in captions)
    return HeldOut(images, texts, references, np.repeat(np.arange(len(images)), counts), alone)


def score_held_out(
    held_out: HeldOut,
    metrics: Iterable[str],
    tokenizer: str = "ptb",
    *,
    instead: Mapping[str, Sequence[str]] | None = None,
) -> HeldOutScores:
    """Score the captions left out, and the (n,) texts of each name of `instead`, against the same references.

    CIDEr counts documents over the images with all their captions.
    """
    instead = instead or {}
    n = len(held_out.texts)
    for name, texts in instead.items():
        if len(texts) != n:
            raise InvalidInput(
                f"instead[{name!r}] has {len(texts)} texts, expected {n}, one a caption left out"
            )
    candidates = [*held_out.texts, *chain.from_iterable(instead.values())]
    # The lists are the same objects, so that the words of references are counted once for all candidates.
    references = held_out.references * (1 + len(instead))
    scores = score(candidates, references, metrics, tokenizer, document_corpus=held_out.images)
    parts = {
        name: np.split(metric_score.images, 1 + len(instead)) for name, metric_score in scores.scores.items()
    }
    return HeldOutScores(
        upper={name: parts_of_metric[0] for name, parts_of_metric in parts.items()},
        lower={
            what: {name: parts_of_metric[number] for name, parts_of_metric in parts.items()}
            for number, what in enumerate(instead, start=1)
        },
        signatures={name: metric_score.signature for name, metric_score in scores.scores.items()},
        warnings=scores.warnings,
    )


def of_other_images(held_out: HeldOut, generator: np.random.Generator) -> list[str]:
    """Return for each caption left out one of another image (WG16: random intra-dataset)."""
    if len(held_out.images) < 2:
        raise InvalidInput("there is one image with two captions, expected two or more to exchange captions")
    pool = list(chain.from_iterable(held_out.images))
    starts = starts_of(list(map(len, held_out.images)))
    size = np.diff(starts)[held_out.image_of]
    drawn = generator.integers(0, len(pool) - size)
    first = starts[held_out.image_of]
    return [pool[position] for position in np.where(drawn < first, drawn, drawn + size).tolist()]


def of_other_sources(
    held_out: HeldOut, sources: Sequence[Sequence[str]], generator: np.random.Generator
) -> list[str]:
    """Return for each caption left out a text of a source drawn first (WG16: random inter-dataset, Brown)."""
    check_lists(sources, "sources")
    for position, texts in enumerate(sources):
        check_texts(texts, f"sources[{position}]")
    source = generator.integers(0, len(sources), size=len(held_out.texts))
    drawn = generator.integers(0, np.array([len(texts) for texts in sources])[source])
    return [sources[number][at] for number, at in zip(source.tolist(), drawn.tolist(), strict=True)]


def gibberish(
    held_out: HeldOut,
    texts: Sequence[str],
    length: int,
    generator: np.random.Generator,
    tokenizer: str = "ptb",
) -> list[str]:
    """Return for each caption left out `length` words, each drawn from the words of `texts` as often as they occur."""
    check_texts(texts, "texts")
    if length < 1:
        raise InvalidInput(f"length is {length}, expected 1 or more words")
    tokens = encode(texts, tokenizer_named(tokenizer))
    if not tokens.tokens.size:
        raise InvalidInput("texts holds no word, expected texts to draw words from")
    drawn = tokens.tokens[generator.integers(0, tokens.tokens.size, size=(len(held_out.texts), length))]
    vocabulary = tokens.vocabulary
    return [" ".join(vocabulary[word] for word in row) for row in drawn.tolist()]


def mean_length(texts: Sequence[str], tokenizer: str = "ptb") -> int:
    """Return the mean number of words of texts, rounded; at least 1."""
    lengths = encode(texts, tokenizer_named(tokenizer)).lengths
    return max(1, round(float(lengths.mean()))) if lengths.size else 1


def long_enough(texts: Iterable[str], tokenizer: str = "ptb") -> list[str]:
    """Return the texts of at least five tokens and ten characters, as WG16 take them from the Brown corpus."""
    listed = list(texts)
    lengths = encode(listed, tokenizer_named(tokenizer)).lengths.tolist()
    return [
        text
        for text, length in zip(listed, lengths, strict=True)
        if length >= LEAST_TOKENS and len(text) >= LEAST_CHARACTERS
    ]
