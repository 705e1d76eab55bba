from django.db import migrations

FIELDS = ("study_id", "what", "words", "details", "by_id", "at")


def move_events(apps, schema_editor):
    there = apps.get_model("annotation", "StudyEvent")._base_manager.order_by("pk").select_related("study")
    Event = apps.get_model("judgments", "StudyEvent")
    Event._base_manager.bulk_create(
        (
            Event(slug=event.study.slug, **{field: getattr(event, field) for field in FIELDS})
            for event in there.iterator()
        ),
        500,
    )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_crowds"), ("judgments", "0005_roles_events_and_pauses")]

    operations = [
        migrations.RunPython(move_events, migrations.RunPython.noop),
        migrations.DeleteModel(name="StudyEvent"),
    ]
