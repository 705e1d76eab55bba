import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Update names, help texts and labels, and allow digests of a consensus; no table is changed."""

    dependencies = [
        ('evaluation', '0012_move_board_snapshots'),
        ('judgments', '0032_words_of_pages'),
    ]

    operations = [
        migrations.AlterField(
            model_name='analysis',
            name='what',
            field=models.CharField(choices=[('aggregation', 'consensus, agreement and participants'), ('meta-evaluation', 'metrics against the consensus'), ('plan', 'how many pairs and votes a difference takes'), ('report', 'report'), ('rehearsal', 'what a rehearsal shows'), ('judges', 'judges beside people'), ('multiverse', 'conclusions under other choices')], max_length=20),
        ),
        migrations.AlterField(
            model_name='columnblock',
            name='what',
            field=models.CharField(choices=[('judgments', 'Judgments'), ('units', 'Items'), ('consensus', 'Consensus')], max_length=9),
        ),
        migrations.AlterField(
            model_name='consensus',
            name='n',
            field=models.PositiveIntegerField(help_text='Used judgments; for a pair, its items with a winner or a tie.'),
        ),
        migrations.AlterField(
            model_name='consensus',
            name='unit',
            field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='consensus', to='judgments.unit', verbose_name='item'),
        ),
        migrations.AlterField(
            model_name='metricscore',
            name='first',
            field=models.FloatField(help_text="Score of the pair's first candidate, or of the item's caption."),
        ),
        migrations.AlterField(
            model_name='metricscore',
            name='unit',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.unit', verbose_name='item'),
        ),
        migrations.AlterField(
            model_name='prediction',
            name='known',
            field=models.PositiveIntegerField(help_text='How many items it is about.'),
        ),
        migrations.AlterField(
            model_name='prediction',
            name='shares',
            field=models.BinaryField(help_text='A float64, little-endian, for each item and label, in their order.'),
        ),
        migrations.AlterField(
            model_name='prediction',
            name='units',
            field=models.BinaryField(help_text='An int64, little-endian, for each item: its row id.', verbose_name='items'),
        ),
    ]
