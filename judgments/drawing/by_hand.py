"""Apply a design's manual changes to a draw: items removed, shown differently, or moved to pages made by hand.

Every draw of the design applies the changes in order, so dataset, design and seed still determine the pages of work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from common.errors import DesignError
from common.texts import one_text
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.controls.makers import REPEATED, texts_by_wording
from judgments.drawing.keys import content_key, text_key
from judgments.drawing.material import Batch, HITSpec, Image, Material, Pair, Text, UnitSpec, screen_of

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign
    from judgments.design.tables.sampling import HandChange
    from judgments.kinds import Kind

CAPTION_FIELDS = ("reference", "first", "second")


def shown_texts(unit: Any) -> dict[str, str]:
    """Return the texts that a ``Unit`` row or a ``UnitSpec`` shows, by their keys in ``HandChange.texts``.

    For example, a pair shows {"first": "A dog.", "second": "A cat."}. A list of captions has the keys option1, option2
    and so on.
    """
    texts: dict[str, str] = {}
    for name in CAPTION_FIELDS:
        caption = getattr(unit, name)
        if caption is not None:
            texts[name] = caption.text
    for number, option in enumerate(unit.content.get("options", ()), start=1):
        texts[f"option{number}"] = option["text"]
    if "text" in unit.content:
        texts["text"] = unit.content["text"]
    return texts | unit.content.get("fields", {})


def apply_by_hand(batch: Batch, design: StudyDesign, material: Material, kind: Kind) -> Batch:
    """Return the draw after the changes of ``design.by_hand``.

    Raises:
        DesignError: a change names an item that was not drawn or does not exist, or no item is left.
    """
    if not design.by_hand:
        return batch
    draw = _ChangedDraw(batch, design, material, kind)
    for number, change in enumerate(design.by_hand, start=1):
        try:
            draw.apply(change)
        except ValueError as error:
            details = {"number": number, "item": change.item, "problem": error}
            problem = gettext("by_hand: change %(number)d of item %(item)r: %(problem)s.") % details
            raise DesignError(problem, field="by_hand") from None
    return draw.batch()


class _ChangedDraw:
    """The pages of a draw, to which changes are applied one after the other.

    Pages have numbers: the drawn ones 1, 2 and so on, and those made by hand -1, -2 and so on.
    """

    def __init__(self, batch: Batch, design: StudyDesign, material: Material, kind: Kind) -> None:
        self._batch, self._design, self._kind = batch, design, kind
        self._images = {image.name: image for image in material.images}
        self._texts = texts_by_wording(material.images)
        self._new_texts: dict[str, Text] = {}
        self._pages = {number: list(hit.units) for number, hit in enumerate(batch.hits, start=1)}
        self._page_of = {unit.key: number for number, units in self._pages.items() for unit in units}
        self._changed_pages: set[int] = set()
        self._pairs = {pair.key: pair for pair in batch.pairs}

    def apply(self, change: HandChange) -> None:
        """Apply a change, or raise ValueError with the reason."""
        page = self._page_of.get(change.item)
        if page is None:
            raise ValueError(
                gettext(
                    "the current settings do not generate this item; undo the changes that were made by hand, "
                    "or restore the earlier settings"
                )
            )
        unit = next(unit for unit in self._pages[page] if unit.key == change.item)
        texts, image = self._changed_texts(unit, change)
        if "document" in unit.content:
            raise ValueError(
                gettext(
                    "the item is part of a document; single items of a document cannot be changed, moved or removed"
                )
            )
        if change.hit and unit.control_kind == REPEATED:
            raise ValueError(
                gettext(
                    "the item is a check question that repeats another item of its page of work, so it cannot "
                    "be moved; move the other item instead"
                )
            )
        if change.out:
            self._exchange_unit(page, unit, None)
        elif texts or image:
            self._change_content(page, unit, texts, image, hand_page=change.hit)
        elif change.hit:
            self._exchange_unit(page, unit, None)
            self._add_unit(-change.hit, unit)
        else:
            raise ValueError(gettext("the change has no effect: the item stays the same"))

    def _change_content(
        self, page: int, unit: UnitSpec, texts: dict[str, str], image: Image | None, *, hand_page: int
    ) -> None:
        """Replace texts of a unit, and the image of all units that are shown with it, unless it is None.

        ``hand_page`` is the number, from 1, of the page made by hand that gets the changed copies while ``page`` keeps
        the originals; 0 to change the units on ``page``.
        """
        if unit.control:
            raise ValueError(
                gettext(
                    "the right answer of the item depends on its content, so the content cannot "
                    "be changed; remove the item, and add a known item under controls.known"
                )
            )
        for old_unit in self._units_shown_with(page, unit) if image else [unit]:
            new_texts = shown_texts(old_unit) | (texts if old_unit is unit else {})
            new_unit = self._changed_unit(old_unit, image or self._images[unit.image], new_texts, hand_page)
            if new_unit.key in self._page_of:
                raise ValueError(gettext("the study already has the same item"))
            if hand_page:
                self._add_unit(-hand_page, new_unit)
            else:
                self._exchange_unit(page, old_unit, new_unit)

    def _changed_texts(self, unit: UnitSpec, change: HandChange) -> tuple[dict[str, str], Image | None]:
        """Return the texts that differ after a change, and the new image; None if the change keeps the image.

        Raises:
            ValueError: the unit has no such text, a text is empty, or the dataset has no suitable image.
        """
        old_texts = shown_texts(unit)
        for name, text in change.texts.items():
            if name not in old_texts:
                details = {"name": name, "names": ", ".join(old_texts) or gettext("none")}
                raise ValueError(gettext("the item has no text %(name)r; expected %(names)s") % details)
            if not text and old_texts[name]:
                raise ValueError(gettext("the text %(name)r is empty") % {"name": name})
        image = self._images.get(change.image) if change.image != unit.image else None
        if change.image and change.image not in self._images:
            raise ValueError(gettext("the dataset has no item %(image)r") % {"image": change.image})
        if image is not None and "boxes" in unit.content and not image.boxes:
            raise ValueError(gettext("item %(image)r has no labelled boxes") % {"image": image.name})
        texts = {
            name: text for name, text in change.texts.items() if one_text(text) != one_text(old_texts[name])
        }
        return texts, image

    def _units_shown_with(self, page: int, unit: UnitSpec) -> list[UnitSpec]:
        """Return ``unit`` and the units of its group, or of its screen, which share its picture."""
        return [
            page_unit
            for page_unit in self._pages[page]
            if page_unit is unit
            or (self._kind.grouped and page_unit.image == unit.image and not page_unit.control)
            or (screen_of(unit) is not None and screen_of(page_unit) == screen_of(unit))
        ]

    def _changed_unit(self, unit: UnitSpec, image: Image, texts: dict[str, str], hand_page: int) -> UnitSpec:
        """Return a copy of a unit with this image and these texts. ``hand_page`` is as for ``_change_content``."""
        content = dict(unit.content)
        texts_of_image = texts_by_wording([image])
        texts_by_name = {name: self._find_or_make_text(text, texts_of_image) for name, text in texts.items()}
        if "options" in content:
            options = [text for name, text in texts_by_name.items() if name.startswith("option")]
            content["options"] = [{"key": text.key, "text": text.text} for text in options]
        if "boxes" in content:
            content["boxes"] = [dict(box) for box in image.boxes]
        if "text" in content:
            # the phrases of several words that the page offers as keywords, unless the new text lacks them
            phrases = [phrase for phrase in content["collocations"] if phrase in texts["text"]]
            content |= {"text": texts["text"], "collocations": phrases}
        if "fields" in content:
            content["fields"] = {name: texts[name] for name in content["fields"]}
        captions: dict[str, Any] = {name: texts_by_name[name] for name in CAPTION_FIELDS if name in texts}
        key = content_key("by hand", self._design.seed, unit.key, hand_page, image.name, texts)
        fields = captions | {"key": key, "image": image.name, "content": content}
        # the design's filter of captions did not score the new texts
        new_unit = replace(unit, filtered=False, audited=False, **fields)
        return self._with_new_pair(new_unit, image) if unit.pair else new_unit

    def _find_or_make_text(self, text: str, texts_of_image: dict[str, Text]) -> Text:
        """Return the text of the image or of the dataset with this wording, or else a new text."""
        wording = one_text(text)
        stored_text = texts_of_image.get(wording) or self._texts.get(wording)
        return stored_text or self._new_texts.setdefault(wording, Text(text_key(text), text))

    def _with_new_pair(self, unit: UnitSpec, image: Image) -> UnitSpec:
        """Add a new pair for the changed unit, and return the unit with it.

        Credit no systems, unless only the reference was changed.
        """
        old_pair = self._pairs[unit.pair]
        changes: dict[str, Any] = {
            "image": image.name,
            "references": tuple(text.key for text in image.references),
        }
        if (old_pair.image, old_pair.first, old_pair.second) != (image.name, unit.first, unit.second):
            changes |= {"kind": "", "first_system": None, "second_system": None}
            changes |= {"first": unit.first, "second": unit.second}
        pair = replace(old_pair, key=content_key("by hand", unit.key), **changes)
        self._pairs[pair.key] = pair
        return replace(unit, pair=pair.key, kind=pair.kind)

    def _add_unit(self, page: int, unit: UnitSpec) -> None:
        self._pages.setdefault(page, []).append(unit)
        self._page_of[unit.key] = page
        self._changed_pages.add(page)

    def _exchange_unit(self, page: int, unit: UnitSpec, new_unit: UnitSpec | None) -> None:
        """Replace a unit and its repetition by ``new_unit``, or remove both if ``new_unit`` is None."""
        units, self._pages[page] = self._pages[page], []
        self._changed_pages.add(page)
        for spec in units:
            is_repetition = spec.control_kind == REPEATED and spec.content.get(ORIGINAL_UNIT) == unit.key
            if spec is not unit and not is_repetition:
                self._pages[page].append(spec)
                continue
            del self._page_of[spec.key]
            if new_unit is not None and is_repetition:
                repetition_fields: dict[str, Any] = {
                    "key": content_key("by hand", spec.key, new_unit.key),
                    "content": {**new_unit.content, ORIGINAL_UNIT: new_unit.key},
                }
                control: dict[str, Any] = {"control": True, "control_kind": REPEATED, "kind": "", "pair": ""}
                self._add_unit(page, replace(new_unit, **repetition_fields, **control))
            elif new_unit is not None:
                self._add_unit(page, new_unit)

    def batch(self) -> Batch:
        """Return the changed draw. Raise DesignError if no page has an item left."""
        hits = tuple(self._hits())
        if not hits:
            raise DesignError(
                gettext("by_hand: the changes leave no item on any page of work."), field="by_hand"
            )
        references_by_pair: dict[str, set[str]] = defaultdict(set)  # keys of shown references; "" without one
        for hit in hits:
            for unit in hit.units:
                if unit.pair:
                    references_by_pair[unit.pair].add(unit.reference.key if unit.reference else "")
        shown_pairs = (pair for pair in self._pairs.values() if pair.key in references_by_pair)
        pairs = tuple(_with_references(pair, references_by_pair[pair.key]) for pair in shown_pairs)
        change_count = len(self._design.by_hand)
        sentence = f"Changed by hand after the draw: {change_count} changes, as by_hand names them."
        notes = self._batch.notes | {"sentences": [*self._batch.notes.get("sentences", []), sentence]}
        new_texts = tuple(self._new_texts.values())
        return replace(self._batch, hits=hits, pairs=pairs, notes=notes, new_texts=new_texts)

    def _hits(self) -> Iterator[HITSpec]:
        """Yield the pages in order, pages made by hand last; leave out pages without judged items."""
        for page in sorted(self._pages, key=lambda page: (page < 0, abs(page))):
            units = self._pages[page]
            if page not in self._changed_pages:
                yield self._batch.hits[page - 1]
            elif not all(unit.control for unit in units):
                unit_keys = [unit.key for unit in units]
                key = content_key("hit", self._design.seed, self._kind.name, unit_keys, "by hand")
                yield HITSpec(key=key, units=tuple(units))


def _with_references(pair: Pair, shown_keys: set[str]) -> Pair:
    """Return the pair with only those references that units still show, or with all if units show none."""
    references = tuple(key for key in pair.references if key in shown_keys)
    return replace(pair, references=references or pair.references)
