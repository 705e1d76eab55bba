"""Score captions, with signatures: the package's entry point.

Captions left out: Every caption of an image is left out in turn and scored against the image's other captions, and so
are the texts in its place: a caption of another image or dataset, a sentence of a corpus, or words drawn one by one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np

from evaluation.metrics.comparison import Comparison, NumberedTexts, View, check_lists, check_texts
from evaluation.metrics.errors import InvalidInput, UnknownName
from evaluation.metrics.registry import VERSION, Metric, OptionValue, metric_named
from evaluation.metrics.text.tokens import Tokenizer, encode, tokenizer_labelled, tokenizer_named
from evaluation.numeric.arrays import Floats, Ints, starts_of
from evaluation.numeric.signatures import BadSignature, Signature, Value, name_given, parse, parse_version

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
    results = {}
    for key, (metric, settings) in chosen.items():
        used = tokenizer_named(metric.tokenizer) if metric.tokenizer else cut
        figures = metric.compute(comparison, View(used, metric.change_under(settings)), settings)
        fields = metric.signature_fields(settings) | dict(figures.shown)
        signature = _signature(metric, fields, used, comparison, corpus_name)
        results[key] = MetricScore(figures.corpus, figures.images, signature)
    weighed = dict.fromkeys(metric.name for metric, _ in chosen.values() if metric.weighs_by_documents)
    return Scores(results, tokenizer, VERSION, _warnings(list(weighed), comparison))


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


def _warnings(affected: Sequence[str], comparison: Comparison) -> tuple[str, ...]:
    documents = comparison.distinct_documents(FEW_DOCUMENTS)
    if not affected or documents == FEW_DOCUMENTS:
        return ()
    names = ", ".join(affected)
    if documents == 1:
        return (
            f"{names}: the document corpus holds one distinct document, so that every n-gram in it weighs 0; "
            "score more images at once or give document_corpus",
        )
    return (
        f"{names}: document frequencies rest on {documents} distinct documents, too few to tell common "
        "words from rare ones; score more images at once or give document_corpus",
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
