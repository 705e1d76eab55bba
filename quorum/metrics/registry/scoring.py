"""Score candidate captions against references, and state each score's signature and the warnings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from quorum.metrics.comparison import PreparedTexts, ReferenceComparison, Tokenization
from quorum.metrics.inputs import InvalidInput, UnknownName, check_lists, check_texts
from quorum.metrics.registry.declaration import Metric, OptionValue
from quorum.metrics.registry.packages import metric_named
from quorum.metrics.text.tokenizers import Tokenizer, tokenizer_named
from quorum.numeric.arrays import Floats
from quorum.numeric.signatures import BadSignature, Signature, Value, parse, placeholder_of_texts

VERSION = "1.0"
FEW_DOCUMENTS = 10  # with fewer, document frequencies do not distinguish common words from rare ones


@dataclass(frozen=True, slots=True, eq=False)
class MetricScore:
    """A metric's scores.

    Attributes:
        corpus: the score of all candidates together, as `Metric.statistics` says.
        images: (n,) the scores of the candidates, read-only.
    """

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
    """The result of `score`.

    Attributes:
        scores: by metric, under the names given to `score`.
        tokenizer: the tokenizer of metrics that fix none.
        version: the version of the metrics' definitions.
        warnings: sentences that name scores that mean little, and say why.
    """

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
    configured_metrics = _configure_metrics(metrics, options)
    comparison = ReferenceComparison.from_texts(candidates, references, document_corpus)
    uses_documents = any(metric.uses_documents for metric, _ in configured_metrics.values())
    # The value of the field `df`: "corpus" if the candidates' own references are the documents.
    corpus_name = (
        "corpus" if document_corpus is None or not uses_documents else placeholder_of_texts(document_corpus)
    )
    return _scores(comparison, configured_metrics, tokenizer, corpus_name)


def check_metrics(metrics: Iterable[str]) -> None:
    """Raise MetricsError if `score` would refuse one of the metrics."""
    _configure_metrics(metrics, {})


@dataclass(frozen=True)
class PreparedReferences:
    """References tokenized once, to score the candidates of many systems.

    Attributes:
        references: for each image, a list. Each list is one document of CIDEr's corpus.
        metrics, tokenizer: as in `score`.
        prepared_texts: the texts of all references, once for each tokenizer that the metrics need.
    """

    references: Sequence[list[str]]
    metrics: tuple[str, ...]
    tokenizer: str
    prepared_texts: tuple[PreparedTexts, ...]

    @classmethod
    def from_references(
        cls, references: Sequence[Sequence[str]], metrics: Iterable[str], tokenizer: str = "ptb"
    ) -> "PreparedReferences":
        """Tokenize the references. Raise InvalidInput if they cannot be used."""
        check_lists(references, "references")
        for position, texts in enumerate(references):
            check_texts(texts, f"references[{position}]")
        names = tuple(metrics)
        tokenizer_names = dict.fromkeys(metric_named(name).tokenizer or tokenizer for name in names)
        texts = [text for group in references for text in group]
        prepared_texts = tuple(
            PreparedTexts.from_texts(texts, Tokenization(tokenizer_named(name))) for name in tokenizer_names
        )
        # Copy each list: if images share a list object, a comparison holds its texts once, but `texts` once for each.
        return cls([list(group) for group in references], names, tokenizer, prepared_texts)

    def score(self, candidates: Sequence[str]) -> Scores:
        check_texts(candidates, "candidates")
        if len(candidates) != len(self.references):
            raise InvalidInput(
                f"{len(candidates)} candidates but {len(self.references)} lists of references, expected as many"
            )
        comparison = ReferenceComparison.from_texts(candidates, self.references)
        for texts in self.prepared_texts:
            comparison.use_tokens(texts.tokenization, texts.with_texts_before(candidates))
        return _scores(comparison, _configure_metrics(self.metrics, {}), self.tokenizer, "corpus")


def _scores(
    comparison: ReferenceComparison,
    configured_metrics: Mapping[str, tuple[Metric, dict[str, OptionValue]]],
    tokenizer: str,
    corpus_name: str,
) -> Scores:
    default_tokenizer = tokenizer_named(tokenizer)
    scores: dict[str, MetricScore] = {}
    tokenizers_used: dict[str, Tokenizer] = {}
    for given_name, (metric, settings) in configured_metrics.items():
        metric_tokenizer = tokenizer_named(metric.tokenizer) if metric.tokenizer else default_tokenizer
        tokenization = Tokenization(metric_tokenizer, metric.change_for(settings))
        result = metric.compute(comparison, tokenization, settings)
        if metric.cuts_words:
            tokenizers_used[metric_tokenizer.name] = metric_tokenizer
        fields = metric.signature_fields(settings) | dict(result.shown)  # known only after computing
        signature = _signature(metric, fields, metric_tokenizer, comparison, corpus_name)
        scores[given_name] = MetricScore(result.corpus, result.images, signature)
    # for other metrics, few documents do no harm: they only tell which n-grams to drop, as no document has them
    metrics_with_idf = dict.fromkeys(
        metric.name for metric, _ in configured_metrics.values() if metric.weighs_by_documents
    )
    warnings = (
        *_empty_captions_warning(comparison),
        *_missing_tokens_warnings(comparison, tokenizers_used.values()),
        *_few_documents_warning(list(metrics_with_idf), comparison),
    )
    return Scores(scores, tokenizer, VERSION, warnings)


def _configure_metrics(
    metrics: Iterable[str], options: Mapping[str, OptionValue]
) -> dict[str, tuple[Metric, dict[str, OptionValue]]]:
    """Return each metric with the values of its options, under the text that names it.

    Options in the text win over `options`. Raise MetricsError if a metric, an option or a value is wrong.
    """
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise InvalidInput(f"metrics is the {type(metrics).__name__} {metrics!r}, expected a list of names")
    metrics_by_text: dict[str, tuple[Metric, Mapping[str, object]]] = {}
    for text in metrics:
        try:
            signature = parse(f"{text}|v:{VERSION}")  # the text is a signature without its version
        except BadSignature:
            raise InvalidInput(f"metric {text!r} is no name, nor name|option:value") from None
        metric = metric_named(signature.name)
        _check_options([metric], signature.fields)
        metrics_by_text[text] = metric, signature.fields
    if not metrics_by_text:
        raise InvalidInput("metrics is empty, expected at least one name")
    _check_options([metric for metric, _ in metrics_by_text.values()], options)
    metrics_with_settings = {
        text: (metric, metric.settings({**options, **fields}))
        for text, (metric, fields) in metrics_by_text.items()
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
    metric_fields: Mapping[str, OptionValue],
    tokenizer: Tokenizer,
    comparison: ReferenceComparison,
    corpus_name: str,
) -> str:
    """Return the signature: the metric's fields, then the tokenizer, the numbers of references and the documents."""
    counts = comparison.reference_counts
    fewest_references, most_references = int(counts.min()), int(counts.max())
    fields: dict[str, Value] = dict(metric_fields)
    if metric.cuts_words:
        fields["tok"] = tokenizer.label
    fields["refs"] = (
        fewest_references
        if fewest_references == most_references
        else f"{fewest_references}-{most_references}"
    )
    if metric.uses_documents:
        fields["df"] = corpus_name
    return str(Signature(metric.name, fields, VERSION))


def _empty_captions_warning(comparison: ReferenceComparison) -> tuple[str, ...]:
    empty_count = int(comparison.is_empty.sum())
    if not empty_count:
        return ()
    return ("1 empty caption scores 0" if empty_count == 1 else f"{empty_count} empty captions score 0",)


def _missing_tokens_warnings(
    comparison: ReferenceComparison, tokenizers: Iterable[Tokenizer]
) -> Iterator[str]:
    """Yield a warning for each tokenizer that finds no token in some texts, as an ASCII tokenizer does in Chinese."""
    n = comparison.candidate_count
    for tokenizer in tokenizers:
        has_no_token = comparison.tokens(Tokenization(tokenizer)).lengths == 0
        captions = int((has_no_token[:n] & ~comparison.is_empty).sum())
        references = int(has_no_token[n:].sum())
        if captions or references:
            yield (
                f"tokenizer {tokenizer.name} finds no token in {captions} of {n} captions and {references} of "
                f"{len(has_no_token) - n} references; these match nothing; use one for their script"
            )


def _few_documents_warning(metric_names: Sequence[str], comparison: ReferenceComparison) -> tuple[str, ...]:
    document_count = comparison.count_distinct_documents(FEW_DOCUMENTS)
    if not metric_names or document_count == FEW_DOCUMENTS:  # counting stops there: these are enough
        return ()
    names = ", ".join(metric_names)
    if document_count == 1:
        return (
            f"{names}: the document corpus holds one distinct document, so that every n-gram in it weighs 0; "
            "score more items at once or give document_corpus",
        )
    return (
        f"{names}: document frequencies rest on {document_count} distinct documents, too few to tell common "
        "words from rare ones; score more items at once or give document_corpus",
    )
