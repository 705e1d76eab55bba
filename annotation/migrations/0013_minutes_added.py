"""Minutes that were added to a lease, and for paid work that is there already, what its row says of them."""

from datetime import timedelta

from django.db import migrations, models
from django.db.models import F

DEFAULT_LEASE = 60


def note_what_was_added(apps, schema_editor):
    """Leases that ended later than taking and extensions explain were made longer, or taken up again."""
    Assignment = apps.get_model("annotation", "Assignment")
    Study = apps.get_model("judgments", "Study")
    paid = Assignment.objects.filter(session__isnull=False, expires_at__isnull=False)
    for study in Study.objects.filter(pk__in=paid.values("study")).iterator():
        minutes = (study.design.get("crowd") or {}).get("lease_minutes", DEFAULT_LEASE)
        longer = paid.filter(study=study, expires_at__gt=F("accepted_at") + timedelta(minutes=minutes))
        rows = longer.values_list("pk", "accepted_at", "expires_at", "extended")
        for pk, accepted, expires, extended in list(rows):
            held = -(-(expires - accepted).total_seconds() // 60)
            added = int(held - minutes * (1 + extended))
            if added > 0:
                Assignment.objects.filter(pk=pk).update(minutes_added=added)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0012_money_requests_by_programs"),
        ("judgments", "0013_inputs_of_items"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="minutes_added",
            field=models.PositiveIntegerField(
                default=0, help_text="Of its lease, by the study's researcher or as it was taken up again."
            ),
        ),
        migrations.RunPython(note_what_was_added, migrations.RunPython.noop),
    ]
