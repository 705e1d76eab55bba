"""When work lay between the end of a lease and its being taken up again, and for paid work that is there already, what
its row and the study's log say of it."""

from datetime import timedelta

from django.db import migrations, models
from django.db.models import F
from django.utils import timezone

DEFAULT_LEASE = 60


def note_gaps(apps, schema_editor):
    """What is not known to have been held counts as a gap.

    The first lease is certain, with the minutes that the researcher added before it was over. A lease that was extended
    ended at most another one later. A row that ended later still was taken up again, and nobody noted when.
    """
    Assignment = apps.get_model("annotation", "Assignment")
    Study = apps.get_model("judgments", "Study")
    StudyEvent = apps.get_model("judgments", "StudyEvent")
    now = timezone.now()
    paid = Assignment.objects.filter(session__isnull=False, expires_at__isnull=False)
    for study in Study.objects.filter(pk__in=paid.values("study")).iterator():
        lease = timedelta(minutes=(study.design.get("crowd") or {}).get("lease_minutes", DEFAULT_LEASE))
        log = StudyEvent.objects.filter(study=study, what="leases-extended").order_by("at", "pk")
        added = [(at, timedelta(minutes=details["minutes"])) for at, details in log.values_list("at", "details")]
        longer = paid.filter(study=study, expires_at__gt=F("accepted_at") + lease)
        rows = longer.values_list("pk", "accepted_at", "expires_at", "submitted_at", "extended")
        for pk, accepted, expires, submitted, extended in list(rows):
            certain = first_end(accepted, lease, added)
            until = min(expires, submitted or now)
            if expires > certain + (lease if extended else timedelta()) and until > certain:
                gap = [certain.isoformat(), until.isoformat()]
                Assignment.objects.filter(pk=pk).update(gaps=[gap])


def first_end(accepted, lease, added):
    """Of the lease with what was added to it while it ran."""
    end = accepted + lease
    for at, minutes in added:
        if accepted <= at < end:
            end += minutes
    return end


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0001_version_0_5_0"),
        ("judgments", "0001_version_0_5_0"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="gaps",
            field=models.JSONField(blank=True, default=list, help_text='[from, to] of each interruption: from the end of the time limit until the participant continued.', verbose_name='interruptions'),
        ),
        migrations.RunPython(note_gaps, migrations.RunPython.noop),
    ]
