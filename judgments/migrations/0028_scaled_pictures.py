"""Say of an item's picture how large it is, and which scaled ones there are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0027_systems_of_a_unit")]

    operations = [
        migrations.AddField(
            "item",
            "scaled",
            models.JSONField(blank=True, default=dict, help_text='The sizes in which the picture is available.', verbose_name='picture sizes'),
        ),
    ]
