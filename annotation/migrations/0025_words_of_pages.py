from django.db import migrations, models


class Migration(migrations.Migration):
    """Names, help texts and labels in the words of the pages; no table is changed."""

    dependencies = [
        ('annotation', '0024_webhooks'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='case',
            options={'ordering': ['-opened_at'], 'verbose_name': 'flag'},
        ),
        migrations.AlterModelOptions(
            name='crowdcall',
            options={'ordering': ['id'], 'verbose_name': 'outbox message'},
        ),
        migrations.AlterModelOptions(
            name='qualityrule',
            options={'ordering': ['study_id', 'rule'], 'verbose_name': 'detector'},
        ),
        migrations.AlterModelOptions(
            name='seat',
            options={'ordering': ['id'], 'verbose_name': 'taken place'},
        ),
        migrations.AlterModelOptions(
            name='worker',
            options={'ordering': ['name'], 'verbose_name': 'participant'},
        ),
        migrations.AlterField(
            model_name='budget',
            name='platform',
            field=models.CharField(db_column='place', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='platform',
            field=models.CharField(db_column='place', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='platform',
            field=models.CharField(db_column='place', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='held_slots',
            field=models.PositiveIntegerField(db_column='held', default=0, help_text='Number of places for which money is still reserved.', verbose_name='reserved places'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='platform',
            field=models.CharField(db_column='place', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='worker',
            name='platform',
            field=models.CharField(blank=True, db_column='place', help_text='The crowd that sent the participant. The sandbox is a different crowd.', max_length=20, verbose_name='crowd'),
        ),
    ]
