"""Keep the boxes and keywords that systems name of images."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0030_text_key_of_a_caption")]

    operations = [
        migrations.CreateModel(
            name="SystemContent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("boxes", "boxes"), ("keywords", "keywords")], max_length=10
                    ),
                ),
                ("names", models.JSONField(blank=True, default=list)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contents",
                        to="judgments.item",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contents",
                        to="judgments.system",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "item", "kind"), name="one_content_per_system_image_and_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["boxes", "keywords"])),
                        name="content_kind_is_a_known_one",
                    ),
                ],
            },
        ),
    ]
