"""The options of an evaluation, which request variants of its usual figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.errors import EvaluationError

# Names of the options that only studies of pairs, or only studies of captions, have.
PAIR_OPTIONS = ("all_pairs", "references", "ties")
CAPTION_OPTIONS = ("tau_c", "single_grades", "own_kept", "without_own", "people_at_least", "metric_at_least")


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """Options of an evaluation. Each requests a variant in addition to the usual figures, or instead of them.

    The names are those of the API and of the signature. A caption's "own" reference is a reference with
    the same text as the caption: some data sets judge captions that are references of their images.

    Attributes of pairs:
        all_pairs: accuracy over all pairs, where any answer to a pair without a consensus is half right.
        references: accuracy with random subsets of references of these sizes.
        ties: accuracy where a metric's tie is right if people see no difference, and soft pairwise accuracy.

    Attributes of captions:
        tau_c: Kendall's tau-c with people's share or mean.
        single_grades: correlation with every single judgment instead of the mean.
        own_kept: scores against all references, including a caption's own, which are usually left out (H13 4.1.1).
        without_own: figures without captions that have an own reference, as those of CLIPScore for Flickr8k-Expert.
        people_at_least, metric_at_least: for kappa, scores from which on a caption is good, instead of the usual ones.
    """

    all_pairs: bool = False
    references: Sequence[int] = ()
    ties: bool = False
    tau_c: bool = False
    single_grades: bool = False
    own_kept: bool = False
    without_own: bool = False
    people_at_least: Sequence[float] = ()
    metric_at_least: Sequence[float] = ()

    def settings(self) -> dict[str, Any]:
        """Return the options that were chosen, as fields of the signature, such as {"tau-c": "yes"}."""
        fields = {}
        for name in (*PAIR_OPTIONS, *CAPTION_OPTIONS):
            value = getattr(self, name)
            if value:
                fields[name.replace("_", "-")] = "yes" if value is True else ",".join(map(str, value))
        return fields

    def check(self, *, compares_pairs: bool) -> None:
        """Raise EvaluationError if an option is of another protocol, or if two options exclude each other."""
        for name in CAPTION_OPTIONS if compares_pairs else PAIR_OPTIONS:
            if getattr(self, name):
                required, actual = ("captions", "pairs") if compares_pairs else ("pairs", "captions")
                raise EvaluationError(
                    f"{name} is a reading of judged {required}; this study judges {actual}: leave {name} out."
                )
        if self.own_kept and self.without_own:
            raise EvaluationError(
                "own_kept keeps references equal to the text, and without_own leaves such texts out; expected "
                "one of them."
            )
