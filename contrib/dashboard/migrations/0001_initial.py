import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from common.features import move_content_types


class Migration(migrations.Migration):
    """The table was made by the app evaluation."""

    initial = True

    dependencies = [
        ("evaluation", "0012_move_board_snapshots"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='BoardSnapshot',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('judgments', models.PositiveBigIntegerField(help_text='How many had come in.')),
                        ('newest', models.PositiveBigIntegerField(help_text='Row id of the last of them.')),
                        ('event', models.PositiveBigIntegerField(default=0, help_text="Row id of the study's last log entry then.")),
                        ('result', models.JSONField(help_text='Numbers, sentences and drawings, as the page shows them.')),
                        ('scores', models.JSONField(default=dict, help_text='Metric -> scores of the candidates, which do not change.')),
                        ('seconds', models.FloatField(help_text='How long it took to make.')),
                        ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='board', to='judgments.study')),
                    ],
                    options={
                        'db_table': 'evaluation_boardsnapshot',
                        'ordering': ['study_id'],
                    },
                ),
            ]
        ),
        move_content_types("boardsnapshot", before="evaluation", after="dashboard"),
    ]
