import django.db.models.deletion
import judgments.models.datasets
from django.db import migrations, models


class Migration(migrations.Migration):
    """Names, help texts and labels in the words of the pages; no table is changed."""

    dependencies = [
        ('judges', '0001_initial'),
        ('judgments', '0032_words_of_pages'),
    ]

    operations = [
        migrations.AlterField(
            model_name='judge',
            name='reserved',
            field=models.PositiveBigIntegerField(default=0, help_text='Of calls in progress, at their most.'),
        ),
        migrations.AlterField(
            model_name='judgeanswer',
            name='answer',
            field=models.JSONField(blank=True, help_text="One that is no number, in the item's order.", null=True),
        ),
        migrations.AlterField(
            model_name='judgeanswer',
            name='rater',
            field=models.CharField(blank=True, help_text='Who of another crowd; empty for a model.', max_length=80, verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='judgeanswer',
            name='state',
            field=models.CharField(choices=[('waiting', 'not asked yet'), ('asked', 'asked, no reply yet'), ('answered', 'answered'), ('failed', 'without a usable answer')], default='waiting', max_length=8),
        ),
        migrations.AlterField(
            model_name='judgeanswer',
            name='unit',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.unit', verbose_name='item'),
        ),
        migrations.AlterField(
            model_name='judgeanswer',
            name='value',
            field=judgments.models.datasets.NumberField(blank=True, help_text="In the item's order.", null=True),
        ),
    ]
