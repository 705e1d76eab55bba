"""Draw pages of arenas again."""

from annotation.models import Assignment
from contrib.arena.drawing import DrawnUnit, draw_page
from judgments.models import HIT, DrawState, HITUnit


def draw_page_again(hit: HIT) -> list[DrawnUnit]:
    """Draw the units of a drawn page of an arena from what is stored, for a worker who wrote none of the captions."""
    first = Assignment.objects.filter(hit=hit).select_related("study", "worker").earliest("accepted_at")
    before = Assignment.objects.filter(
        study=first.study, worker=first.worker, accepted_at__lt=first.accepted_at
    ).exclude(hit=hit)
    met_units = HITUnit.objects.filter(hit__in=before.values("hit"), chance__isnull=False)
    return draw_page(
        study=first.study,
        state=DrawState.objects.get(hits=hit),
        hit=hit,
        seen_positions=set(met_units.values_list("unit__position", flat=True)),
        own_captions=(),
    )
