"""Scores of candidate captions against references, with signatures and warnings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from quorum.metrics.comparison import Comparison, NumberedTexts, View, check_lists, check_texts
from quorum.metrics.inputs import InvalidInput, UnknownName
from quorum.metrics.registry.declaration import Metric, OptionValue
from quorum.metrics.registry.packages import metric_named
from quorum.metrics.text.tokenizers import Tokenizer, tokenizer_named
from quorum.numeric.arrays import Floats
from quorum.numeric.signatures import BadSignature, Signature, Value, name_given, parse

VERSION = "1.0"
FEW_DOCUMENTS = 10  # with fewer, document frequencies do not distinguish common words from rare ones


@dataclass(frozen=True, slots=True, eq=False)
class MetricScore:
    """A metric's scores. `images` (n,) has the scores of the candidates, and is read-only."""

    corpus: float
    images: Floats
    signature: str

    def __post_init__(self) -> None:
        self.images.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Copy by calling the class, so that the copy is read-only too.
        return MetricScore, (self.corpus, self.images, self.signature)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores by metric, under the names given to `score`. `warnings` name scores that mean little, and why."""

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
    `options` apply to every metric that declares them. `tokenizer` is one of `TOKENIZERS`, unless the metric
    fixes it. CIDEr's document frequencies count the lists of `document_corpus`; by default every candidate's
    references are one document.
    """
    tokenizer_named(tokenizer)  # refuse an unknown name before reading the texts
    chosen_metrics = _chosen_metrics(metrics, options)
    comparison = Comparison.from_texts(candidates, references, document_corpus)
    uses_documents = any(metric.uses_documents for metric, _ in chosen_metrics.values())
    corpus_name = "corpus" if document_corpus is None or not uses_documents else name_given(document_corpus)
    return _scores(comparison, chosen_metrics, tokenizer, corpus_name)


def check_metrics(metrics: Iterable[str]) -> None:
    """Raise MetricsError if `score` would refuse one of the metrics."""
    _chosen_metrics(metrics, {})


@dataclass(frozen=True)
class PreparedReferences:
    """References tokenised once for many systems, with one list per image.

    Each list is one document of CIDEr's corpus.
    """

    references: Sequence[list[str]]
    metrics: tuple[str, ...]
    tokenizer: str
    numbered_references: tuple[NumberedTexts, ...]

    @classmethod
    def from_references(
        cls, references: Sequence[Sequence[str]], metrics: Iterable[str], tokenizer: str = "ptb"
    ) -> "PreparedReferences":
        check_lists(references, "references")
        for position, texts in enumerate(references):
            check_texts(texts, f"references[{position}]")
        names = tuple(metrics)
        tokenizer_names = dict.fromkeys(metric_named(name).tokenizer or tokenizer for name in names)
        texts = [text for group in references for text in group]
        numbered = tuple(
            NumberedTexts.from_texts(texts, View(tokenizer_named(name))) for name in tokenizer_names
        )
        # Copy each list, because two images with the same list object would become one group.
        return cls([list(group) for group in references], names, tokenizer, numbered)

    def score(self, candidates: Sequence[str]) -> Scores:
        check_texts(candidates, "candidates")
        if len(candidates) != len(self.references):
            raise InvalidInput(
                f"{len(candidates)} candidates but {len(self.references)} lists of references, expected as many"
            )
        comparison = Comparison.from_texts(candidates, self.references)
        for numbered in self.numbered_references:
            comparison.use_tokens(numbered.view, numbered.with_texts_before(candidates))
        return _scores(comparison, _chosen_metrics(self.metrics, {}), self.tokenizer, "corpus")


def _scores(
    comparison: Comparison,
    chosen_metrics: Mapping[str, tuple[Metric, dict[str, OptionValue]]],
    tokenizer: str,
    corpus_name: str,
) -> Scores:
    default_tokenizer = tokenizer_named(tokenizer)
    results, views = {}, dict[str, View]()
    for key, (metric, settings) in chosen_metrics.items():
        metric_tokenizer = tokenizer_named(metric.tokenizer) if metric.tokenizer else default_tokenizer
        figures = metric.compute(comparison, View(metric_tokenizer, metric.change_under(settings)), settings)
        if metric.cuts_words:
            views[metric_tokenizer.name] = View(metric_tokenizer)
        fields = metric.signature_fields(settings) | dict(figures.shown)
        signature = _signature(metric, fields, metric_tokenizer, comparison, corpus_name)
        results[key] = MetricScore(figures.corpus, figures.images, signature)
    weighing_metrics = dict.fromkeys(
        metric.name for metric, _ in chosen_metrics.values() if metric.weighs_by_documents
    )
    warnings = (
        *_empty_captions_warning(comparison),
        *_missing_tokens_warnings(comparison, views),
        *_few_documents_warning(list(weighing_metrics), comparison),
    )
    return Scores(results, tokenizer, VERSION, warnings)


def _chosen_metrics(
    metrics: Iterable[str], options: Mapping[str, OptionValue]
) -> dict[str, tuple[Metric, dict[str, OptionValue]]]:
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise InvalidInput(f"metrics is the {type(metrics).__name__} {metrics!r}, expected a list of names")
    metrics_by_name: dict[str, tuple[Metric, Mapping[str, object]]] = {}
    for text in metrics:
        try:
            parsed = parse(f"{text}|v:{VERSION}")
        except BadSignature:
            raise InvalidInput(f"metric {text!r} is no name, nor name|option:value") from None
        metric = metric_named(parsed.name)
        _check_options([metric], parsed.fields)
        metrics_by_name[text] = metric, parsed.fields
    if not metrics_by_name:
        raise InvalidInput("metrics is empty, expected at least one name")
    _check_options([metric for metric, _ in metrics_by_name.values()], options)
    metrics_with_settings = {
        text: (metric, metric.settings({**options, **fields}))
        for text, (metric, fields) in metrics_by_name.items()
    }
    for metric, settings in metrics_with_settings.values():
        metric.check(settings)
    return metrics_with_settings


def _check_options(metrics: Sequence[Metric], options: Mapping[str, object]) -> None:
    known_options = sorted({name for metric in metrics for name in metric.options})
    for name in options:
        if name not in known_options:
            raise UnknownName(
                f"option of {', '.join(metric.name for metric in metrics)}", name, known_options
            )


def _signature(
    metric: Metric,
    settings: Mapping[str, OptionValue],
    tokenizer: Tokenizer,
    comparison: Comparison,
    corpus_name: str,
) -> str:
    counts = comparison.reference_counts
    fewest, most = int(counts.min()), int(counts.max())
    fields: dict[str, Value] = dict(settings)
    if metric.cuts_words:
        fields["tok"] = tokenizer.label
    fields["refs"] = fewest if fewest == most else f"{fewest}-{most}"
    if metric.uses_documents:
        fields["df"] = corpus_name
    return str(Signature(metric.name, fields, VERSION))


def _empty_captions_warning(comparison: Comparison) -> tuple[str, ...]:
    empty = int(comparison.is_empty.sum())
    if not empty:
        return ()
    return ("1 empty caption scores 0" if empty == 1 else f"{empty} empty captions score 0",)


def _missing_tokens_warnings(comparison: Comparison, views: Mapping[str, View]) -> Iterator[str]:
    """Yield a warning for each tokenizer that finds no token in some texts, as an ASCII tokenizer does in Chinese."""
    for tokenizer, view in views.items():
        has_no_token = comparison.tokens(view).lengths == 0
        captions = int((has_no_token[: comparison.size] & ~comparison.is_empty).sum())
        references = int(has_no_token[comparison.size :].sum())
        if captions or references:
            yield (
                f"tokenizer {tokenizer} finds no token in {captions} of {comparison.size} captions and {references} "
                f"of {len(has_no_token) - comparison.size} references; these match nothing; use one for their script"
            )


def _few_documents_warning(affected: Sequence[str], comparison: Comparison) -> tuple[str, ...]:
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
