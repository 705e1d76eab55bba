"""Say that a unit's systems may be those of each of its options, or nobody."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0028_scaled_pictures")]

    operations = [
        migrations.AlterField(
            "unit",
            "systems",
            models.JSONField(
                blank=True,
                default=list,
                help_text="Row ids of the systems that an imported file credits with its text, or a list of them for "
                "each of its options; 0 for nobody; empty: all that gave it.",
            ),
        ),
    ]
