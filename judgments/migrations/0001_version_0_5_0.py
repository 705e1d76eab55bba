"""The tables as Quorum 0.5.0 left them, in one step; older databases go through 0.5.0 first (docs/install.md).

Indexes that 0.5.0 had are left out where 0019 drops them.
"""

import django.core.serializers.json
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
import judgments.models.datasets
from django.conf import settings
from django.db import migrations, models


GROUP = "Researchers"
PERMISSIONS = {
    "study": ["add"],
    "dataset": ["add", "view"],
    "system": ["view"],
    "item": ["view"],
    "caption": ["view"],
}


def make_group(apps, schema_editor):
    """Make the group whose members design studies of their own (docs/roles.md); a group of this name stays as it is.

    Django makes permissions after all migrations, so those that the group needs are made here.
    """
    group, made = apps.get_model("auth", "Group").objects.get_or_create(name=GROUP)
    if not made:
        return
    for model, verbs in PERMISSIONS.items():
        kind, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
            app_label="judgments", model=model
        )
        for verb in verbs:
            permission, _ = apps.get_model("auth", "Permission").objects.get_or_create(
                content_type=kind, codename=f"{verb}_{model}", defaults={"name": f"Can {verb} {model}"}
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ('judgments', '0001_initial'),
        ('judgments', '0002_content_of_open_kinds'),
        ('judgments', '0003_outlooks_of_units'),
        ('judgments', '0004_places_of_studies'),
        ('judgments', '0005_roles_events_and_pauses'),
        ('judgments', '0006_saved_presets'),
        ('judgments', '0007_extra_workers_of_hits'),
        ('judgments', '0008_api_tokens'),
        ('judgments', '0009_group_of_researchers'),
        ('judgments', '0010_audited_units'),
        ('judgments', '0011_units_and_hits_in_order'),
        ('judgments', '0012_kept_figures_and_control_items_in_order'),
        ('judgments', '0013_inputs_of_items'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=80, unique=True)),
                ('source_format', models.CharField(max_length=30)),
                ('fingerprint', models.CharField(help_text='SHA-256 of the imported rows. If the same file is imported again, nothing changes.', max_length=64)),
                ('notes', models.JSONField(blank=True, default=dict, help_text='Notes of the import about the data.')),
                ('attribution', models.TextField(blank=True, help_text='Source, licence and authors, shown with the pictures.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='judgments.dataset')),
                ('name', models.CharField(max_length=200)),
                ('position', models.PositiveIntegerField(help_text='Position in the imported source. Sampling starts from this order.')),
                ('split', models.CharField(blank=True, max_length=20)),
                ('url', models.URLField(blank=True, max_length=500, verbose_name='web address')),
                ('picture', models.FileField(blank=True, max_length=300, upload_to=judgments.models.datasets.picture_path)),
                ('text', models.TextField(blank=True, help_text='The text that belongs to the image (MC12 §3.2).')),
                ('boxes', models.JSONField(blank=True, default=list, help_text='Labelled boxes: [{id, label, x, y, width, height}] (WG15 §3).')),
                ('fields', models.JSONField(blank=True, default=list, help_text='For a HIT template: [[column, text], …].', verbose_name='row of inputs')),
            ],
            options={
                'verbose_name': 'image',
                'ordering': ['dataset_id', 'position'],
                'constraints': [
                    models.UniqueConstraint(fields=('dataset', 'name'), name='item_name_once_per_dataset'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Caption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='captions', to='judgments.dataset')),
                ('item', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='references', to='judgments.item')),
                ('key', models.CharField(max_length=220)),
                ('text', models.TextField()),
                ('role', models.CharField(choices=[('reference', 'reference'), ('candidate', 'candidate')], max_length=10)),
                ('position', models.PositiveIntegerField(default=0, help_text='Position among the references of the image.')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(fields=('dataset', 'key'), name='caption_key_once_per_dataset'),
                    models.CheckConstraint(condition=models.Q(models.Q(('item__isnull', True), ('role', 'candidate')), models.Q(('item__isnull', False), ('role', 'reference')), _connector='OR'), name='a_reference_has_an_image_and_a_candidate_has_none'),
                ],
            },
        ),
        migrations.CreateModel(
            name='System',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='systems', to='judgments.dataset')),
                ('name', models.CharField(max_length=80)),
                ('human', models.BooleanField(default=False, help_text='The captions are by people, not by a system.', verbose_name='captions by people')),
                ('fingerprint', models.CharField(blank=True, max_length=64)),
            ],
            options={
                'ordering': ['dataset_id', 'name'],
                'constraints': [
                    models.UniqueConstraint(fields=('dataset', 'name'), name='system_name_once_per_dataset'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Output',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('system', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outputs', to='judgments.system')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outputs', to='judgments.item')),
                ('caption', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outputs', to='judgments.caption')),
                ('rank', models.PositiveIntegerField(default=0)),
                ('score', models.FloatField(blank=True, null=True)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(fields=('system', 'item', 'rank'), name='one_output_per_system_image_and_rank'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PublishedPair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='published_pairs', to='judgments.dataset')),
                ('key', models.CharField(max_length=80)),
                ('position', models.PositiveIntegerField()),
                ('kind', models.CharField(max_length=2)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.item')),
                ('first', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.caption')),
                ('second', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.caption')),
                ('first_system', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.system')),
                ('second_system', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.system')),
                ('references', models.PositiveIntegerField(help_text='How many leading references of the image belong to the pair.')),
            ],
            options={
                'ordering': ['dataset_id', 'position'],
                'constraints': [
                    models.UniqueConstraint(fields=('dataset', 'key'), name='published_pair_once_per_dataset'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Study',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True, verbose_name='short name')),
                ('name', models.CharField(max_length=200)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='studies', to='judgments.dataset')),
                ('protocol', models.CharField(max_length=20)),
                ('design', models.JSONField(help_text='The frozen StudyDesign. Use design_of(study) to read it.')),
                ('state', models.CharField(choices=[('draft', 'draft'), ('generated', 'generated'), ('open', 'open'), ('closed', 'closed')], default='draft', max_length=10)),
                ('source', models.CharField(choices=[('designed', 'designed here'), ('imported', 'imported judgments')], default='designed', max_length=10)),
                ('simulated', models.BooleanField(default=False, help_text='Contains simulated answers of a rehearsal, not answers of people.')),
                ('fingerprint', models.CharField(blank=True, help_text='SHA-256 of imported judgments.', max_length=64)),
                ('place', models.CharField(blank=True, help_text='The crowd that it was first opened to, its sandbox or the live one; it never moves to another.', max_length=20)),
                ('notes', models.JSONField(blank=True, default=dict)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('generated_at', models.DateTimeField(blank=True, null=True)),
                ('opened_at', models.DateTimeField(blank=True, null=True)),
                ('paused_at', models.DateTimeField(blank=True, help_text='Time at which the study was paused. A paused study offers no work, but pages of work in progress can be finished.', null=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name_plural': 'studies',
                'ordering': ['-created_at', 'slug'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('paused_at', None), ('state', 'open'), _connector='OR'), name='only_an_open_study_is_paused'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CandidatePair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pairs', to='judgments.study')),
                ('key', models.CharField(max_length=80)),
                ('position', models.PositiveIntegerField()),
                ('kind', models.CharField(blank=True, help_text='HC, HI, HM, MM (V15 §3); blank where unknown.', max_length=2)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.item')),
                ('first', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.caption')),
                ('second', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.caption')),
                ('first_system', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='judgments.system')),
                ('second_system', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='judgments.system')),
                ('references', models.JSONField(default=list, help_text='Keys of the reference captions the pair is judged and scored against.')),
                ('published_winner', models.PositiveSmallIntegerField(blank=True, help_text='1 or 2 where a winner was published without votes.', null=True)),
            ],
            options={
                'ordering': ['study_id', 'position'],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'key'), name='pair_key_once_per_study'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Unit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='units', to='judgments.study')),
                ('key', models.CharField(max_length=80)),
                ('position', models.PositiveIntegerField()),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.item')),
                ('reference', models.ForeignKey(db_index=False, blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.caption')),
                ('first', models.ForeignKey(db_index=False, blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.caption')),
                ('second', models.ForeignKey(db_index=False, blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.caption')),
                ('pair', models.ForeignKey(db_index=False, blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='units', to='judgments.candidatepair')),
                ('kind', models.CharField(blank=True, max_length=2)),
                ('control', models.BooleanField(default=False, verbose_name='check question')),
                ('expected', models.JSONField(blank=True, help_text='Only for check questions.', null=True, verbose_name='right answer')),
                ('control_kind', models.CharField(blank=True, choices=[('degraded', 'a caption of the item and a damaged copy of it'), ('repeated', 'an item of the same page of work, shown again'), ('known-good', 'an item whose answer the designer knows'), ('reference', "a person's caption of the image"), ('quiz', 'an item of the quiz that is not on a page of work')], help_text='Empty if the item is not a check question.', max_length=10, verbose_name='kind of check question')),
                ('content', models.JSONField(blank=True, default=dict, help_text='Other content of the item, stored when the item was generated.')),
                ('filtered', models.BooleanField(default=False, help_text='The filter left the text out, or the text belongs to another item (H13 §4.3.2).', verbose_name='added to fill a group')),
                ('audited', models.BooleanField(default=False, help_text='An item below the Bleu-pre threshold, sampled to measure the errors of the filter.')),
                ('struck', models.BooleanField(default=False, help_text='A check question that was withdrawn because it misled careful participants.')),
            ],
            options={
                'ordering': ['study_id', 'position'],
                'indexes': [
                    models.Index(fields=['study', 'position'], name='units_in_order'),
                    models.Index(condition=models.Q(('control', True)), fields=['study', 'position'], name='control_items_in_order'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'key'), name='unit_key_once_per_study'),
                    models.CheckConstraint(condition=models.Q(('struck', False), ('control', True), _connector='OR'), name='only_control_items_can_be_struck'),
                ],
            },
        ),
        migrations.CreateModel(
            name='HIT',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='hits', to='judgments.study')),
                ('key', models.CharField(max_length=80)),
                ('position', models.PositiveIntegerField()),
                ('required', models.PositiveSmallIntegerField(verbose_name='participants needed')),
                ('open_slots', models.PositiveSmallIntegerField(help_text='Number of places that are still offered.', verbose_name='open places')),
                ('spared', models.PositiveSmallIntegerField(default=0, help_text='Places that are no longer offered, because the outcome of the items is decided or the offer expired.', verbose_name='places saved')),
                ('extra', models.PositiveSmallIntegerField(default=0, help_text='Number of places that were added after the design was frozen.', verbose_name='added places')),
                ('external_id', models.CharField(blank=True, max_length=80, verbose_name='id at the crowd')),
            ],
            options={
                'verbose_name': 'HIT',
                'ordering': ['study_id', 'position'],
                'indexes': [
                    models.Index(condition=models.Q(('open_slots__gt', 0)), fields=['study', 'position'], name='open_hits_in_order'),
                    models.Index(fields=['study', 'position'], name='hits_in_order'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'key'), name='hit_key_once_per_study'),
                    models.CheckConstraint(condition=models.Q(('open_slots__gte', 0), ('open_slots__lte', django.db.models.expressions.CombinedExpression(models.F('required'), '-', models.F('spared')))), name='open_slots_between_none_and_all'),
                ],
            },
        ),
        migrations.CreateModel(
            name='HITUnit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hit', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='places', to='judgments.hit', verbose_name='page of work')),
                ('unit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='places', to='judgments.unit', verbose_name='item')),
                ('position', models.PositiveSmallIntegerField()),
            ],
            options={
                'ordering': ['hit_id', 'position'],
                'constraints': [
                    models.UniqueConstraint(fields=('hit', 'position'), name='one_unit_per_place'),
                    models.UniqueConstraint(fields=('hit', 'unit'), name='a_unit_once_per_hit'),
                ],
            },
        ),
        migrations.AddField(
            model_name='hit',
            name='units',
            field=models.ManyToManyField(related_name='hits', through='judgments.HITUnit', to='judgments.unit', verbose_name='items'),
        ),
        migrations.CreateModel(
            name='StudyRole',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='roles', to='judgments.study')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='study_roles', to=settings.AUTH_USER_MODEL)),
                ('role', models.CharField(choices=[('viewer', 'viewer'), ('reviewer', 'reviewer'), ('designer', 'designer'), ('owner', 'owner')], max_length=10)),
                ('given_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('given_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['study_id', 'user_id'],
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'user'), name='one_role_per_study_and_person'),
                    models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'reviewer', 'designer', 'owner'])), name='role_is_a_known_one'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StudyEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(blank=True, help_text='Empty if the study was deleted. Only a study that was never opened can be deleted.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='events', to='judgments.study')),
                ('slug', models.SlugField(blank=True, max_length=80, verbose_name='short name at the time of the event')),
                ('what', models.CharField(help_text='Such as opened or budget-raised.', max_length=40, verbose_name='type of event')),
                ('words', models.CharField(max_length=1000, verbose_name='description')),
                ('why', models.CharField(blank=True, max_length=500, verbose_name='reason')),
                ('details', models.JSONField(blank=True, default=dict)),
                ('by', models.ForeignKey(blank=True, help_text='Empty if the platform or a command caused the event.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='account')),
                ('at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='time')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='KeptFigures',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='kept_figures', to='judgments.study')),
                ('name', models.CharField(max_length=60)),
                ('version', models.CharField(help_text='Of what a person did to the study before it was counted.', max_length=20)),
                ('value', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('seconds', models.FloatField(help_text='How long the counting took.')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'verbose_name_plural': 'kept figures',
                'constraints': [
                    models.UniqueConstraint(fields=('study', 'name'), name='figures_are_kept_once_per_study'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=64)),
                ('args', models.JSONField(blank=True, default=dict, verbose_name='arguments')),
                ('state', models.CharField(choices=[('queued', 'waiting'), ('running', 'running'), ('done', 'done'), ('failed', 'failed')], default='queued', max_length=16)),
                ('progress', models.FloatField(default=0.0)),
                ('words', models.CharField(blank=True, default='', max_length=200, verbose_name='current step')),
                ('error', models.TextField(blank=True, default='')),
                ('result', models.JSONField(blank=True, null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('owner', models.CharField(blank=True, default='', max_length=160, verbose_name='worker process')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('heartbeat', models.DateTimeField(blank=True, null=True, verbose_name='last sign of life')),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-pk'],
                'indexes': [
                    models.Index(fields=['state', 'sent_at'], name='job_state_sent'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('progress__gte', 0), ('progress__lte', 1)), name='job_progress_is_a_share'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), models.Q(('heartbeat__isnull', False), models.Q(('owner', ''), _negated=True)), _connector='OR'), name='job_running_has_an_owner'),
                    models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['done', 'failed'])), models.Q(('finished_at__isnull', True), ('state__in', ['queued', 'running'])), _connector='OR'), name='job_finished_when_ended'),
                    models.CheckConstraint(condition=models.Q(models.Q(('error__gt', ''), ('state', 'failed')), models.Q(models.Q(('state', 'failed'), _negated=True), ('error', '')), _connector='OR'), name='job_failed_says_why'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Outlook',
            fields=[
                ('unit', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='outlook', serialize=False, to='judgments.unit')),
                ('full_depth', models.BooleanField(default=False, help_text='Gets all its judgments whatever they say: agreement is measured on these.')),
                ('cast', models.PositiveSmallIntegerField(default=0, help_text='Judgments it has, used or not.')),
                ('low', models.SmallIntegerField(default=-1)),
                ('high', models.SmallIntegerField(default=1)),
                ('done', models.BooleanField(default=False, help_text='No more judgments are wanted; later copies leave it out.')),
            ],
            options={
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('low__gte', -1), ('low__lte', models.F('high')), ('high__lte', 1)), name='an_outlook_reaches_from_low_to_high'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SavedPreset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(help_text='Study files refer to the preset as preset = "…".', max_length=80, unique=True, verbose_name='short name')),
                ('title', models.CharField(max_length=200)),
                ('description', models.CharField(blank=True, max_length=1000)),
                ('values', models.JSONField(help_text='The settings of the design, as in a study file.', verbose_name='settings')),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'preset',
                'ordering': ['title', 'slug'],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(help_text='Purpose of the token, such as the notebook of the pilot.', max_length=100)),
                ('prefix', models.CharField(help_text='The first characters of the token.', max_length=12)),
                ('digest', models.CharField(max_length=64, unique=True, verbose_name='hash of the token')),
                ('scopes', models.JSONField(default=list, help_text='Names of scopes from judgments.access.tokens.SCOPES.')),
                ('limited', models.BooleanField(default=False, help_text='The token gives access only to certain studies.', verbose_name='limited to certain studies')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('studies', models.ManyToManyField(blank=True, related_name='+', to='judgments.study')),
            ],
            options={
                'verbose_name': 'API token',
                'ordering': ['-id'],
            },
        ),
        migrations.RunPython(make_group, migrations.RunPython.noop),
    ]
