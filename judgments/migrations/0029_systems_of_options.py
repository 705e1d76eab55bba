"""Say that a unit's systems may be those of each of its options, or nobody."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0028_scaled_pictures")]

    operations = [
        migrations.AlterField(
            "unit",
            "systems",
            models.JSONField(blank=True, default=list, help_text='Row ids of the systems that wrote the text, from an imported file. If there are options, one list of ids for each option. 0: no system. Empty: all systems with this text.'),
        ),
    ]
