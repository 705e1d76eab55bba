"""Versions of consent texts, requests to be erased, and erasures. What people agreed to so far is version 1."""

import hashlib
import json

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def _hash(*parts):
    """The key of consent texts as ``judgments.drawing.keys.content_key`` makes it, without loading the app."""
    text = json.dumps(list(parts), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def number_the_texts(apps, schema_editor):
    """Store each study's text as version 1. Where it has translations, its hash names them from now on."""
    Study = apps.get_model("judgments", "Study")
    models = [apps.get_model("annotation", name) for name in ("Participation", "Assignment")]
    Version = apps.get_model("annotation", "ConsentVersion")
    for study in Study.objects.exclude(state="draft").exclude(source="imported").iterator():
        text = study.design.get("consent", "")
        if not text:
            continue
        translations = {
            language: texts["consent"]
            for language, texts in sorted(study.design.get("translations", {}).items())
            if texts.get("consent")
        }
        before = _hash(text)
        now = _hash(text, translations) if translations else before
        Version.objects.create(
            study=study,
            number=1,
            version=now,
            text=text,
            translations=translations,
            since=study.opened_at or study.created_at,
        )
        if now != before:
            for model in models:
                model.objects.filter(study=study, consent_version=before).update(consent_version=now)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0017_fewer_indexes_of_work'),
        ('judgments', '0019_fewer_indexes_of_units'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='worker',
            name='erased',
            field=models.BooleanField(default=False, help_text='Replaces a participant who was erased. The name is random.'),
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mark', models.CharField(max_length=64)),
                ('way', models.CharField(choices=[('identity', 'identity and texts; other answers are kept'), ('all', 'identity and all answers')], max_length=8)),
                ('content', models.JSONField(default=dict)),
                ('previous', models.CharField(blank=True, max_length=64, unique=True)),
                ('digest', models.CharField(max_length=64)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='erasures', to='judgments.study')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='ConsentVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(help_text='From 1.')),
                ('version', models.CharField(help_text='Hash of the text; participations and assignments name it.', max_length=16)),
                ('text', models.TextField(blank=True)),
                ('translations', models.JSONField(blank=True, default=dict, help_text='Language -> text.')),
                ('why', models.CharField(blank=True, max_length=500)),
                ('since', models.DateTimeField(default=django.utils.timezone.now)),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consent_versions', to='judgments.study')),
            ],
            options={
                'ordering': ['study_id', 'number'],
                'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='consent_versions_are_numbered')],
            },
        ),
        migrations.CreateModel(
            name='ErasureRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('declined', 'declined')], default='waiting', max_length=8)),
                ('asked_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('answer', models.CharField(blank=True, help_text='Why it was declined; the participant reads it.', max_length=500)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='erasure_requests', to='judgments.study')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='erasure_requests', to='annotation.worker', verbose_name='participant')),
            ],
            options={
                'ordering': ['asked_at', 'id'],
                'constraints': [models.UniqueConstraint(fields=('study', 'worker'), name='a_person_asks_once_in_a_study')],
            },
        ),
        migrations.RunPython(number_the_texts, migrations.RunPython.noop),
    ]
