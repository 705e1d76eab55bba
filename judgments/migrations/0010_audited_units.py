"""Units that the filter left out and that are judged to see what it misses."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0009_group_of_researchers")]

    operations = [
        migrations.AddField(
            model_name="unit",
            name="audited",
            field=models.BooleanField(
                default=False, help_text="Below the Bleu-pre threshold, drawn to see what the filter misses."
            ),
        ),
    ]
