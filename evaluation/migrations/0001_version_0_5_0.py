"""The tables as Quorum 0.5.0 left them, in one step; older databases go through 0.5.0 first (docs/install.md)."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ('evaluation', '0001_initial'),
        ('evaluation', '0002_open_and_adjudicated'),
        ('evaluation', '0003_judgment_signatures_registrations_and_releases'),
        ('evaluation', '0004_plans'),
        ('evaluation', '0005_board_snapshots'),
        ('evaluation', '0006_reports_of_a_study'),
        ('evaluation', '0007_rehearsals_of_a_study'),
        ('evaluation', '0008_challenges_and_submissions'),
        ('evaluation', '0009_units_by_margin'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('judgments', '0001_version_0_5_0'),
    ]

    operations = [
        migrations.CreateModel(
            name='Challenge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(help_text='Part of its address.', max_length=80, unique=True, verbose_name='short name')),
                ('title', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True, help_text='Markdown, shown on its public page.')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='challenges', to='judgments.dataset')),
                ('split', models.CharField(blank=True, help_text='Empty: all images of the dataset.', max_length=20)),
                ('metrics', models.JSONField(help_text='Names; the leaderboard is ordered by the first.')),
                ('tokenizer', models.CharField(default='ptb', max_length=20)),
                ('images', models.PositiveIntegerField(help_text='How many there are to be captioned.')),
                ('references_sha256', models.CharField(max_length=64)),
                ('opens_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('closes_at', models.DateTimeField(blank=True, help_text='Empty: open until it is closed.', null=True)),
                ('per_day', models.PositiveSmallIntegerField(default=5, help_text='Submissions of an account in a day of UTC.', validators=[django.core.validators.MinValueValidator(1)])),
                ('per_total', models.PositiveSmallIntegerField(default=50, help_text='Submissions of an account at all.', validators=[django.core.validators.MinValueValidator(1)])),
                ('shown_before_end', models.BooleanField(default=True, help_text='Otherwise nobody sees a score before the challenge is closed.', verbose_name='scores are shown before the end')),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-opens_at', 'slug'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('closes_at__isnull', True), ('closes_at__gte', models.F('opens_at')), _connector='OR'), name='challenge_opens_before_it_closes'),
                    models.CheckConstraint(condition=models.Q(('per_day__gte', 1), ('per_total__gte', 1)), name='challenge_takes_a_submission'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Submission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('challenge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='evaluation.challenge')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to=settings.AUTH_USER_MODEL)),
                ('system', models.CharField(max_length=80)),
                ('team', models.CharField(max_length=80)),
                ('description', models.TextField(blank=True, max_length=2000)),
                ('link', models.URLField(blank=True, max_length=300, validators=[django.core.validators.URLValidator(schemes=['http', 'https'])])),
                ('public', models.BooleanField(default=True, help_text='Whether its author shows it on the leaderboard.')),
                ('sha256', models.CharField(help_text='Of the captions in the order of the images.', max_length=64)),
                ('captions', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('queued', 'waiting to be scored'), ('scored', 'scored'), ('failed', 'could not be scored')], default='queued', max_length=6)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('scores', models.JSONField(default=dict, help_text='Metric -> corpus, and low and high of its interval.')),
                ('signatures', models.JSONField(default=dict)),
                ('day', models.DateField(help_text='Of UTC.')),
                ('nth_of_day', models.PositiveSmallIntegerField()),
                ('nth', models.PositiveSmallIntegerField()),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('removed_why', models.CharField(blank=True, max_length=500)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('scored_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [
                    models.UniqueConstraint(fields=('challenge', 'user', 'sha256'), name='same_captions_are_one_submission'),
                    models.UniqueConstraint(fields=('challenge', 'user', 'day', 'nth_of_day'), name='submissions_of_a_day_are_numbered'),
                    models.UniqueConstraint(fields=('challenge', 'user', 'nth'), name='submissions_are_numbered'),
                    models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'scored', 'failed'])), name='submission_state_is_a_known_one'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SubmissionContent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('submission', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='content', to='evaluation.submission')),
                ('captions', models.BinaryField(help_text='JSON list in the order of the images, packed by zlib.')),
                ('images', models.BinaryField(help_text='npz: metric -> scores in that order.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Standing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('challenge', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='standing', to='evaluation.challenge')),
                ('of', models.JSONField(help_text='Ids of the submissions that were compared.')),
                ('ranks', models.JSONField(help_text='Id -> best and worst rank that the tests leave open.')),
                ('p', models.JSONField(default=dict, help_text="'id-id' -> p of the paired test, which never changes.")),
                ('signature', models.CharField(blank=True, max_length=500)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='ChallengeEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('challenge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='events', to='evaluation.challenge')),
                ('what', models.CharField(max_length=40)),
                ('words', models.CharField(max_length=1000)),
                ('why', models.CharField(blank=True, max_length=500)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Consensus',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consensus', to='judgments.study')),
                ('unit', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='consensus', to='judgments.unit', verbose_name='item')),
                ('pair', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='consensus', to='judgments.candidatepair')),
                ('source', models.CharField(choices=[('judgments', 'computed from judgments'), ('published', 'published without votes'), ('adjudicated', 'decided by an adjudicator')], default='judgments', max_length=11)),
                ('n', models.PositiveIntegerField(help_text='Number of used judgments. For a pair: number of its items with a winner or a tie.', verbose_name='judgments used')),
                ('value', models.FloatField(blank=True, help_text='Empty if there is a tie, or if there are no judgments.', null=True)),
                ('answer', models.JSONField(blank=True, help_text='Consensus of answers that are not numbers.', null=True)),
                ('share', models.FloatField(blank=True, null=True, verbose_name='share of the votes')),
                ('margin', models.FloatField(blank=True, null=True, verbose_name='lead of the winner')),
                ('tie', models.BooleanField(default=False)),
                ('votes', models.JSONField(default=dict, help_text='The number of judgments with each answer. For a pair: wins, losses and ties.')),
            ],
            options={
                'verbose_name_plural': 'consensus',
                'ordering': ['id'],
                'indexes': [
                    models.Index(condition=models.Q(('unit__isnull', False)), fields=['study', 'margin', 'id'], name='units_by_margin'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(models.Q(('pair__isnull', True), ('unit__isnull', False)), models.Q(('pair__isnull', False), ('unit__isnull', True)), _connector='OR'), name='consensus_of_a_unit_or_of_a_pair'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Analysis',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='analyses', to='judgments.study')),
                ('what', models.CharField(choices=[('aggregation', 'consensus, agreement and workers'), ('meta-evaluation', 'metrics against the consensus'), ('plan', 'how many pairs and votes a difference takes'), ('report', 'report'), ('rehearsal', 'what a rehearsal shows')], max_length=20, verbose_name='type')),
                ('settings', models.JSONField(default=dict)),
                ('signature', models.CharField(blank=True, max_length=500)),
                ('judgments', models.CharField(blank=True, help_text='Signature of the judgments from which the analysis was computed.', max_length=500)),
                ('data_hash', models.CharField(max_length=64)),
                ('result', models.JSONField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'verbose_name_plural': 'analyses',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='MetricScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('analysis', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='evaluation.analysis')),
                ('metric', models.CharField(max_length=30)),
                ('pair', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.candidatepair')),
                ('unit', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.unit', verbose_name='item')),
                ('first', models.FloatField(help_text='For a single text, its score.', verbose_name='score of the first candidate')),
                ('second', models.FloatField(blank=True, null=True, verbose_name='score of the second candidate')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Registration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='registration', to='judgments.study')),
                ('content', models.JSONField(help_text='Hypotheses, rules, planned analyses and the design, as registered.')),
                ('sha256', models.CharField(help_text='Of the content as canonical JSON.', max_length=64)),
                ('registered_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('registered_by', models.ForeignKey(blank=True, help_text='Empty where a command did it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='releases', to='judgments.study')),
                ('version', models.CharField(max_length=20)),
                ('title', models.CharField(max_length=300)),
                ('licence', models.CharField(help_text='SPDX identifier.', max_length=60)),
                ('citation', models.TextField(blank=True)),
                ('texts', models.BooleanField(default=True, help_text='Whether captions stand in it, or their ids alone.')),
                ('signature', models.CharField(help_text='The judgment signature of its rows.', max_length=500)),
                ('sha256', models.CharField(max_length=64)),
                ('size', models.PositiveBigIntegerField(help_text='Bytes.')),
                ('file', models.CharField(blank=True, help_text='Its name in the folder of releases; empty where written elsewhere.', max_length=200)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('made_by', models.ForeignKey(blank=True, help_text='Empty where a command did it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['study_id', 'id'],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'version'), name='one_release_per_version'),
                ],
            },
        ),
        migrations.CreateModel(
            name='BoardSnapshot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='board', to='judgments.study')),
                ('judgments', models.PositiveBigIntegerField(help_text='How many had come in.')),
                ('newest', models.PositiveBigIntegerField(help_text='Row id of the last of them.')),
                ('event', models.PositiveBigIntegerField(default=0, help_text="Row id of the study's last log entry then.")),
                ('result', models.JSONField(help_text='Numbers, sentences and drawings, as the page shows them.')),
                ('scores', models.JSONField(default=dict, help_text='Metric -> scores of the candidates, which do not change.')),
                ('seconds', models.FloatField(help_text='How long it took to make.')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['study_id'],
            },
        ),
    ]
