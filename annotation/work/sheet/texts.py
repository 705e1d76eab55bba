"""The texts of a page of work in the reader's language: texts of the design, of scripts, and about times and pay.

Built-in texts are translated by the message catalogues, even if a design repeats them word for word.
"""

from __future__ import annotations

import math

from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext as _

from judgments.design.study_design import StudyDesign, translate_design
from judgments.models import Study
from judgments.studies.designs import design_of


def translated_text(text: str) -> str:
    """Return a text of the design, stripped, and translated if it is a built-in text."""
    text = text.strip()
    return gettext(text) if text else ""


def read_design(study: Study) -> StudyDesign:
    """Return the design with its texts in the reader's language, if they are translated."""
    return translate_design(design_of(study), get_language())


def script_words(*, pictures: bool) -> dict[str, str]:
    """Return translated sentences by the names that scripts in static/js use. ``pictures``: each step is a picture."""
    return {
        "here": _("Picture {here} of {all}") if pictures else _("{here} of {all}"),
        "later": _("{n} to answer later"),
        "complete": _("All answered"),
        "saving": _("Saving"),
        "saved": _("Saved"),
        "notSaved": _("Not saved"),
        "offlineKept": _("Not saved: no connection. Your answers are kept in this browser."),
        "offlineOpen": _(
            "Not saved: no connection. Your answers are kept only on this page. Leave the page open."
        ),
        "troubleKept": _(
            "Not saved: the server does not answer correctly. Your answers are kept in this browser."
        ),
        "troubleOpen": _(
            "Not saved: the server does not answer correctly. Your answers are kept only on this page. "
            "Leave the page open."
        ),
        "offlineSubmit": _(
            "No connection. Your answers stay on this page. Try again when the connection is back."
        ),
        "advised": _("Not yet submitted: look at the advice first. Then submit again."),
        "troubleSubmit": _(
            "The server does not answer correctly. Your answers stay on this page. Try again."
        ),
        "submitting": _("Submitting"),
        "otherTab": _("Answered in another tab"),
        "extended": _("You have more time now"),
        "over": _("The time is over"),
        "leftMoment": _("less than a minute left"),
        "leftMinutes": _("{minutes} min left"),
        "leftHours": _("{hours} h left"),
        "leftBoth": _("{hours} h {minutes} min left"),
        "leftDays": _("{days} days left"),
    }


def spell_duration(seconds: float) -> str:
    """Return a duration in words, rounded up to minutes as crowds that show it do."""
    if seconds < 60:
        return _("less than a minute")
    return _("about %(time)s") % {"time": _hours_and_minutes(math.ceil(seconds / 60))}


def spell_time_left(seconds: float) -> str:
    """Return the remaining time of a lease in words, rounded down."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return _("less than a minute left")
    if minutes >= 2 * 24 * 60:
        return _("%(days)d days left") % {"days": minutes // (24 * 60)}
    return _("%(time)s left") % {"time": _hours_and_minutes(minutes)}


def spell_pay(cents: int, currency: str) -> str:
    """Return the pay for a page of work in words; "" if there is no pay."""
    if not cents:
        return ""
    pay = ngettext("%(cents)d cent a page of work", "%(cents)d cents a page of work", cents) % {
        "cents": cents
    }
    return f"{pay} ({currency})" if currency else pay


def _hours_and_minutes(minutes: int) -> str:
    hours, remaining_minutes = divmod(minutes, 60)
    if not hours:
        return _("%(minutes)d min") % {"minutes": remaining_minutes}
    numbers = {"hours": hours, "minutes": remaining_minutes}
    return _("%(hours)d h %(minutes)d min") % numbers if remaining_minutes else _("%(hours)d h") % numbers
