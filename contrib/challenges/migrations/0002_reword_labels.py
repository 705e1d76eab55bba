import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    """Labels and help texts are reworded; no table is changed."""

    dependencies = [
        ('challenges', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='challenge',
            name='closes_at',
            field=models.DateTimeField(blank=True, help_text='Empty: the challenge is open until somebody closes it.', null=True),
        ),
        migrations.AlterField(
            model_name='challenge',
            name='description',
            field=models.TextField(blank=True, help_text="Text in Markdown, shown on the challenge's public page."),
        ),
        migrations.AlterField(
            model_name='challenge',
            name='images',
            field=models.PositiveIntegerField(help_text='Number of images that need a caption.'),
        ),
        migrations.AlterField(
            model_name='challenge',
            name='metrics',
            field=models.JSONField(help_text='Names of metrics. The leaderboard is sorted by the first one.'),
        ),
        migrations.AlterField(
            model_name='challenge',
            name='per_day',
            field=models.PositiveSmallIntegerField(default=5, help_text='Maximum number of submissions of one account per day (UTC).', validators=[django.core.validators.MinValueValidator(1)], verbose_name='submissions per day'),
        ),
        migrations.AlterField(
            model_name='challenge',
            name='per_total',
            field=models.PositiveSmallIntegerField(default=50, help_text='Maximum number of submissions of one account.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='submissions in total'),
        ),
        migrations.AlterField(
            model_name='challenge',
            name='references_sha256',
            field=models.CharField(max_length=64, verbose_name='SHA-256 of the references'),
        ),
        migrations.AlterField(
            model_name='challenge',
            name='shown_before_end',
            field=models.BooleanField(default=True, help_text='Otherwise, all scores are hidden until the challenge is closed.', verbose_name='show scores before the end'),
        ),
        migrations.AlterField(
            model_name='challenge',
            name='slug',
            field=models.SlugField(help_text="Part of the challenge's address.", max_length=80, unique=True, verbose_name='short name'),
        ),
        migrations.AlterField(
            model_name='submission',
            name='day',
            field=models.DateField(help_text='The day in UTC.'),
        ),
        migrations.AlterField(
            model_name='submission',
            name='nth',
            field=models.PositiveSmallIntegerField(verbose_name='number of the submission'),
        ),
        migrations.AlterField(
            model_name='submission',
            name='nth_of_day',
            field=models.PositiveSmallIntegerField(verbose_name='number of the submission on this day'),
        ),
        migrations.AlterField(
            model_name='submission',
            name='public',
            field=models.BooleanField(default=True, help_text='Whether the author shows the submission on the leaderboard.'),
        ),
        migrations.AlterField(
            model_name='submission',
            name='removed_why',
            field=models.CharField(blank=True, max_length=500, verbose_name='reason for the removal'),
        ),
        migrations.AlterField(
            model_name='submission',
            name='scores',
            field=models.JSONField(default=dict, help_text='For each metric: the score of the corpus, and the ends of its interval.'),
        ),
        migrations.AlterField(
            model_name='submission',
            name='sha256',
            field=models.CharField(help_text='SHA-256 of the captions, in the order of the images.', max_length=64),
        ),
    ]
