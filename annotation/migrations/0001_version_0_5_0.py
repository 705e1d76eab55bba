"""The tables as Quorum 0.5.0 left them, in one step; older databases go through 0.5.0 first (docs/install.md).

Indexes that 0.5.0 had are left out where 0017 drops them.
"""

import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ('annotation', '0001_initial'),
        ('annotation', '0002_quality_and_revisions'),
        ('annotation', '0003_writers_of_captions'),
        ('annotation', '0004_control_alarms'),
        ('annotation', '0005_what_was_invalidated'),
        ('annotation', '0006_withdrawn_adjudications'),
        ('annotation', '0007_crowds'),
        ('annotation', '0008_the_log_is_of_studies'),
        ('annotation', '0009_work_by_submission'),
        ('annotation', '0010_webhooks'),
        ('annotation', '0011_work_by_state'),
        ('annotation', '0012_money_requests_by_programs'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('judgments', '0001_version_0_5_0'),
    ]

    operations = [
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('source', models.CharField(choices=[('local', 'joined here'), ('crowd', 'sent by a crowd'), ('rehearsal', 'rehearsal crowd (simulated)'), ('imported', 'imported judgments')], default='local', max_length=20)),
                ('study', models.ForeignKey(blank=True, help_text='The study that created this participant in a rehearsal or an import. Participants of different studies can have the same name.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.study')),
                ('place', models.CharField(blank=True, help_text="Which crowd sent the person; the sandbox's people are others.", max_length=20)),
                ('anonymous', models.BooleanField(default=False)),
                ('token_hash', models.CharField(blank=True, max_length=64)),
                ('resume_hash', models.CharField(blank=True, max_length=64, verbose_name='hash of the resume code')),
                ('country', models.CharField(blank=True, help_text='ISO 3166-1 code that the participant stated. Empty: the participant was not asked.', max_length=2)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['name'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('source', 'local')), fields=('name',), name='local_worker_name_once'),
                    models.UniqueConstraint(condition=models.Q(('source', 'crowd')), fields=('place', 'name'), name='crowd_worker_name_once_per_place'),
                    models.UniqueConstraint(condition=models.Q(('source__in', ['rehearsal', 'imported'])), fields=('study', 'name'), name='worker_name_once_per_rehearsal_or_import'),
                    models.UniqueConstraint(condition=models.Q(('token_hash', ''), _negated=True), fields=('token_hash',), name='worker_token_once'),
                    models.CheckConstraint(condition=models.Q(models.Q(('source__in', ['local', 'crowd']), ('study__isnull', True)), models.Q(('source__in', ['rehearsal', 'imported']), ('study__isnull', False)), _connector='OR'), name='only_people_belong_to_no_study'),
                    models.CheckConstraint(condition=models.Q(models.Q(('source', 'crowd'), models.Q(('place', ''), _negated=True)), models.Q(models.Q(('source', 'crowd'), _negated=True), ('place', '')), _connector='OR'), name='a_place_sends_the_workers_of_a_crowd'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Participation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='participations', to='judgments.study')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='participations', to='annotation.worker', verbose_name='participant')),
                ('joined_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('consent_version', models.CharField(blank=True, help_text='Hash of the consent text that the participant agreed to.', max_length=16)),
                ('consented_at', models.DateTimeField(blank=True, null=True)),
                ('cursor', models.PositiveIntegerField(default=0, help_text='The search for the next page of work starts at this position.', verbose_name='start of the search for work')),
                ('completion_code', models.CharField(max_length=12)),
                ('standing', models.CharField(choices=[('active', 'active'), ('paused', 'paused until reviewed'), ('excluded', 'excluded')], default='active', max_length=8, verbose_name='status')),
            ],
            options={
                'ordering': ['study_id', 'joined_at'],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'worker'), name='a_worker_joins_a_study_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='judgments.study')),
                ('code', models.CharField(max_length=40, unique=True)),
                ('note', models.CharField(blank=True, help_text='Note on who gets the invitation. Participants do not see it.', max_length=200)),
                ('worker', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.worker', verbose_name='participant')),
                ('used_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='StudyAlarm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alarms', to='judgments.study')),
                ('what', models.CharField(choices=[('controls-used-up', "all check questions answered (further pages have no check questions)")], max_length=20)),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.worker', verbose_name='participant')),
                ('pages', models.PositiveIntegerField(default=0, help_text='On how many pages of work.')),
                ('missing', models.PositiveIntegerField(default=0, help_text='Check questions that those pages lacked.')),
                ('first_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['study_id', 'first_at'],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'what', 'worker'), name='an_alarm_once_per_worker'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Publication',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='publications', to='judgments.study')),
                ('place', models.CharField(max_length=20)),
                ('hit', models.ForeignKey(blank=True, help_text='Empty if the whole study was published at once.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='publications', to='judgments.hit', verbose_name='page of work')),
                ('number', models.PositiveSmallIntegerField(default=1, help_text='Number of the publication, from 1, for this page of work (or study) and crowd.')),
                ('token', models.CharField(max_length=64, unique=True)),
                ('external_id', models.CharField(blank=True, max_length=80, verbose_name='id at the crowd')),
                ('group_id', models.CharField(blank=True, help_text='Used only at Mechanical Turk.', max_length=80, verbose_name='HIT type')),
                ('state', models.CharField(choices=[('planned', 'planned'), ('published', 'published'), ('expired', 'closed to new participants'), ('finished', 'finished'), ('withdrawn', 'never published')], default='planned', max_length=9)),
                ('places', models.PositiveIntegerField(help_text='Number of published places.')),
                ('held', models.PositiveIntegerField(default=0, help_text='Places whose price is reserved still.')),
                ('reward_cents', models.PositiveIntegerField(help_text='Pay for one participant.', verbose_name='pay in cents')),
                ('fee_cents', models.PositiveIntegerField(help_text="The crowd's fee for each payment.", verbose_name='fee in cents')),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('seen', models.JSONField(blank=True, default=dict, help_text='The last status from the crowd: {status, available, pending, ...}.', verbose_name='last status')),
                ('looked_at', models.DateTimeField(blank=True, help_text='Time at which the crowd was last asked for the status.', null=True, verbose_name='status requested at')),
                ('hinted_at', models.DateTimeField(blank=True, help_text='Time of the last notification from the crowd.', null=True, verbose_name='notified at')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['id'],
                'indexes': [
                    models.Index(fields=['study', 'place', 'state'], name='publications_of_a_study'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('place', 'external_id'), name='a_publication_once_per_place'),
                    models.UniqueConstraint(fields=('study', 'place', 'hit', 'number'), name='publications_of_a_hit_are_numbered'),
                    models.CheckConstraint(condition=models.Q(('held__lte', models.F('places'))), name='held_places_are_places'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'published'), _negated=True), models.Q(('external_id', ''), _negated=True), _connector='OR'), name='what_is_published_has_an_id'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CrowdSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='crowd_sessions', to='judgments.study')),
                ('place', models.CharField(max_length=20)),
                ('publication', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sessions', to='annotation.publication')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='crowd_sessions', to='annotation.worker', verbose_name='participant')),
                ('external_id', models.CharField(help_text='For a panel, a pseudonym is stored instead.', max_length=80, verbose_name='id at the crowd')),
                ('status', models.CharField(choices=[('working', 'at work'), ('submitted', 'submitted'), ('approved', 'approved'), ('rejected', 'rejected'), ('returned', 'returned'), ('timed-out', 'timed out'), ('screened-out', 'screened out'), ('full', "no place was left"), ('unknown', 'unknown to the crowd')], default='working', max_length=12)),
                ('confirmed', models.BooleanField(default=False, help_text="Whether the crowd reported the session. If not, only the participant's browser reported it.", verbose_name='reported by the crowd')),
                ('booked', models.CharField(blank=True, choices=[('', "no payment recorded"), ('spent', 'spent'), ('released', "returned to the budget")], default='', max_length=8, verbose_name='recorded payment')),
                ('code', models.CharField(blank=True, help_text='The completion code that was shown.', max_length=80)),
                ('receipt', models.TextField(blank=True, help_text='The answer as the crowd stores it. Quorum does not trust it.', verbose_name='answer stored at the crowd')),
                ('feedback', models.CharField(blank=True, max_length=1024, verbose_name='message from the crowd to the participant')),
                ('arrived_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('submitted_at', models.DateTimeField(blank=True, help_text="The time of the crowd's clock, if it is known.", null=True)),
                ('auto_approval_at', models.DateTimeField(blank=True, null=True, verbose_name='automatic approval at')),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('seen_at', models.DateTimeField(blank=True, help_text='Time at which the crowd last reported the session.', null=True, verbose_name='last reported at')),
            ],
            options={
                'ordering': ['id'],
                'indexes': [
                    models.Index(fields=['study', 'place', 'status'], name='crowd_sessions_of_a_study'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('place', 'external_id', 'worker'), name='a_session_once_per_place_id_and_worker'),
                    models.CheckConstraint(condition=models.Q(models.Q(('booked', 'spent'), _negated=True), ('status', 'approved'), _connector='OR'), name='what_is_paid_is_approved'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CrowdCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='crowd_calls', to='judgments.study')),
                ('place', models.CharField(max_length=20)),
                ('kind', models.CharField(help_text='A value of annotation.crowds.base.Ability.', max_length=12)),
                ('key', models.CharField(help_text='Unique key that prevents a second execution. The crowd gets it as a token.', max_length=64, unique=True)),
                ('publication', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='annotation.publication')),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='annotation.crowdsession')),
                ('worker', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='crowd_calls', to='annotation.worker', verbose_name='participant')),
                ('payload', models.JSONField(blank=True, default=dict, verbose_name='content of the message')),
                ('reserved_cents', models.PositiveIntegerField(default=0, help_text='Reserved until the request is done.', verbose_name='reserved amount in cents')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('started', 'being sent'), ('done', 'done'), ('parked', 'failed'), ('dropped', 'no longer needed')], default='waiting', max_length=7)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('why', models.CharField(blank=True, max_length=1024, verbose_name='reason')),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now, help_text='The message is not sent before this time.', verbose_name='next attempt at')),
                ('first_started_at', models.DateTimeField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('answer', models.JSONField(blank=True, default=dict, verbose_name='reply of the crowd')),
                ('problem', models.CharField(blank=True, max_length=1000, verbose_name='last error')),
            ],
            options={
                'ordering': ['id'],
                'indexes': [
                    models.Index(condition=models.Q(('state__in', ['waiting', 'started'])), fields=['study', 'next_at'], name='calls_to_carry_out'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), models.Q(('done_at__isnull', False), ('reserved_cents', 0)), _connector='OR'), name='a_call_that_is_done_keeps_no_money'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'parked'), _negated=True), models.Q(('problem', ''), _negated=True), _connector='OR'), name='a_parked_call_says_why'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'started'), _negated=True), ('started_at__isnull', False), _connector='OR'), name='a_started_call_has_a_time'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RawId',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='raw_ids', to='annotation.worker', verbose_name='participant')),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='raw_ids', to='annotation.crowdsession')),
                ('name', models.CharField(help_text="The crowd's word for it, such as PROLIFIC_PID.", max_length=80)),
                ('value', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('session__isnull', True)), fields=('worker', 'name'), name='a_raw_id_once_per_worker'),
                    models.UniqueConstraint(condition=models.Q(('session__isnull', False)), fields=('session', 'name'), name='a_raw_id_once_per_session'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Budget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='budgets', to='judgments.study')),
                ('place', models.CharField(max_length=20)),
                ('budget_cents', models.PositiveBigIntegerField(default=0)),
                ('reserved_cents', models.PositiveBigIntegerField(default=0)),
                ('spent_cents', models.PositiveBigIntegerField(default=0)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'place'), name='one_budget_per_study_and_place'),
                    models.CheckConstraint(condition=models.Q(('reserved_cents__gte', 0), ('spent_cents__gte', 0), ('budget_cents__gte', django.db.models.expressions.CombinedExpression(models.F('reserved_cents'), '+', models.F('spent_cents')))), name='reserved_and_spent_within_the_budget'),
                ],
            },
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('budget', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='annotation.budget')),
                ('key', models.CharField(help_text='Identifies a payment by crowd, participant, session and purpose.', max_length=160, unique=True)),
                ('what', models.CharField(help_text='reserve, release, move, reward, bonus', max_length=12, verbose_name='type')),
                ('reserved_cents', models.BigIntegerField(default=0, verbose_name='change of the reserved amount in cents')),
                ('spent_cents', models.BigIntegerField(default=0, verbose_name='change of the spent amount in cents')),
                ('publication', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='annotation.publication')),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='annotation.crowdsession')),
                ('call', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='annotation.crowdcall', verbose_name='outbox message')),
                ('at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='time')),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='MoneyRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('key', models.CharField(help_text='The Idempotency-Key it came with.', max_length=200)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.study')),
                ('step', models.CharField(help_text='bonus, top-up, budget, retry, was-done, was-not-done.', max_length=20)),
                ('digest', models.CharField(help_text='Of all that was asked: the same key must ask for the same.', max_length=64)),
                ('answer', models.JSONField(blank=True, default=dict, help_text='What was answered, and is again.')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(fields=('by', 'key'), name='a_key_once_per_account'),
                ],
            },
        ),
        migrations.CreateModel(
            name='QualityRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='judgments.study')),
                ('rule', models.CharField(help_text='Its name in files and addresses.', max_length=40, verbose_name='detector')),
                ('settings', models.JSONField(blank=True, default=dict, help_text='Settings that differ from the defaults.')),
                ('action', models.CharField(choices=[('flag', 'flag for review'), ('pause', 'pause the participant until somebody has reviewed the flag'), ('exclude', 'exclude the participant')], default='flag', max_length=8)),
                ('enabled', models.BooleanField(default=False)),
                ('changed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('changed_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['study_id', 'rule'],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'rule'), name='a_rule_once_per_study'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Exclusion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exclusions', to='judgments.study')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exclusions', to='annotation.worker', verbose_name='participant')),
                ('rule', models.CharField(blank=True, help_text='Empty: a person did it.', max_length=40, verbose_name='detector')),
                ('why', models.CharField(max_length=500)),
                ('evidence', models.JSONField(blank=True, default=dict)),
                ('made_by', models.ForeignKey(blank=True, help_text='Empty for a detector.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('lifted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lifted_at', models.DateTimeField(blank=True, null=True)),
                ('lifted_why', models.CharField(blank=True, max_length=500)),
            ],
            options={
                'ordering': ['-made_at'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('lifted_at__isnull', True)), fields=('study', 'worker'), name='a_worker_is_excluded_from_a_study_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='judgments.study')),
                ('hit', models.ForeignKey(blank=True, help_text='Empty only for imported judgments without a known page of work.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='judgments.hit', verbose_name='page of work')),
                ('worker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.worker', verbose_name='participant')),
                ('state', models.CharField(choices=[('reserved', 'reserved (loaded in advance)'), ('accepted', 'in progress'), ('submitted', 'submitted'), ('returned', 'returned'), ('expired', 'expired'), ('approved', 'approved'), ('rejected', 'rejected'), ('invalidated', 'invalidated (the participant was excluded)'), ('apart', "not used (the crowd does not know this work)")], default='accepted', max_length=11)),
                ('seat', models.PositiveSmallIntegerField(default=0, help_text='Number of the place on the page of work. Two assignments never have the same place.', verbose_name='place')),
                ('external_id', models.CharField(blank=True, help_text='Id of the assignment in the system that collected it.', max_length=80)),
                ('session', models.ForeignKey(blank=True, db_index=False, help_text='The crowd session to which the assignment belongs.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.crowdsession')),
                ('accepted_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('submitted_at', models.DateTimeField(blank=True, null=True)),
                ('extended', models.PositiveSmallIntegerField(default=0, help_text='How many times the time limit was extended.', verbose_name='extensions of the time limit')),
                ('order', models.JSONField(default=list, help_text='For each position: the number of the item that is shown there, from 0. Empty: the order of the page.')),
                ('flips', models.JSONField(default=list, help_text='For each position: whether the second candidate is shown first, or the order of the options. Empty if the protocol has neither.', verbose_name='display order')),
                ('answers', models.JSONField(default=dict, help_text='{value or answer, seconds, ...} for each position as shown. First the draft, later the submitted answers.')),
                ('consent_version', models.CharField(blank=True, help_text='Hash of the consent text that was in force for this assignment.', max_length=16)),
                ('instructions_version', models.CharField(blank=True, help_text='Hash of the question, instructions and examples that were shown.', max_length=16)),
                ('reason', models.CharField(blank=True, help_text='Reason for the rejection.', max_length=500)),
                ('exclusion', models.ForeignKey(blank=True, db_index=False, help_text='The exclusion that invalidated the assignment. It remains here if the exclusion is lifted.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.exclusion')),
                ('before_exclusion', models.CharField(blank=True, choices=[('reserved', 'reserved (loaded in advance)'), ('accepted', 'in progress'), ('submitted', 'submitted'), ('returned', 'returned'), ('expired', 'expired'), ('approved', 'approved'), ('rejected', 'rejected'), ('invalidated', 'invalidated (the participant was excluded)'), ('apart', "not used (the crowd does not know this work)")], help_text='State of the assignment before it was invalidated.', max_length=11, verbose_name='state before exclusion')),
                ('simulated', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ['accepted_at'],
                'indexes': [
                    models.Index(condition=models.Q(('state__in', ['reserved', 'accepted'])), fields=['study', 'expires_at'], name='leases_by_expiry'),
                    models.Index(fields=['worker', 'hit'], name='work_of_a_worker'),
                    models.Index(fields=['study', 'submitted_at'], name='work_by_submission'),
                    models.Index(fields=['study', 'state', 'submitted_at'], name='work_by_state'),
                    models.Index(fields=['accepted_at'], name='work_in_order'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('state__in', ('reserved', 'accepted', 'submitted', 'approved', 'rejected'))), fields=('hit', 'worker'), name='a_worker_holds_a_hit_once'),
                    models.UniqueConstraint(condition=models.Q(('state__in', ('reserved', 'accepted', 'submitted', 'approved', 'rejected'))), fields=('hit', 'seat'), name='a_seat_is_taken_once'),
                    models.UniqueConstraint(condition=models.Q(('session__isnull', True), ('state', 'accepted')), fields=('study', 'worker'), name='a_worker_holds_one_hit_at_a_time'),
                    models.UniqueConstraint(condition=models.Q(('state', 'accepted')), fields=('session',), name='a_session_holds_one_hit_at_a_time'),
                    models.UniqueConstraint(condition=models.Q(('state', 'reserved')), fields=('study', 'worker'), name='a_worker_reserves_one_hit_at_a_time'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'invalidated'), _negated=True), ('exclusion__isnull', False), _connector='OR'), name='an_invalidated_assignment_names_its_exclusion'),
                    models.CheckConstraint(condition=models.Q(('state', 'invalidated'), ('before_exclusion', ''), _connector='OR'), name='only_invalidated_work_was_something_else'),
                    models.CheckConstraint(condition=models.Q(('submitted_at__isnull', True), ('submitted_at__gte', models.F('accepted_at')), _connector='OR'), name='submitted_after_accepted'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['submitted', 'approved', 'rejected']), _negated=True), ('submitted_at__isnull', False), _connector='OR'), name='finished_work_has_a_time'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Judgment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgments', to='annotation.assignment')),
                ('unit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgments', to='judgments.unit', verbose_name='item')),
                ('value', models.SmallIntegerField(blank=True, null=True)),
                ('answer', models.JSONField(blank=True, help_text='An answer that is not a number: text, keywords or links.', null=True)),
                ('presented', models.CharField(blank=True, choices=[('first-left', 'first candidate on the left'), ('second-left', 'second candidate on the left')], max_length=11, verbose_name='sides of the candidates')),
                ('seconds', models.FloatField(blank=True, help_text='The time during which the page was visible and the participant was active.', null=True, verbose_name='active seconds')),
                ('wall_seconds', models.FloatField(blank=True, help_text='Time from the first view of the item to the answer, including pauses.', null=True, verbose_name='total seconds')),
                ('comment', models.TextField(blank=True, help_text="The participant's comment on the item.", max_length=2000)),
                ('signals', models.JSONField(blank=True, default=dict, help_text='What the page recorded while the item was answered: {pasted, ...}.', verbose_name='recorded behaviour')),
                ('replaces', models.OneToOneField(blank=True, help_text='The judgment that this judgment revises. Both are kept.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replaced_by', to='annotation.judgment', verbose_name='earlier judgment')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='answered at')),
                ('set_aside', models.BooleanField(default=False, help_text='The judgment was imported, and the original study did not use it.', verbose_name='not used')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('replaces__isnull', True)), fields=('assignment', 'unit'), name='one_judgment_per_assignment_and_unit'),
                    models.CheckConstraint(condition=models.Q(('value__isnull', False), ('answer__isnull', False), _connector='OR'), name='a_judgment_has_an_answer'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ProblemReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='annotation.assignment')),
                ('unit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='judgments.unit', verbose_name='item')),
                ('what', models.CharField(choices=[('picture', 'The picture cannot be seen'), ('text', 'A sentence is broken or offensive'), ('other', 'Something else')], default='other', max_length=10, verbose_name='problem')),
                ('comment', models.TextField(blank=True, max_length=2000)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='AppealNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='appeal_notes', to='annotation.assignment')),
                ('text', models.TextField(max_length=2000)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('from_worker', models.BooleanField(default=False, verbose_name='from the participant')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Case',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cases', to='judgments.study')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cases', to='annotation.worker', verbose_name='participant')),
                ('rule', models.CharField(max_length=40, verbose_name='detector')),
                ('action', models.CharField(choices=[('flag', 'flag for review'), ('pause', 'pause the participant until somebody has reviewed the flag'), ('exclude', 'exclude the participant')], help_text='What was done when it was found.', max_length=8)),
                ('evidence', models.JSONField(default=dict, help_text='Numbers and settings behind the finding.')),
                ('answers', models.PositiveIntegerField(default=0, help_text='After how many answers of the participant.')),
                ('state', models.CharField(choices=[('open', 'open'), ('confirmed', 'confirmed'), ('dismissed', 'dismissed')], default='open', max_length=9)),
                ('exclusion', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='cases', to='annotation.exclusion')),
                ('opened_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decision', models.CharField(blank=True, help_text='Why it was decided so.', max_length=500)),
            ],
            options={
                'ordering': ['-opened_at'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('study', 'worker', 'rule'), name='one_open_case_per_worker_and_rule'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Adjudication',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='adjudications', to='judgments.study')),
                ('unit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='adjudications', to='judgments.unit', verbose_name='item')),
                ('adjudicator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to=settings.AUTH_USER_MODEL)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('decided', 'decided'), ('withdrawn', 'withdrawn')], default='waiting', max_length=9)),
                ('side', models.JSONField(blank=True, help_text="The side that the item's kind drew for the adjudicator.", null=True)),
                ('value', models.SmallIntegerField(blank=True, help_text="The final answer, in the unit's order.", null=True)),
                ('answer', models.JSONField(blank=True, help_text='The final answer of an open kind.', null=True)),
                ('reason', models.CharField(blank=True, help_text="In the adjudicator's words.", max_length=500)),
                ('votes', models.JSONField(blank=True, default=dict, help_text='The votes as they stood when it was sent.')),
                ('sent_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sent_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('withdrawn_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['sent_at', 'id'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('state', 'withdrawn'), _negated=True), fields=('unit',), name='a_unit_is_adjudicated_once'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'decided'), _negated=True), models.Q(('decided_at__isnull', False), models.Q(('value__isnull', False), ('answer__isnull', False), _connector='OR')), _connector='OR'), name='a_decision_has_an_answer_and_a_time'),
                ],
            },
        ),
        migrations.CreateModel(
            name='QuizAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quiz_attempts', to='annotation.worker', verbose_name='participant')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quiz_attempts', to='judgments.study')),
                ('qualification', models.CharField(help_text="What passing it is good for: a name that studies share, or the study's own.", max_length=80)),
                ('number', models.PositiveSmallIntegerField(help_text='Which try it is, from 1.')),
                ('items', models.JSONField(help_text='The sampled items, in the order shown.')),
                ('answers', models.JSONField(default=dict, help_text='Position -> answer, as the participant saw it.')),
                ('right', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('passed', models.BooleanField(blank=True, null=True)),
                ('simulated', models.BooleanField(default=False)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['started_at'],
                'constraints': [
                    models.UniqueConstraint(fields=('worker', 'qualification', 'number'), name='quiz_attempts_are_numbered'),
                    models.CheckConstraint(condition=models.Q(('finished_at__isnull', True), models.Q(('passed__isnull', False), ('right__isnull', False)), _connector='OR'), name='a_finished_attempt_has_a_result'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='judgments.study')),
                ('url', models.CharField(max_length=500)),
                ('salt', models.CharField(max_length=64)),
                ('submissions', models.BooleanField(default=False, help_text='Hears of submitted assignments.')),
                ('completions', models.BooleanField(default=False, help_text="Hears of the study's completion.")),
                ('exclusions', models.BooleanField(default=False, help_text='Hears of excluded workers.')),
                ('active', models.BooleanField(default=True)),
                ('failures', models.PositiveIntegerField(default=0, help_text='Attempts in a row that failed.')),
                ('rests_until', models.DateTimeField(blank=True, help_text='After a failure nothing is sent until then.', null=True)),
                ('told_complete_at', models.DateTimeField(blank=True, help_text='When its completion was noted; empty while the study is not complete.', null=True)),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'url'), name='a_webhook_once_per_address'),
                    models.CheckConstraint(condition=models.Q(('submissions', True), ('completions', True), ('exclusions', True), _connector='OR'), name='a_webhook_hears_of_something'),
                ],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='annotation.webhook')),
                ('event', models.CharField(max_length=30)),
                ('key', models.CharField(help_text='What happened; nothing is told twice to one webhook.', max_length=100)),
                ('payload', models.JSONField(help_text="The message's data.")),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('sending', 'being sent'), ('delivered', 'delivered'), ('given-up', 'given up')], default='waiting', max_length=9)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('status', models.PositiveSmallIntegerField(blank=True, help_text='HTTP status of the last answer.', null=True)),
                ('problem', models.CharField(blank=True, help_text='Why the last attempt failed.', max_length=300)),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
                'ordering': ['-made_at', 'id'],
                'indexes': [
                    models.Index(models.F('next_at'), condition=models.Q(('state__in', ['waiting', 'sending'])), name='deliveries_to_send'),
                    models.Index(fields=['webhook', '-made_at'], name='deliveries_of_a_webhook'),
                    models.Index(fields=['made_at'], name='deliveries_by_age'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('webhook', 'key'), name='an_event_once_per_webhook'),
                    models.CheckConstraint(condition=models.Q(models.Q(('delivered_at__isnull', False), ('state', 'delivered')), models.Q(models.Q(('state', 'delivered'), _negated=True), ('delivered_at__isnull', True)), _connector='OR'), name='delivered_has_a_time'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'sending'), _negated=True), ('started_at__isnull', False), _connector='OR'), name='sending_has_begun'),
                ],
            },
        ),
        migrations.CreateModel(
            name='WrittenCaption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('caption', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='written', to='judgments.caption')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='written', to='annotation.worker', verbose_name='participant')),
                ('judgment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='captions', to='annotation.judgment')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(fields=('caption', 'judgment'), name='a_judgment_is_adopted_once_as_a_caption'),
                ],
            },
        ),
    ]
