"""A HIT's version, by which web processes keep its units."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0017_members_of_datasets")]

    operations = [
        migrations.AddField(
            model_name="hit",
            name="version",
            field=models.PositiveIntegerField(
                default=0,
                help_text='Number of changes to the items: withdrawn check questions, or new samples of an arena.',
            ),
        ),
    ]
