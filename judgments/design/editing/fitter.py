"""Fit a design to the contents of its dataset.

`fitting` compares fitted designs with different check questions, and chooses one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from itertools import chain
from math import ceil
from typing import Any

from django.utils.translation import gettext, gettext_noop, ngettext

from common.amounts import thousands
from common.errors import DesignError
from judgments.design.arena import is_arena_on
from judgments.design.editing.text_types import can_ask_about_texts, has_only_source_texts, judged_text_type
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.requirements import REQUIREMENT_PRESETS, Workers
from judgments.design.study_design import PURPOSES, StudyDesign
from judgments.design.tables.controls import Controls, usual_least
from judgments.design.tables.sampling import Arena
from judgments.design.wordings import CAPTION
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.controls.pool import count_control_pool
from judgments.drawing.controls.splits import divide_images, needs_split
from judgments.drawing.material import Image, Material
from judgments.drawing.pairs.drawing import DEFAULT_PER_KIND, count_pairs, count_pairs_of_systems
from judgments.kinds import KINDS
from judgments.models import Dataset
from judgments.studies.generation.batches import divide_for_quiz
from judgments.studies.generation.material import load_material

ARENA_JUDGMENTS_PER_PAIR = 3  # number of judgments of each pair for which an arena has pages
MIN_EQUAL_SHARE = 0.5  # least share of repeated items that must get the same answer
MAX_CAPTIONS = 200_000  # captions of a dataset; sampling from more is too slow for a request
PAIR_LABELS = {
    "HC": gettext_noop("two people's texts for an item"),
    "HI": gettext_noop("two people's texts, one of them for another item"),
    "HM": gettext_noop("a person and a system"),
    "MM": gettext_noop("two systems"),
}


class DatasetReader:
    """Reads the contents of a dataset once for several fittings.

    ``maker`` is the row id of the study's author. Unpublished systems of others are not read.
    """

    def __init__(self, dataset: Dataset, maker: int | None) -> None:
        self.dataset, self.maker = dataset, maker
        self._materials: dict[int | None, Material] = {}

    @cached_property
    def has_few_captions(self) -> bool:
        return self.dataset.captions.order_by()[:MAX_CAPTIONS].count() < MAX_CAPTIONS

    @cached_property
    def has_only_texts(self) -> bool:
        return has_only_source_texts(self.dataset)

    def material(self, max_rank: int | None) -> Material:
        """Return the contents, with ranked lists up to ``max_rank`` (``load_material``)."""
        if max_rank not in self._materials:
            self._materials[max_rank] = load_material(self.dataset, max_rank=max_rank, maker=self.maker)
        return self._materials[max_rank]


class DesignFitter:
    """A design that is fitted to its dataset. The fitting is done when the object is created.

    Attributes:
        values: the fitted design as nested dicts, as in a study file.
        sentences: sentences for the designer about the changes.
        checks_per_page: number of check questions that a page should have.
        item_count: number of judged items; 0 if the design cannot be drawn.
        pages_before_repeat: number of pages that a worker can do before a check question repeats.
    """

    def __init__(
        self,
        values: dict[str, Any],
        reader: DatasetReader,
        *,
        per_hit: int | None = None,
        repeating: bool = False,
    ) -> None:
        """Fit the design ``values``.

        Args:
            per_hit: number of check questions per page; None for the number that suits the study's purpose.
            repeating: whether check questions only repeat items.
        """
        self.values = deepcopy(values) | {"dataset": reader.dataset.name}
        self.dataset, self.reader, self.purpose = reader.dataset, reader, values.get("purpose", "")
        self.sentences: list[str] = []
        self.item_count = self.pages_before_repeat = 0
        self.fit_requirements()
        self.fit_source()
        self.checks_per_page = self.fit_purpose(per_hit)
        if repeating:  # even careful people may answer a hard item differently the second time
            self.values["controls"] |= {"kinds": [REPEATED], "threshold": MIN_EQUAL_SHARE}
        with suppress(DesignError):  # other errors are shown next to their fields
            if reader.has_few_captions:
                self.fit_to_material()

    def has_enough_checks(self) -> bool:
        """Return whether a participant gets enough check questions to distinguish careful answers from guesses.

        From ``usual_least`` questions on, careful participants are hardly ever below the pass mark.
        """
        controls = Controls(**self.values["controls"])
        is_grouped = KINDS[self.values["protocol"]].grouped
        # a check question of a grouped kind is an item with several texts, each with an answer
        answers_per_check = self.values["captions_per_image"] if is_grouped else 1
        answers = self.pages_before_repeat * controls.per_hit * answers_per_check
        return answers >= max(controls.least, usual_least(controls.threshold))

    def design(self) -> StudyDesign:
        # placeholders, if the designer has not chosen the names yet
        names = {key: self.values[key] or "open" for key in ("name", "slug")}
        return make_design(self.values | names)

    def fit_requirements(self) -> None:
        """Clear a preset's requirements if they include approved work and people join by a link.

        Such people have no record of approved work yet.
        """
        workers = self.values["workers"]
        preset = REQUIREMENT_PRESETS.get(workers["requirements"])
        if (
            preset is None
            or self.values["crowd"]["backend"] != "local"
            or "approved_at_least" not in preset.values
        ):
            return
        defaults = Workers().model_dump(mode="json")
        cleared_values = {key: defaults[key] for key in preset.values}
        self.values["workers"] = workers | cleared_values | {"requirements": ""}
        self.sentences.append(
            gettext(
                "The requirements of the paper (%(title)s) are off, because there is no record of "
                "earlier approved work for participants who join by the link. You can turn the "
                "requirements on under “Participants”."
            )
            % {"title": gettext(preset.title)}
        )

    def fit_source(self) -> None:
        """If the items have source texts and no pictures, set the type of judged text and show the source texts."""
        kind = KINDS[self.values["protocol"]]
        if (
            self.values["judged"] != CAPTION
            or self.values["source"]["show"]
            or not can_ask_about_texts(kind)
            or not self.reader.has_only_texts
        ):
            return
        self.values["judged"] = judged_text_type(self.dataset)
        if not kind.page.shows_picture:
            return
        if self.values["preset"] in PRESETS:
            self.values["instructions"] = ""  # the built-in instructions are about captions and images
        self.values["source"] = self.values["source"] | {"show": True}
        self.values["question"] = kind.question_for(self.values)
        self.sentences.append(
            gettext(
                "Participants see the source texts. The wording of the page was chosen to suit "
                "your data. You can change the wording under “Item content”."
            )
        )

    def fit_purpose(self, per_hit: int | None) -> int:
        """Set the numbers of answers and check questions for the study's purpose.

        Return the number of check questions per page: ``per_hit`` or, if it is None, the purpose's or the design's.
        """
        purpose = PURPOSES.get(self.purpose)
        kind, controls = KINDS[self.values["protocol"]], self.values["controls"]
        # a kind of open answers, such as written captions, gets check questions only if its design has some already
        if purpose is not None and (not kind.is_open or controls["per_hit"]):
            controls["per_hit"] = purpose.checks_per_hit
        if per_hit is not None:
            controls["per_hit"] = per_hit
        if purpose is None:
            return int(controls["per_hit"])
        answers = purpose.judgments_per_unit
        self.values["judgments_per_unit"] = answers
        if self.purpose == "labels" and kind.aggregation.supports_early_stopping:
            self.values["stopping"]["rule"] = "settled"
        self.sentences.append(
            ngettext(
                "For your aim, each item gets %(answers)s answer. Check questions on each page of "
                "work: %(checks)s.",
                "For your aim, each item gets %(answers)s answers. Check questions on each page of "
                "work: %(checks)s.",
                answers,
            )
            % {"answers": answers, "checks": controls["per_hit"]}
        )
        return int(controls["per_hit"])

    def fit_to_material(self) -> None:
        """Fit what the design draws from the dataset. Check questions come last, since they depend on all the rest."""
        design = self.design()
        material = self.reader.material(design.sampling.k)
        self.fit_splits(material)
        kind = KINDS[design.protocol]
        if kind.compares_pairs:
            self.fit_pairs(material)
        if kind.judges_one_caption:
            self.fit_captions(material)
        if kind.min_options:
            self.fit_options(material)
        self.fit_controls(material)

    def fit_splits(self, material: Material) -> None:
        """Replace the split to sample, if it is missing, by the largest, and that of checks by the split to sample."""
        sizes = Counter(image.split for image in material.images if image.split)
        sampling, controls = self.values["sampling"], self.values["controls"]
        if not sizes:
            return
        if not sizes[sampling["split"]]:
            other_splits = [split for split, _ in sizes.most_common() if split != controls["split"]]
            missing_split = sampling["split"]
            sampling["split"] = next(iter(other_splits or sizes))  # a single split serves both purposes
            self.sentences.append(
                gettext("The split %(sampling)r is used, because the dataset has no split %(asked)r.")
                % {"sampling": sampling["split"], "asked": missing_split}
            )
        if not sizes[controls["split"]]:
            controls["split"] = sampling["split"]

    def fit_pairs(self, material: Material) -> None:
        """Set the number of pairs of each kind, or of an arena, to what can be sampled from the dataset."""
        design = self.design()
        work_material, _ = divide_for_quiz(design, material)
        images = divide_images(design, work_material).judged_images
        sampling = self.values["sampling"]
        # numbers of pairs by kind: those of the design; if systems are to be compared, every two systems on each image
        requested_counts = {str(kind): count for kind, count in design.sampling.pairs.items() if count}
        if self.purpose in ("systems", "ranking") and count_pairs_of_systems(images):
            requested_counts = {"MM": count_pairs_of_systems(images)}
        wanted_counts = requested_counts or dict.fromkeys(PAIR_LABELS, DEFAULT_PER_KIND)
        # pairs are made from texts of the dataset unless it has published pairs
        if not work_material.published_pairs or sampling["source"] == "references":
            asks_once = KINDS[design.protocol].page.shows_picture  # otherwise, once for each reference
            wanted_counts = _pairs_per_image(wanted_counts, requested_counts, images, asks_once=asks_once)
        pair_counts = self._count_available_pairs(design, work_material, images, wanted_counts)
        if not any(pair_counts.values()):
            return
        # an arena samples its pairs while it runs, so only their number is set
        if self.purpose == "ranking" and pair_counts["MM"] and is_arena_on():
            sampling["pairs"] = {"MM": pair_counts["MM"]}
            pages = ceil(ARENA_JUDGMENTS_PER_PAIR * pair_counts["MM"] / self.values["units_per_hit"])
            self.values["arena"] = {"pages": pages, "even": Arena().even}
            return
        # keep a 0 for a kind that the design names, so that the form shows its field
        designed_kinds = {str(name) for name in design.sampling.pairs}
        sampling["pairs"] = {
            kind: pair_counts.get(kind, 0)
            for kind in PAIR_LABELS
            if kind in designed_kinds or pair_counts.get(kind)
        }
        if any(pair_counts[name] < count for name, count in requested_counts.items()):
            self.sentences.append(_pairs_sentence(requested_counts, pair_counts))

    def _count_available_pairs(
        self, design: StudyDesign, material: Material, images: Sequence[Image], wanted_counts: dict[str, int]
    ) -> dict[str, int]:
        """Return the number of pairs of each kind that can be sampled, at most the wanted number.

        If the references do not suffice for all pairs, set the design to use every reference of an item.
        """
        references = design.sampling.references
        options: dict[str, Any] = {
            "source": design.sampling.source,
            "seed": design.seed,
            "allow_no_references": KINDS[design.protocol].page.shows_picture,  # as in ``draw_batch``
        }
        counts = count_pairs(material, images, pair_counts=wanted_counts, references=references, **options)
        if references == "all" or sum(counts.values()) >= sum(wanted_counts.values()):
            return counts
        larger_counts = count_pairs(material, images, pair_counts=wanted_counts, references="all", **options)
        if sum(larger_counts.values()) <= sum(counts.values()):
            return counts
        self.values["sampling"]["references"] = "all"
        self.sentences.append(
            gettext(
                "Each pair is compared with all other references of its item, because there are fewer "
                "references than the preset asks for (%(references)s)."
            )
            % {"references": references}
        )
        return larger_counts

    def fit_captions(self, material: Material) -> None:
        """If the dataset lacks the captions to judge, choose captions of systems or, if it has none, of people.

        Also switch the filter off if some items have no references.
        """
        sampling, filter_ = self.values["sampling"], self.values["filter"]
        has_outputs = any(image.outputs for image in material.images)
        has_retrievals = any(image.retrievals for image in material.images)
        source, task = sampling["pairs_from"], sampling["task"]
        has_lists = (task != "search" and has_outputs) or (task != "annotation" and has_retrievals)
        lacks_lists = source == "top-k" and not has_lists
        lacks_outputs = source in ("outputs", "crossed") and not has_outputs
        if lacks_lists or lacks_outputs:
            if has_outputs:
                sampling["pairs_from"] = "outputs"
                judged_texts = gettext("the captions of each system")
                sentence = gettext("The dataset has no ranked lists. Participants judge %(what)s instead.")
            else:
                sampling["pairs_from"] = "references"
                judged_texts = gettext("people's texts, with texts of other items")
                sentence = gettext("The dataset has no systems. Participants judge %(what)s instead.")
            self.sentences.append(sentence % {"what": judged_texts})
        if filter_["bleu_pre"] and any(not image.references for image in material.images):
            filter_["bleu_pre"], filter_["audit"] = 0.0, 0
            self.sentences.append(
                gettext("The filter is off, because some items have no references to compare with.")
            )

    def fit_options(self, material: Material) -> None:
        """Lower the number of texts that are shown together to the most that an item has."""
        design = self.design()
        judged_images = divide_images(design, material).judged_images
        text_counts = [len({text.text for _, text in image.outputs}) for image in judged_images]
        max_options = max(text_counts, default=0)
        option_count = design.sampling.options
        if isinstance(option_count, int) and KINDS[design.protocol].min_options <= max_options < option_count:
            self.values["sampling"]["options"] = max_options
            self.sentences.append(
                ngettext(
                    "One text is shown, because no item has more texts by systems.",
                    "%(most)s texts are shown together, because no item has more texts by systems.",
                    max_options,
                )
                % {"most": max_options}
            )

    def fit_controls(self, material: Material) -> None:
        """Lower the number of check questions until the design can be drawn, and count the judged items."""
        controls = self.values["controls"]
        # each failure takes one check question away or, once, the filter
        for _ in range(self.checks_per_page + 2):
            design = self.design()
            # fill up small groups of texts only for a filter, or so that check questions do not differ by their size
            if not (design.filter.bleu_pre or needs_split(design)):
                self.values["filter"]["fill_to"] = 0
                design = self.design()
            try:
                kind = KINDS[design.protocol].for_design(design)
                work_material, _ = divide_for_quiz(design, material)
                batch = kind.draw_batch(design, work_material)
            except DesignError as error:
                if error.field.startswith("controls") and controls["per_hit"]:
                    controls["per_hit"] -= 1
                elif error.field == "filter.bleu_pre" and design.filter.bleu_pre:
                    self.values["filter"]["bleu_pre"] = 0.0
                    self.sentences.append(gettext("The filter is off, because no text would pass it."))
                else:
                    return
            else:
                self.pages_before_repeat = count_control_pool(batch.hits, grouped=kind.grouped).lasts
                # an arena's units are in the pool; filtered texts only fill up a small group of an item's texts
                units = chain(batch.pool, *(hit.units for hit in batch.hits))
                self.item_count = sum(not (unit.control or unit.filtered) for unit in units)
                if 0 < (check_count := controls["per_hit"]) < self.checks_per_page:
                    fewer_checks = gettext(
                        "Check questions on each page: %(n)s instead of %(checks)s, because the "
                        "dataset has too few items."
                    )
                    self.sentences.append(fewer_checks % {"n": check_count, "checks": self.checks_per_page})
                return


def _pairs_per_image(
    pair_counts: Mapping[str, int],
    requested_counts: Mapping[str, int],
    images: Sequence[Image],
    *,
    asks_once: bool,
) -> dict[str, int]:
    """Return the number of pairs of each kind, at most one per image, so that no kind outweighs the others.

    Args:
        requested_counts: the numbers of pairs that the design states; a kind may be missing.
        asks_once: whether a pair is one question. If so, every two systems (MM) may be compared on every image.
    """
    pairs = {name: min(count, max(1, len(images))) for name, count in pair_counts.items()}
    if "MM" in pairs and asks_once:
        all_pairs = count_pairs_of_systems(images)
        pairs["MM"] = min(requested_counts.get("MM", all_pairs), all_pairs)
    return pairs


def _pairs_sentence(requested_counts: Mapping[str, int], counts: Mapping[str, int]) -> str:
    pair_phrases = "; ".join(
        f"{counts[name]} × {gettext(PAIR_LABELS[name])} ({name})" for name in requested_counts if counts[name]
    )
    listed_counts = ", ".join(thousands(count) for count in sorted(set(requested_counts.values())))
    sentence = gettext(
        "Pairs that can be sampled from this dataset: %(listed)s. Pairs of each kind that the preset asks for: %(of)s."
    )
    return sentence % {"listed": pair_phrases, "of": listed_counts}
