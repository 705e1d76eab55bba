"""Say of a unit which systems its text is credited to, where a file said so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0026_platform_of_a_study")]

    operations = [
        migrations.AddField(
            "unit",
            "systems",
            models.JSONField(
                blank=True,
                default=list,
                help_text="Row ids of the systems that an imported file credits with its text; empty: all that gave "
                "it.",
            ),
        ),
    ]
