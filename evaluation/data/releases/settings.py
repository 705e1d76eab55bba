"""The settings of a study that the results of its release depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from judgments.design.tables.controls import Controls
from judgments.kinds import KINDS, Kind


@dataclass(frozen=True, slots=True)
class ReleaseSettings:
    """The settings that the results depend on besides the rows. The manifest has them as ``settings``.

    Older releases lack the settings that have a default. The default is the method by which results were computed then.

    Attributes:
        protocol, seed: the study's protocol, and the seed of its design.
        controls: the required share of right control items, "none" or "as-imported", as in the judgment signature.
        version: the version of Quorum that made the release.
        others: the fields of the judgment signature that not every study has.
        full_depth: whether agreement uses only units that were exempt from early stopping.
        evaluation: ``settings``, ``signature`` and ``signatures`` of the evaluation of metrics, or the reason
            ``why_not`` if there is none.
        filter: number of image-caption ``pairs`` before the design's ``[filter]``, and of those that ``passed`` it; {}
            if no filtered pairs are judged as an audit.
        asked: the setting of the design that answers depend on (``Kind.setting``); usually empty.
        cut_times: whether times are cut to the minute, so that there are no durations.
        wording: version of the wording of the report's sentences.
        winners_signed: whether the signature covers published winners.
        clustered: whether intervals and tests cluster by image and worker.
        raters_known: whether names of workers tell people apart, so that intervals of metrics can cluster by worker.
        credited: whether each unit counts for the systems that the imported file names for its text (all that gave
            the text, if it names none). If false, as before 0.6, only the first unit with a text counts, for all.
        both_orders: whether agreement counts choices between two texts in both orders.
    """

    protocol: str
    seed: int
    controls: float | str
    version: str
    others: Mapping[str, Any]
    full_depth: bool
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    filter: Mapping[str, int] = field(default_factory=dict)
    asked: str = ""
    cut_times: bool = False
    wording: int = 0
    winners_signed: bool = False
    clustered: bool = False
    raters_known: bool = False
    credited: bool = False
    both_orders: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the settings for the manifest, without single values that have their default, as in older bundles."""
        names = {setting.name for setting in fields(self) if setting.default is not MISSING}  # no mappings
        return {name: value for name, value in asdict(self).items() if name not in names or value}

    @property
    def kind(self) -> Kind:
        return KINDS[self.protocol].with_setting(self.asked)

    @property
    def control_rule(self) -> Controls:
        """The rule on control items, from ``least`` answers on. If ``controls`` is a word, it excludes nobody."""
        threshold = 0.0 if isinstance(self.controls, str) else self.controls
        return Controls(threshold=threshold, least=self.others.get("least", 1))
