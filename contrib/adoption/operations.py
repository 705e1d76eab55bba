"""The operation that adds written captions to the dataset, as references or as outputs of a system."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from common.amounts import thousands
from common.parameters import Parameters
from contrib.adoption.adopting import adopt_captions
from judgments.models import Study
from judgments.operations import CommandHelp, Outcome, operation


class AdoptRequest(Parameters):
    """The system to which the captions are credited; "" for references."""

    system = serializers.CharField(
        default="",
        help_text="Name of the system whose outputs the captions become (default: they become references).",
    )


@operation(
    "adopt",
    "Make written captions part of the dataset",
    parameters=AdoptRequest,
    command=CommandHelp(
        "Make the used captions of a closed study of caption writing references of its dataset, or with --system the "
        "outputs of a system, which later studies judge. Nobody is asked to judge a caption of their own. Doing it "
        "again changes nothing.",
        "street-captions",
    ),
)
def adopt(*, study: Study, by: User | None, system: str) -> Outcome:
    """Add the written captions to the dataset. You must be an editor of the dataset. Repeating this changes nothing."""
    adoption = adopt_captions(study=study, system=system, by=by)
    writers = ngettext("%(n)s writer", "%(n)s writers", adoption.writer_count) % {
        "n": thousands(adoption.writer_count)
    }
    role = _("outputs of system %(name)r") % {"name": adoption.system} if adoption.system else _("references")
    return Outcome(
        _(
            "Captions that were added to dataset %(dataset)r as %(what)s: %(added)s, by %(writers)s. Captions that "
            "had been added before: %(there)s."
        )
        % {
            "added": thousands(adoption.added_count),
            "writers": writers,
            "what": role,
            "dataset": adoption.dataset,
            "there": thousands(adoption.existing_count),
        }
    )
