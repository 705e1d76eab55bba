"""Who holds seats from which address, as a keyed hash, and when a page of work was answered last."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0018_privacy"),
        ("judgments", "0024_jobs_of_celery"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="answered_at",
            field=models.DateTimeField(blank=True, help_text='Time of the last new answer or the last change of a text.', null=True),
        ),
        migrations.CreateModel(
            name="Seat",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("address", models.CharField(max_length=32)),
                ("taken_at", models.DateTimeField()),
                (
                    "assignment",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="seat",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "session",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="seat",
                        to="annotation.crowdsession",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="judgments.study",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["study", "address"], name="seats_of_an_address")],
            },
        ),
    ]
