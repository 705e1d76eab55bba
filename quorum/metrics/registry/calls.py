"""Read the signature of a metric's scores, and score captions again with the metric and options that it states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quorum.metrics.inputs import InvalidInput
from quorum.metrics.registry.declaration import OptionValue
from quorum.metrics.registry.packages import metric_named
from quorum.metrics.registry.scoring import VERSION, MetricScore, score
from quorum.metrics.text.tokenizers import tokenizer_labelled, tokenizer_named
from quorum.numeric.signatures import BadSignature, Value, parse_version

# Signature fields that describe changes made to the texts before scoring: `own:dropped` says that each caption was
# dropped from its own references (`contrib.comparing`).
IGNORED_FIELDS = ("own",)


@dataclass(frozen=True, slots=True)
class MetricCall:
    """A call of `score` for one metric, with all options that a signature states."""

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
        """Return the scores of captions. Raise InvalidInput if the result has another signature."""
        result = score(
            candidates, references, [self.metric], self.tokenizer, document_corpus, **self.options
        ).scores[self.metric]
        if result.signature != self.signature:
            raise InvalidInput(
                f"the captions give the signature {result.signature!r}, expected {self.signature!r}"
            )
        return result


def call_of(signature: str) -> MetricCall:
    """Return the call that a signature describes.

    A signature is such as `cider-d|n:4|sigma:6|tok:ptb|refs:5|df:corpus|v:1.0`. The caller must make the changes of
    IGNORED_FIELDS. Raise UnknownName if the signature names an unknown metric, tokenizer or option, InvalidInput if an
    option has a wrong value, and BadSignature if a field is missing, unknown, or different from what the metric writes.
    """
    parsed_signature = parse_version(signature, VERSION).without_fields(*IGNORED_FIELDS)
    signature = str(parsed_signature)
    metric, fields = metric_named(parsed_signature.name), parsed_signature.fields
    # The fields that are no options (`scoring._signature`).
    data_fields = [
        name
        for name, is_stated in (("tok", metric.cuts_words), ("refs", True), ("df", metric.uses_documents))
        if is_stated
    ]
    for name in data_fields:
        if name not in fields:
            raise BadSignature(f"{signature!r} has no field {name!r}, expected one from {metric.name}")
    options = {name: value for name, value in fields.items() if name not in data_fields}
    for name in options.keys() - metric.options.keys() - set(metric.shown) - set(metric.computed):
        raise BadSignature(f"{signature!r} has a field {name!r} that {metric.name} does not know")
    # A metric that cuts no words does not use the tokenizer.
    tokenizer = tokenizer_labelled(fields["tok"]) if metric.cuts_words else tokenizer_named("ptb")
    fixed_values: dict[str, Value] = dict(metric.shown)  # `metric.computed` are known only after scoring
    if metric.tokenizer:
        fixed_values["tok"] = tokenizer_named(metric.tokenizer).label
    for name, value in fixed_values.items():
        if fields.get(name, value) != value:
            raise BadSignature(
                f"{signature!r} has {name}:{fields[name]}, expected {name}:{value} from {metric.name}"
            )
    return MetricCall(metric.name, tokenizer.name, metric.settings(options), signature)
