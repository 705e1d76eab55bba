"""Cut a design to what its dataset has, so that a new design does not begin with an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext, gettext_noop, ngettext

from common.amounts import thousands
from common.errors import DesignError
from judgments.access.roles import Person
from judgments.design.arena import draws_arenas
from judgments.design.reading import PRESETS, Preset, make_design
from judgments.design.requirements import REQUIREMENT_PRESETS, Workers
from judgments.design.study_design import PURPOSES, StudyDesign
from judgments.design.tables.controls import Controls, usual_least
from judgments.design.tables.sampling import Arena
from judgments.design.wordings import CAPTION
from judgments.drawing.controls.pool import pool_of
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.material import Image, Material
from judgments.drawing.pairs.drawing import DEFAULT_PER_KIND, contests_of_systems, count_pairs
from judgments.kinds import KINDS, Kind
from judgments.models import Caption, Dataset, Item, Output, System
from judgments.studies.generation.batches import divide_for_quiz
from judgments.studies.generation.material import load_material

ROUNDS = 3  # judgments of each pair that an arena is opened for
CHECKS = 2  # on a page
MOST_CAPTIONS = 200_000  # of a dataset that is drawn from while somebody waits for the page
PAIR_WORDS = {
    "HC": gettext_noop("two people's captions of an image"),
    "HI": gettext_noop("a caption and one of another image"),
    "HM": gettext_noop("a person and a system"),
    "MM": gettext_noop("two systems"),
}


@dataclass(frozen=True, slots=True)
class Holdings:
    """Counts of a dataset; ``systems`` are those that the person may draw from."""

    images: int
    pictures: int
    captioned: int
    captions: int
    texts: int
    boxes: int
    systems: int
    pairs: int

    def missing_for(self, preset: Preset) -> str:
        """Return what a preset needs and the dataset lacks; "" if nothing."""
        kind, shows_text = KINDS[preset.values["protocol"]], bool(preset.values.get("source", {}).get("show"))
        return self._missing_to_show(kind, shows_text) or self._missing_to_judge(kind)

    def _missing_to_show(self, kind: Kind, shows_text: bool) -> str:
        if shows_text and self.texts < self.images:
            return self._short(gettext("Needs a source text for each item"), self.texts)
        if "texts" in kind.needs and not self.texts:
            return self._short(gettext("Needs a text with each picture"), self.texts)
        if "boxes" in kind.needs and not (self.boxes and self.captions):
            return self._short(gettext("Needs pictures with labelled boxes and a caption"), self.boxes)
        can_show_text = "text" in kind.wordings and not kind.no_source and self.texts == self.images
        if kind.page.shows_picture and not (self.pictures or can_show_text or shows_text):
            return self._short(gettext("Needs a picture for each item"), self.pictures)
        return ""

    def _missing_to_judge(self, kind: Kind) -> str:
        two_captions = self.captions > self.captioned
        if self.systems < kind.least_options:
            return gettext("Needs at least %(least)d systems; the dataset has %(systems)d.") % {
                "least": kind.least_options,
                "systems": self.systems,
            }
        if kind.compares_pairs and not (
            self.pairs or self.systems > 1 or two_captions or (self.systems and self.captions)
        ):
            return self._short(gettext("Needs two captions for each item, by people or systems"), 0)
        if kind.compares_pairs and not kind.page.shows_picture and not self.captions:
            return self._short(gettext("Needs people's captions to compare with"), self.captioned)
        if kind.judges_one_caption and not (self.systems or self.captions):
            return self._short(gettext("Needs captions by people or systems"), 0)
        return ""

    def _short(self, needs: str, there: int) -> str:
        return ngettext(
            "%(needs)s; %(there)s of %(n)s item has it.",
            "%(needs)s; %(there)s of %(n)s items have it.",
            self.images,
        ) % {"needs": needs, "there": thousands(there), "n": thousands(self.images)}


def holdings_of(dataset: Dataset, person: Person) -> Holdings:
    """Count in four queries."""
    items = Item.objects.filter(dataset=dataset).aggregate(
        images=Count("pk"),
        pictures=Count("pk", filter=~Q(picture="") | ~Q(url="")),
        texts=Count("pk", filter=~Q(text="")),
        boxes=Count("pk", filter=~Q(boxes=[])),
    )
    references = Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE)
    captions = references.aggregate(captions=Count("pk"), captioned=Count("item", distinct=True))
    systems = System.objects.filter(dataset=dataset, human=False).open_to(person.pk)
    with_outputs = Output.objects.filter(system__in=systems).order_by().values("system").distinct()
    return Holdings(**items, **captions, systems=with_outputs.count(), pairs=dataset.published_pairs.count())


def shows_texts_alone(dataset: Dataset) -> bool:
    """Return whether each item has a source text, and none a picture."""
    items = dataset.items.order_by()
    return items.exists() and not items.filter(~Q(picture="") | ~Q(url="") | Q(text="")).exists()


def fit_to_dataset(
    values: dict[str, Any], dataset: Dataset, *, maker: int | None, untouched: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return the values cut to the dataset, and sentences about what was cut.

    Args:
        values: a complete design; name and slug may be empty.
        maker: row id of the study's maker: others' unpublished systems are not drawn from.
        untouched: whether the values are a preset's. Where its paper does not give a number of check questions, there
            are some if they suffice to tell care from guessing.
    """
    preset = PRESETS.get(values["preset"]) if untouched and not values["controls"]["per_hit"] else None
    if preset and "controls.per_hit" in preset.ours and KINDS[values["protocol"]].compares_pairs:
        checked = _Fitting(values | {"controls": values["controls"] | {"per_hit": CHECKS}}, dataset, maker)
        fitted, sentences = checked.result()
        rule = Controls(**fitted["controls"])
        if checked.lasts * rule.per_hit >= max(rule.least, usual_least(rule.threshold)):
            about = gettext("Check questions on each page of work: %(n)s. The paper does not give a number.")
            return fitted, [*sentences, about % {"n": CHECKS}]
    return _Fitting(values, dataset, maker).result()


class _Fitting:
    def __init__(self, values: dict[str, Any], dataset: Dataset, maker: int | None) -> None:
        self.values = deepcopy(values) | {"dataset": dataset.name}
        self.dataset, self.maker, self.purpose = dataset, maker, values.get("purpose", "")
        self.sentences: list[str] = []
        self.lasts = 0  # pages of work before a check question comes again

    def result(self) -> tuple[dict[str, Any], list[str]]:
        self.fit_requirements()
        self.fit_source()
        self.fit_purpose()
        few = self.dataset.captions.order_by()[:MOST_CAPTIONS].count() < MOST_CAPTIONS
        with suppress(DesignError):  # what is wrong by itself is said beside its field
            if few:
                self.to_material()
        return self.values, self.sentences

    def design(self) -> StudyDesign:
        names = {key: self.values[key] or "open" for key in ("name", "slug")}
        return make_design(self.values | names)

    def fit_requirements(self) -> None:
        """Clear requirements for a paid crowd: people who come by the link have no record here."""
        workers = self.values["workers"]
        preset = REQUIREMENT_PRESETS.get(workers["requirements"])
        if (
            preset is None
            or self.values["crowd"]["backend"] != "local"
            or "approved_at_least" not in preset.values
        ):
            return
        nothing = Workers().model_dump(mode="json")
        self.values["workers"] = workers | {"requirements": ""} | {key: nothing[key] for key in preset.values}
        self.sentences.append(
            gettext(
                "The paper's requirements (%(title)s) are off: participants who join by the link have no "
                "record of approved work. You can change this under “People”."
            )
            % {"title": gettext(preset.title)}
        )

    def fit_source(self) -> None:
        """Show source texts where there are no pictures, and ask about texts."""
        kind = KINDS[self.values["protocol"]]
        if not (kind.page.shows_picture and "text" in kind.wordings and not kind.no_source):
            return
        if (
            self.values["judged"] != CAPTION
            or self.values["source"]["show"]
            or not shows_texts_alone(self.dataset)
        ):
            return
        self.values["judged"] = "text"
        if self.values["preset"] in PRESETS:
            self.values["instructions"] = ""  # about captions and images
        self.values["source"] = self.values["source"] | {"show": True}
        self.values["question"] = kind.question_for(self.values)
        self.sentences.append(
            gettext(
                "Participants see the source texts, as the dataset has no pictures. The judged texts are "
                "called “texts”; under “What is judged” you can choose translations or summaries."
            )
        )

    def fit_purpose(self) -> None:
        """Set how many answers and check questions the purpose takes, and how pairs are asked about."""
        purpose, kind = PURPOSES.get(self.purpose), KINDS[self.values["protocol"]]
        if purpose is None:
            return
        answers, checks = purpose.judgments_per_unit, purpose.checks_per_hit
        self.values["judgments_per_unit"] = answers
        if not kind.is_open or self.values["controls"]["per_hit"]:
            self.values["controls"]["per_hit"] = checks
        if self.purpose == "labels" and kind.aggregation.settles:
            self.values["stopping"]["rule"] = "settled"
        self.sentences.append(
            ngettext(
                "For your aim: %(answers)s answer to each item. Check questions on each page of work: %(checks)s.",
                "For your aim: %(answers)s answers to each item. Check questions on each page of work: %(checks)s.",
                answers,
            )
            % {"answers": answers, "checks": self.values["controls"]["per_hit"]}
        )

    def to_material(self) -> None:
        design = self.design()
        material = load_material(self.dataset, ranked=design.sampling.k, maker=self.maker)
        self.fit_splits(material)
        kind = KINDS[design.protocol]
        if kind.compares_pairs:
            self.fit_pairs(material)
        if kind.judges_one_caption:
            self.fit_captions(material)
        if kind.least_options:
            self.fit_options(material)
        self.fit_controls(material)

    def fit_splits(self, material: Material) -> None:
        sizes = Counter(image.split for image in material.images if image.split)
        sampling, controls = self.values["sampling"], self.values["controls"]
        if not sizes:
            return
        if not sizes[sampling["split"]]:
            others = [split for split, _ in sizes.most_common() if split != controls["split"]]
            missing, sampling["split"] = sampling["split"], (others or list(sizes))[0]
            self.sentences.append(
                gettext("The split %(sampling)r is used, as the dataset has no split %(asked)r.")
                % {"sampling": sampling["split"], "asked": missing}
            )
        if not sizes[controls["split"]]:
            controls["split"] = sampling["split"]

    def fit_pairs(self, material: Material) -> None:
        design = self.design()
        rest, _ = divide_for_quiz(design, material)
        images = divide_images(design, rest).judged
        sampling = self.values["sampling"]
        bare = KINDS[design.protocol].page.shows_picture
        requested = {str(name): count for name, count in design.sampling.pairs.items() if count}
        if self.purpose in ("systems", "ranking") and contests_of_systems(images):
            requested = {"MM": contests_of_systems(images)}
        wanted = requested or dict.fromkeys(PAIR_WORDS, DEFAULT_PER_KIND)
        if not rest.published or sampling["source"] == "references":
            wanted = _one_an_image(wanted, requested, images, systems_meet=bare)
        references = design.sampling.references
        drawing: dict[str, Any] = {"source": design.sampling.source, "seed": design.seed, "bare": bare}
        there = count_pairs(rest, images, wanted=wanted, references=references, **drawing)
        if references != "all" and sum(there.values()) < sum(wanted.values()):
            whole = count_pairs(rest, images, wanted=wanted, references="all", **drawing)
            if sum(whole.values()) > sum(there.values()):
                there, sampling["references"] = whole, "all"
                self.sentences.append(
                    gettext(
                        "Each pair is compared with all other captions of its image, which are fewer than "
                        "the %(references)s of the preset."
                    )
                    % {"references": references}
                )
        if not any(there.values()):
            return
        if self.purpose == "ranking" and there["MM"] and draws_arenas():
            sampling["pairs"] = {"MM": there["MM"]}
            pages = -(-ROUNDS * there["MM"] // self.values["units_per_hit"])
            self.values["arena"] = {"pages": pages, "even": Arena().even}
            return
        named = {str(name) for name in design.sampling.pairs}
        sampling["pairs"] = {
            name: there.get(name, 0) for name in PAIR_WORDS if name in named or there.get(name)
        }
        if any(there[name] < count for name, count in requested.items()):
            self.sentences.append(_pairs_sentence(requested, there))

    def fit_captions(self, material: Material) -> None:
        """Judge ranked lists, else systems' texts, else people's captions."""
        sampling, filter_ = self.values["sampling"], self.values["filter"]
        outputs = any(image.outputs for image in material.images)
        retrieved = any(image.retrieved for image in material.images)
        source = sampling["pairs_from"]
        lists = {"annotation": outputs, "search": retrieved, "both": outputs or retrieved}[sampling["task"]]
        if (source == "top-k" and not lists) or (source in ("outputs", "crossed") and not outputs):
            sampling["pairs_from"] = "outputs" if outputs else "references"
            what = (
                gettext("the captions of each system")
                if outputs
                else gettext("people's captions, with captions of other images")
            )
            self.sentences.append(
                (
                    gettext("To be judged: %(what)s, as the dataset has no ranked lists.")
                    if source == "top-k" and outputs
                    else gettext("To be judged: %(what)s, as the dataset has no systems.")
                )
                % {"what": what}
            )
        if filter_["bleu_pre"] and any(not image.references for image in material.images):
            filter_["bleu_pre"], filter_["audit"] = 0.0, 0
            self.sentences.append(
                gettext("The filter is off, as some images have no captions by people to compare with.")
            )

    def fit_options(self, material: Material) -> None:
        design = self.design()
        most = max(
            (
                len({text.text for _, text in image.outputs})
                for image in divide_images(design, material).judged
            ),
            default=0,
        )
        requested = design.sampling.options
        if isinstance(requested, int) and KINDS[design.protocol].least_options <= most < requested:
            self.values["sampling"]["options"] = most
            self.sentences.append(
                ngettext(
                    "One caption is shown, as systems gave no more for an image.",
                    "%(most)s captions are shown together, as systems gave no more for an image.",
                    most,
                )
                % {"most": most}
            )

    def fit_controls(self, material: Material) -> None:
        for _ in range(2):
            design = self.design()
            try:
                kind = KINDS[design.protocol].for_design(design)
                batch = kind.draw_batch(design, divide_for_quiz(design, material)[0])
            except DesignError as error:
                if error.field.startswith("controls") and design.controls.per_hit:
                    self.values["controls"]["per_hit"] = 0
                    if not design.filter.bleu_pre:
                        self.values["filter"]["fill_to"] = 0  # groups need not look alike
                    self.sentences.append(
                        gettext(
                            "There are no check questions: the dataset has too few captions to make them of."
                        )
                    )
                elif error.field == "filter.bleu_pre" and design.filter.bleu_pre:
                    self.values["filter"]["bleu_pre"] = 0.0
                    self.sentences.append(gettext("The filter is off, as no caption would pass it."))
                else:
                    return
            else:
                self.lasts = pool_of(batch.hits, grouped=kind.grouped).lasts
                return


def _one_an_image(
    wanted: Mapping[str, int], requested: Mapping[str, int], images: Sequence[Image], *, systems_meet: bool
) -> dict[str, int]:
    """Return a pair of each kind for an image, so that no kind outweighs the others."""
    pairs = {name: min(count, max(1, len(images))) for name, count in wanted.items()}
    if "MM" in pairs and systems_meet:  # on all images
        contests = contests_of_systems(images)
        pairs["MM"] = min(requested.get("MM", contests), contests)
    return pairs


def _pairs_sentence(requested: Mapping[str, int], there: Mapping[str, int]) -> str:
    listed = "; ".join(
        f"{there[name]} × {gettext(PAIR_WORDS[name])} ({name})" for name in requested if there[name]
    )
    of = ", ".join(thousands(count) for count in sorted(set(requested.values())))
    sentence = gettext("Pairs: %(listed)s. The preset has %(of)s of each kind.")
    return sentence % {"listed": listed, "of": of}
