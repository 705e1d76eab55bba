import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Labels and help texts are reworded; no table is changed."""

    dependencies = [
        ('annotation', '0025_words_of_pages'),
        ('judgments', '0033_reword_labels'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='assignment',
            name='answered_at',
            field=models.DateTimeField(blank=True, help_text='Time of the last new answer or the last change of a text.', null=True),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='answers',
            field=models.JSONField(default=dict, help_text='{value or answer, seconds, ...} for each position as shown. First the draft, later the submitted answers.'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='before_exclusion',
            field=models.CharField(blank=True, choices=[('reserved', 'reserved (loaded in advance)'), ('accepted', 'in progress'), ('submitted', 'submitted'), ('returned', 'returned'), ('expired', 'expired'), ('approved', 'approved'), ('rejected', 'rejected'), ('invalidated', 'invalidated (the participant was excluded)'), ('apart', 'kept apart (the crowd does not know this work)')], help_text='State of the assignment before it was invalidated.', max_length=11, verbose_name='state before exclusion'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='consent_version',
            field=models.CharField(blank=True, help_text='Hash of the consent text that was in force for this assignment.', max_length=16),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='exclusion',
            field=models.ForeignKey(blank=True, db_index=False, help_text='The exclusion that invalidated the assignment. It remains here if the exclusion is lifted.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.exclusion'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='extended',
            field=models.PositiveSmallIntegerField(default=0, help_text='How many times the time limit was extended.', verbose_name='extensions of the time limit'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='external_id',
            field=models.CharField(blank=True, help_text='Id of the assignment in the system that collected it.', max_length=80),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='flips',
            field=models.JSONField(default=list, help_text='For each position: whether the second candidate is shown first, or the order of the options. Empty if the protocol has neither.', verbose_name='display order'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='gaps',
            field=models.JSONField(blank=True, default=list, help_text='[from, to] of each interruption: from the end of the time limit until the participant continued.', verbose_name='interruptions'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='hit',
            field=models.ForeignKey(blank=True, help_text='Empty only for imported judgments without a known page of work.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='judgments.hit', verbose_name='page of work'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='order',
            field=models.JSONField(default=list, help_text='For each position: the number of the item that is shown there, from 0. Empty: the order of the page.'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='reason',
            field=models.CharField(blank=True, help_text='Reason for the rejection.', max_length=500),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='session',
            field=models.ForeignKey(blank=True, db_index=False, help_text='The crowd session to which the assignment belongs.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.crowdsession'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='slot',
            field=models.PositiveSmallIntegerField(default=0, help_text='Number of its place on the page of work. Two assignments never have the same place.', verbose_name='place'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='state',
            field=models.CharField(choices=[('reserved', 'reserved (loaded in advance)'), ('accepted', 'in progress'), ('submitted', 'submitted'), ('returned', 'returned'), ('expired', 'expired'), ('approved', 'approved'), ('rejected', 'rejected'), ('invalidated', 'invalidated (the participant was excluded)'), ('apart', 'kept apart (the crowd does not know this work)')], default='accepted', max_length=11),
        ),
        migrations.AlterField(
            model_name='case',
            name='action',
            field=models.CharField(choices=[('flag', 'flag for review'), ('pause', 'pause the participant until somebody has reviewed the flag'), ('exclude', 'exclude the participant')], help_text='What was done when it was found.', max_length=8),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='answer',
            field=models.JSONField(blank=True, default=dict, help_text="The crowd's reply."),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='key',
            field=models.CharField(help_text='Unique key that prevents a second execution. The crowd gets it as a token.', max_length=64, unique=True),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='kind',
            field=models.CharField(help_text='A value of annotation.crowds.base.Ability.', max_length=12),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='next_at',
            field=models.DateTimeField(default=django.utils.timezone.now, help_text='The message is not sent before this time.', verbose_name='next attempt at'),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='payload',
            field=models.JSONField(blank=True, default=dict, verbose_name='content of the message'),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='problem',
            field=models.CharField(blank=True, help_text='The last error.', max_length=1000),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='reserved_cents',
            field=models.PositiveIntegerField(default=0, help_text='Amount that is reserved until the request is done.'),
        ),
        migrations.AlterField(
            model_name='crowdcall',
            name='state',
            field=models.CharField(choices=[('waiting', 'waiting'), ('started', 'being sent'), ('done', 'done'), ('parked', 'failed'), ('dropped', 'no longer needed')], default='waiting', max_length=7),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='auto_approval_at',
            field=models.DateTimeField(blank=True, help_text='Time at which the crowd pays automatically.', null=True),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='booked',
            field=models.CharField(blank=True, choices=[('', 'nothing booked yet'), ('spent', 'spent'), ('released', 'released to the budget')], default='', max_length=8, verbose_name='recorded payment'),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='confirmed',
            field=models.BooleanField(default=False, help_text="Whether the crowd reported the session. Otherwise, only the participant's browser reported it."),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='external_id',
            field=models.CharField(help_text='Id of the session at the crowd. For a panel, a pseudonym is stored instead.', max_length=80),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='feedback',
            field=models.CharField(blank=True, help_text='Message that the crowd sent to the participant.', max_length=1024),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='receipt',
            field=models.TextField(blank=True, help_text='The answer as the crowd stores it. Quorum does not trust it.', verbose_name='answer at the crowd'),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='seen_at',
            field=models.DateTimeField(blank=True, help_text='Time at which the crowd last reported the session.', null=True, verbose_name='last reported at'),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='status',
            field=models.CharField(choices=[('working', 'at work'), ('submitted', 'submitted'), ('approved', 'approved'), ('rejected', 'rejected'), ('returned', 'returned'), ('timed-out', 'timed out'), ('screened-out', 'screened out'), ('full', 'arrived when no place was left'), ('unknown', 'unknown to the crowd')], default='working', max_length=12),
        ),
        migrations.AlterField(
            model_name='crowdsession',
            name='submitted_at',
            field=models.DateTimeField(blank=True, help_text="According to the crowd's clock, if it is known.", null=True),
        ),
        migrations.AlterField(
            model_name='erasure',
            name='way',
            field=models.CharField(choices=[('identity', 'identity and texts; other answers are kept'), ('all', 'identity and all answers')], max_length=8),
        ),
        migrations.AlterField(
            model_name='invitation',
            name='note',
            field=models.CharField(blank=True, help_text='Note on who gets the invitation. Participants do not see it.', max_length=200),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='answer',
            field=models.JSONField(blank=True, help_text='An answer that is not a number: text, keywords or links.', null=True),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='comment',
            field=models.TextField(blank=True, help_text="The participant's comment on the item.", max_length=2000),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='presented',
            field=models.CharField(blank=True, choices=[('first-left', 'first candidate on the left'), ('second-left', 'second candidate on the left')], max_length=11),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='replaces',
            field=models.OneToOneField(blank=True, help_text='The earlier judgment that this judgment revises. Both are kept.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replaced_by', to='annotation.judgment'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='seconds',
            field=models.FloatField(blank=True, help_text='The time during which the page was visible and the participant was active.', null=True),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='set_aside',
            field=models.BooleanField(default=False, help_text='The judgment was imported, and the original study did not use it.', verbose_name='not used'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='signals',
            field=models.JSONField(blank=True, default=dict, help_text='What the page recorded while the item was answered: {pasted, ...}.', verbose_name='recorded behaviour'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='wall_seconds',
            field=models.FloatField(blank=True, help_text='Time from the first view of the item to the answer, including pauses.', null=True, verbose_name='total seconds'),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='by',
            field=models.ForeignKey(blank=True, help_text='The account that caused this entry. Empty if the platform, the crowd or a command caused it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='door',
            field=models.CharField(blank=True, help_text='page, api, job or command', max_length=7, verbose_name='source of the request'),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='key',
            field=models.CharField(help_text='Identifies a payment by crowd, participant, session and purpose.', max_length=160, unique=True),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='request',
            field=models.CharField(blank=True, help_text='Address of the request, kind and number of the job, or name of the command.', max_length=200),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='reserved_cents',
            field=models.BigIntegerField(default=0, help_text='Change of the reserved amount.'),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='spent_cents',
            field=models.BigIntegerField(default=0, help_text='Change of the spent amount.'),
        ),
        migrations.AlterField(
            model_name='participation',
            name='cursor',
            field=models.PositiveIntegerField(default=0, help_text='The search for the next page of work starts at this position.', verbose_name='start of the search for work'),
        ),
        migrations.AlterField(
            model_name='participation',
            name='standing',
            field=models.CharField(choices=[('active', 'active'), ('paused', 'paused until reviewed'), ('excluded', 'excluded')], default='active', max_length=8),
        ),
        migrations.AlterField(
            model_name='publication',
            name='external_id',
            field=models.CharField(blank=True, help_text='Id of the publication at the crowd.', max_length=80),
        ),
        migrations.AlterField(
            model_name='publication',
            name='fee_cents',
            field=models.PositiveIntegerField(help_text="The crowd's fee for each payment."),
        ),
        migrations.AlterField(
            model_name='publication',
            name='held_slots',
            field=models.PositiveIntegerField(db_column='held', default=0, help_text='Number of places for which money is still reserved.', verbose_name='reserved places'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='hinted_at',
            field=models.DateTimeField(blank=True, help_text='Time of the last notification from the crowd.', null=True, verbose_name='notified at'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='hit',
            field=models.ForeignKey(blank=True, help_text='Empty if the whole study was published at once.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='publications', to='judgments.hit', verbose_name='page of work'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='looked_at',
            field=models.DateTimeField(blank=True, help_text='Time at which the crowd was last asked for the status.', null=True, verbose_name='status requested at'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='number',
            field=models.PositiveSmallIntegerField(default=1, help_text='Number of the publication, from 1, for this page of work (or study) and crowd.'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='places',
            field=models.PositiveIntegerField(help_text='Number of published places.'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='reward_cents',
            field=models.PositiveIntegerField(help_text='Pay for one participant.'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='screen_out_cents',
            field=models.PositiveIntegerField(default=0, help_text="Price of one paid screen-out, including the crowd's fee.", verbose_name='screen-out cents'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='screen_outs',
            field=models.PositiveIntegerField(default=0, help_text='Maximum number of screened-out participants who are paid.', verbose_name='screen-outs'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='screen_outs_held',
            field=models.PositiveIntegerField(default=0, help_text='Number of paid screen-outs for which money is still reserved.', verbose_name='reserved screen-outs'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='seen',
            field=models.JSONField(blank=True, default=dict, help_text='The last status from the crowd: {status, available, pending, ...}.', verbose_name='last status'),
        ),
        migrations.AlterField(
            model_name='qualityrule',
            name='action',
            field=models.CharField(choices=[('flag', 'flag for review'), ('pause', 'pause the participant until somebody has reviewed the flag'), ('exclude', 'exclude the participant')], default='flag', max_length=8),
        ),
        migrations.AlterField(
            model_name='spendinglimit',
            name='account_day_cents',
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name='per account and day'),
        ),
        migrations.AlterField(
            model_name='spendinglimit',
            name='account_total_cents',
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name='per account in total'),
        ),
        migrations.AlterField(
            model_name='spendinglimit',
            name='confirm_cents',
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name='amount above which a second person confirms'),
        ),
        migrations.AlterField(
            model_name='spendinglimit',
            name='day_cents',
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name='per day'),
        ),
        migrations.AlterField(
            model_name='spendinglimit',
            name='total_cents',
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name='in total'),
        ),
        migrations.AlterField(
            model_name='spendingrequest',
            name='door',
            field=models.CharField(blank=True, help_text='page, api, job or command', max_length=7, verbose_name='source of the request'),
        ),
        migrations.AlterField(
            model_name='spendingrequest',
            name='state',
            field=models.CharField(choices=[('waiting', 'waiting'), ('done', 'confirmed and done'), ('refused', 'refused'), ('void', 'void (the study changed after the request)')], default='waiting', max_length=7),
        ),
        migrations.AlterField(
            model_name='studyalarm',
            name='what',
            field=models.CharField(choices=[('controls-used-up', 'has answered all check questions, so further pages have none')], max_length=20),
        ),
        migrations.AlterField(
            model_name='worker',
            name='country',
            field=models.CharField(blank=True, help_text='ISO 3166-1 code that the participant stated. Empty: the participant was not asked.', max_length=2),
        ),
        migrations.AlterField(
            model_name='worker',
            name='erased',
            field=models.BooleanField(default=False, help_text='Replaces a participant who was erased. The name is random.'),
        ),
        migrations.AlterField(
            model_name='worker',
            name='platform',
            field=models.CharField(blank=True, db_column='place', help_text='The crowd that sent the participant. The sandbox is a different crowd.', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='worker',
            name='resume_hash',
            field=models.CharField(blank=True, max_length=64, verbose_name='hash of the resume code'),
        ),
        migrations.AlterField(
            model_name='worker',
            name='study',
            field=models.ForeignKey(blank=True, help_text='The study that created this participant in a rehearsal or an import. Participants of different studies can have the same name.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.study'),
        ),
    ]
