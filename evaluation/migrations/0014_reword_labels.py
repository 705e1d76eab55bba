from django.db import migrations, models


class Migration(migrations.Migration):
    """Labels and help texts are reworded; no table is changed."""

    dependencies = [
        ('evaluation', '0013_words_of_pages'),
    ]

    operations = [
        migrations.AlterField(
            model_name='analysis',
            name='judgments',
            field=models.CharField(blank=True, help_text='Signature of the judgments from which the analysis was computed.', max_length=500),
        ),
        migrations.AlterField(
            model_name='analysis',
            name='what',
            field=models.CharField(choices=[('aggregation', 'consensus, agreement and participants'), ('meta-evaluation', 'metrics compared with the consensus'), ('plan', 'number of pairs and votes needed to find a difference'), ('report', 'report'), ('rehearsal', 'results of a rehearsal'), ('judges', 'judges compared with people'), ('multiverse', 'robustness analysis')], max_length=20),
        ),
        migrations.AlterField(
            model_name='consensus',
            name='answer',
            field=models.JSONField(blank=True, help_text='Consensus of answers that are not numbers.', null=True),
        ),
        migrations.AlterField(
            model_name='consensus',
            name='n',
            field=models.PositiveIntegerField(help_text='Number of used judgments. For a pair: number of its items with a winner or a tie.', verbose_name='judgments used'),
        ),
        migrations.AlterField(
            model_name='consensus',
            name='value',
            field=models.FloatField(blank=True, help_text='Empty if there is a tie, or if there are no judgments.', null=True),
        ),
        migrations.AlterField(
            model_name='consensus',
            name='votes',
            field=models.JSONField(default=dict, help_text='The number of judgments with each answer. For a pair: wins, losses and ties.'),
        ),
    ]
