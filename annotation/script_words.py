"""What the scripts of the page of work say: they hold no words of their own. ``{name}`` stands for a number."""

from __future__ import annotations

from django.utils.translation import gettext as _


def script_words(*, pictures: bool) -> dict[str, str]:
    """The sentences by the names that static/js uses, in the reader's language."""
    return {
        "here": _("Picture {here} of {all}") if pictures else _("{here} of {all}"),
        "later": _("{n} for later"),
        "complete": _("All answered"),
        "saving": _("Saving"),
        "saved": _("Saved"),
        "notSaved": _("Not saved"),
        "offlineKept": _("Not saved: no connection; your answers are kept in this browser"),
        "offlineOpen": _("Not saved: no connection; your answers are kept on this page: leave it open"),
        "troubleKept": _(
            "Not saved: the server does not answer as it should; your answers are kept in this browser"
        ),
        "troubleOpen": _(
            "Not saved: the server does not answer as it should; "
            "your answers are kept on this page: leave it open"
        ),
        "offlineSubmit": _("No connection: your answers stay here. Try again once it is back."),
        "troubleSubmit": _("The server does not answer as it should: your answers stay here. Try again."),
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
