import django.db.models.deletion
import judgments.models.datasets
from django.db import migrations, models


class Migration(migrations.Migration):
    """Names, help texts and labels in the words of the pages; no table is changed."""

    dependencies = [
        ('annotation', '0024_webhooks'),
        ('judgments', '0032_words_of_pages'),
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
            model_name='adjudication',
            name='side',
            field=models.JSONField(blank=True, help_text="The side that the item's kind drew for the adjudicator.", null=True),
        ),
        migrations.AlterField(
            model_name='adjudication',
            name='unit',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='adjudications', to='judgments.unit', verbose_name='item'),
        ),
        migrations.AlterField(
            model_name='adjudication',
            name='value',
            field=judgments.models.datasets.NumberField(blank=True, help_text="The final answer, in the item's order.", null=True),
        ),
        migrations.AlterField(
            model_name='appealnote',
            name='from_worker',
            field=models.BooleanField(default=False, verbose_name='from the participant'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='answers',
            field=models.JSONField(default=dict, help_text='Position -> {value or answer, seconds, ...} as it was shown: the draft, then what was sent.'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='before_exclusion',
            field=models.CharField(blank=True, choices=[('reserved', 'reserved (fetched ahead)'), ('accepted', 'in progress'), ('submitted', 'submitted'), ('returned', 'returned'), ('expired', 'expired'), ('approved', 'approved'), ('rejected', 'rejected'), ('invalidated', 'invalidated (its participant was excluded)'), ('apart', 'kept apart (its crowd knows of no such work)')], help_text='Its state when it was invalidated.', max_length=11),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='consent_version',
            field=models.CharField(blank=True, help_text='Hash of the consent text that the participant had agreed to.', max_length=16),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='hit',
            field=models.ForeignKey(blank=True, help_text='Empty only for imported judgments whose page of work is not known.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='judgments.hit', verbose_name='page of work'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='order',
            field=models.JSONField(default=list, help_text="Per position, which of the page's items is shown there, from 0; empty: all in the page's order."),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='session',
            field=models.ForeignKey(blank=True, db_index=False, help_text='The session at a crowd that it belongs to.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.crowdsession'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='slot',
            field=models.PositiveSmallIntegerField(default=0, help_text="Number of the page's place that it takes; the database lets no two share a place.", verbose_name='place'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='state',
            field=models.CharField(choices=[('reserved', 'reserved (fetched ahead)'), ('accepted', 'in progress'), ('submitted', 'submitted'), ('returned', 'returned'), ('expired', 'expired'), ('approved', 'approved'), ('rejected', 'rejected'), ('invalidated', 'invalidated (its participant was excluded)'), ('apart', 'kept apart (its crowd knows of no such work)')], default='accepted', max_length=11),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='worker',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='budget',
            name='platform',
            field=models.CharField(db_column='place', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='case',
            name='action',
            field=models.CharField(choices=[('flag', 'flag for review'), ('pause', 'pause the participant until somebody looked'), ('exclude', 'exclude the participant')], help_text='What was done when it was found.', max_length=8),
        ),
        migrations.AlterField(
            model_name='case',
            name='answers',
            field=models.PositiveIntegerField(default=0, help_text='After how many answers of the participant.'),
        ),
        migrations.AlterField(
            model_name='case',
            name='rule',
            field=models.CharField(max_length=40, verbose_name='detector'),
        ),
        migrations.AlterField(
            model_name='case',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cases', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='platform',
            field=models.CharField(db_column='place', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='state',
            field=models.CharField(choices=[('waiting', 'waiting'), ('started', 'being sent'), ('done', 'done'), ('parked', 'failed'), ('dropped', 'not wanted any more')], default='waiting', max_length=7),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='worker',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='crowd_calls', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='auto_approval_at',
            field=models.DateTimeField(blank=True, help_text='When the crowd pays automatically.', null=True),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='confirmed',
            field=models.BooleanField(default=False, help_text="Whether the crowd itself named it, and not only the participant's browser."),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='feedback',
            field=models.CharField(blank=True, help_text='What the participant was told with it.', max_length=1024),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='platform',
            field=models.CharField(db_column='place', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='crowd_sessions', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='demographics',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='demographics', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='answer',
            field=models.CharField(blank=True, help_text='Why it was declined; the participant reads it.', max_length=500),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='erasure_requests', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='exclusion',
            name='rule',
            field=models.CharField(blank=True, help_text='Empty: a person did it.', max_length=40, verbose_name='detector'),
        ),
        migrations.AlterField(
            model_name='exclusion',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exclusions', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='invitation',
            name='note',
            field=models.CharField(blank=True, help_text='Who it is for; participants never see it.', max_length=200),
        ),
        migrations.AlterField(
            model_name='invitation',
            name='worker',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='comment',
            field=models.TextField(blank=True, help_text='What the participant wrote beside the answer.', max_length=2000),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='seconds',
            field=models.FloatField(blank=True, help_text='Active time: the page visible and the participant present.', null=True),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='set_aside',
            field=models.BooleanField(default=False, help_text='Imported as not used by the study it comes from.', verbose_name='not used'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='unit',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgments', to='judgments.unit', verbose_name='item'),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='key',
            field=models.CharField(help_text='Of a payment: crowd, participant, session, what for.', max_length=160, unique=True),
        ),
        migrations.AlterField(
            model_name='participation',
            name='consent_version',
            field=models.CharField(blank=True, help_text='Hash of the consent text that the participant agreed to.', max_length=16),
        ),
        migrations.AlterField(
            model_name='participation',
            name='cursor',
            field=models.PositiveIntegerField(default=0, help_text='Pages of work before this position were done or passed; the search for work starts here.'),
        ),
        migrations.AlterField(
            model_name='participation',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='participations', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='problemreport',
            name='unit',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='judgments.unit', verbose_name='item'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='held_slots',
            field=models.PositiveIntegerField(db_column='held', default=0, help_text='Places whose price is still reserved.', verbose_name='reserved places'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='hit',
            field=models.ForeignKey(blank=True, help_text='Empty where the whole study was published at once.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='publications', to='judgments.hit', verbose_name='page of work'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='number',
            field=models.PositiveSmallIntegerField(default=1, help_text='Counted from 1 for each page of work, or study, and crowd.'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='places',
            field=models.PositiveIntegerField(help_text='How many participants it is for.'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='platform',
            field=models.CharField(db_column='place', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='reward_cents',
            field=models.PositiveIntegerField(help_text='Paid to a participant.'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='screen_out_cents',
            field=models.PositiveIntegerField(default=0, help_text="The price of one, with the crowd's fee.", verbose_name='screen-out cents'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='screen_outs',
            field=models.PositiveIntegerField(default=0, help_text='How many participants who are screened out get something.', verbose_name='screen-outs'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='screen_outs_held',
            field=models.PositiveIntegerField(default=0, help_text='Those whose price is still reserved.', verbose_name='reserved screen-outs'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='state',
            field=models.CharField(choices=[('planned', 'planned'), ('published', 'published'), ('expired', 'closed to new participants'), ('finished', 'finished'), ('withdrawn', 'never published')], default='planned', max_length=9),
        ),
        migrations.AlterField(
            model_name='qualification',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='qualifications', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='qualityrule',
            name='action',
            field=models.CharField(choices=[('flag', 'flag for review'), ('pause', 'pause the participant until somebody looked'), ('exclude', 'exclude the participant')], default='flag', max_length=8),
        ),
        migrations.AlterField(
            model_name='qualityrule',
            name='rule',
            field=models.CharField(help_text='Its name in files and addresses.', max_length=40, verbose_name='detector'),
        ),
        migrations.AlterField(
            model_name='quizattempt',
            name='answers',
            field=models.JSONField(default=dict, help_text='Position -> answer, as the participant saw it.'),
        ),
        migrations.AlterField(
            model_name='quizattempt',
            name='items',
            field=models.JSONField(help_text='The sampled items, in the order shown.'),
        ),
        migrations.AlterField(
            model_name='quizattempt',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quiz_attempts', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='rawid',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='raw_ids', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='studyalarm',
            name='missing',
            field=models.PositiveIntegerField(default=0, help_text='Check questions that those pages lacked.'),
        ),
        migrations.AlterField(
            model_name='studyalarm',
            name='what',
            field=models.CharField(choices=[('controls-used-up', 'has met all check questions; pages go without')], max_length=20),
        ),
        migrations.AlterField(
            model_name='studyalarm',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.worker', verbose_name='participant'),
        ),
        migrations.AlterField(
            model_name='worker',
            name='country',
            field=models.CharField(blank=True, help_text='ISO 3166-1 code, as the participant declared it; empty: not asked.', max_length=2),
        ),
        migrations.AlterField(
            model_name='worker',
            name='erased',
            field=models.BooleanField(default=False, help_text='Stands for a participant who was erased; the name is random.'),
        ),
        migrations.AlterField(
            model_name='worker',
            name='platform',
            field=models.CharField(blank=True, db_column='place', help_text='Which crowd sent the participant; those of its sandbox are others.', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='worker',
            name='study',
            field=models.ForeignKey(blank=True, help_text='The study whose rehearsal or import made this participant; names repeat between them.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.study'),
        ),
        migrations.AlterField(
            model_name='writtencaption',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='written', to='annotation.worker', verbose_name='participant'),
        ),
    ]
