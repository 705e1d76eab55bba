"""Call the crowd that a study was opened to its platform. The column stays, so no row is touched."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0025_jobs_by_turn")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("study", "place", "platform"),
                migrations.AlterField(
                    "study",
                    "platform",
                    models.CharField(blank=True, db_column='place', help_text='The crowd at which the study was first opened, live or sandbox. It cannot be changed.', max_length=20, verbose_name='crowd'),
                ),
            ]
        )
    ]
