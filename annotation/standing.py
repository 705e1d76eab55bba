"""What a worker is told whose work was stopped: first what happens to their answers. Pure."""

from __future__ import annotations

from django.utils.translation import gettext

from annotation.errors import StudyPaused, WorkerExcluded, WorkPaused
from annotation.models import Participation
from judgments.models import Study


def refuse_while_paused(study: Study) -> None:
    """Nothing new is handed out while a study is paused.

    Raises:
        StudyPaused: it is.
    """
    if study.paused_at is not None:
        raise StudyPaused(
            gettext(
                "Everything you did is kept. This study hands out no work for a while; please come back later. If a "
                "page of work opened for you elsewhere a moment ago, you can return it there without harm."
            )
        )


def refuse_stopped(standing: str) -> None:
    """Let active workers pass.

    Raises:
        WorkPaused, WorkerExcluded: the others are told so.
    """
    if standing == Participation.Standing.PAUSED:
        raise WorkPaused(
            gettext(
                "All your answers are kept. A check of your latest pages has paused your work in this study until "
                "somebody has looked at it; there is nothing you need to do."
            )
        )
    if standing == Participation.Standing.EXCLUDED:
        raise WorkerExcluded(
            gettext(
                "All your answers are kept, but they are not used in this study any more, and there is no more work "
                "for you in it. If you think that this is a mistake, write to the people who run the study."
            )
        )
