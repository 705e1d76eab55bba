"""Room for a mark behind each name that people type, and resume codes found by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0021_platforms_and_held_slots")]

    operations = [
        migrations.AlterField("worker", "name", models.CharField(max_length=110)),
        migrations.AddIndex(
            model_name="worker",
            index=models.Index(
                fields=["resume_hash"],
                condition=models.Q(("source", "local")),
                name="workers_by_resume_code",
            ),
        ),
    ]
