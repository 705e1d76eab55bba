import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Names, help texts and labels in the words of the pages; no table is changed."""

    dependencies = [
        ('judgments', '0031_content_of_systems'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='hit',
            options={'ordering': ['study_id', 'position'], 'verbose_name': 'page of work', 'verbose_name_plural': 'pages of work'},
        ),
        migrations.AlterModelOptions(
            name='hitunit',
            options={'ordering': ['hit_id', 'position'], 'verbose_name': 'item of a page of work', 'verbose_name_plural': 'items of pages of work'},
        ),
        migrations.AlterModelOptions(
            name='unit',
            options={'ordering': ['study_id', 'position'], 'verbose_name': 'item'},
        ),
        migrations.AlterField(
            model_name='hit',
            name='drawn_from',
            field=models.ForeignKey(blank=True, db_index=False, help_text='In an arena, the answers that its items were sampled by; empty until somebody takes it.', null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='hits', to='judgments.drawstate', verbose_name='sampled by'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='open_slots',
            field=models.PositiveSmallIntegerField(help_text='For how many participants it is still offered.', verbose_name='open places'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='required',
            field=models.PositiveSmallIntegerField(help_text='How many different participants it goes to.'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='spared',
            field=models.PositiveSmallIntegerField(default=0, help_text='Places that are not offered any more: the consensus on its items is decided, or they expired.', verbose_name='places saved'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='units',
            field=models.ManyToManyField(related_name='hits', through='judgments.HITUnit', to='judgments.unit', verbose_name='items'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='version',
            field=models.PositiveIntegerField(default=0, help_text='How often its items changed: check questions were withdrawn, or an arena sampled them.'),
        ),
        migrations.AlterField(
            model_name='hitunit',
            name='chance',
            field=models.FloatField(blank=True, help_text='In an arena, the chance of its pair of systems when it was sampled.', null=True),
        ),
        migrations.AlterField(
            model_name='hitunit',
            name='hit',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='places', to='judgments.hit', verbose_name='page of work'),
        ),
        migrations.AlterField(
            model_name='hitunit',
            name='unit',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='places', to='judgments.unit', verbose_name='item'),
        ),
        migrations.AlterField(
            model_name='outcomebounds',
            name='unit',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='bounds', serialize=False, to='judgments.unit', verbose_name='item'),
        ),
        migrations.AlterField(
            model_name='study',
            name='paused_at',
            field=models.DateTimeField(blank=True, help_text='While an open study gives out no work; pages of work in progress may be finished.', null=True),
        ),
        migrations.AlterField(
            model_name='study',
            name='platform',
            field=models.CharField(blank=True, db_column='place', help_text='The crowd that it was first opened to, its sandbox or the live one; it never moves to another.', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='study',
            name='simulated',
            field=models.BooleanField(default=False, help_text='Holds answers of a rehearsal, not of people.'),
        ),
        migrations.AlterField(
            model_name='studyevent',
            name='by',
            field=models.ForeignKey(blank=True, help_text='Empty where the platform did it automatically, or a command did.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='systempair',
            name='start',
            field=models.PositiveIntegerField(help_text='Position of the first of its items, which follow one another.'),
        ),
        migrations.AlterField(
            model_name='systempair',
            name='units',
            field=models.PositiveIntegerField(verbose_name='items'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='audited',
            field=models.BooleanField(default=False, help_text='Below the Bleu-pre threshold, sampled to see what the filter misses.'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='control',
            field=models.BooleanField(default=False, verbose_name='check question'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='control_kind',
            field=models.CharField(blank=True, choices=[('degraded', 'an own caption against a damaged copy of it'), ('repeated', 'an item of the same page of work, shown again'), ('known-good', 'an item whose answer the designer knows'), ('reference', "a person's caption of the image"), ('quiz', 'an item of the quiz, on no page of work')], help_text='Empty for judged items.', max_length=10, verbose_name='kind of check question'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='expected',
            field=models.JSONField(blank=True, help_text='Of a check question.', null=True, verbose_name='right answer'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='withdrawn',
            field=models.BooleanField(default=False, help_text='A check question taken out: it misled careful participants.'),
        ),
    ]
