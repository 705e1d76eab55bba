"""The models of challenges, whose tables were those of ``evaluation``."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from common.features import move_content_types


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("evaluation", "0010_move_challenges"),
        ("judgments", "0031_content_of_systems"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Challenge",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "slug",
                            models.SlugField(help_text="Part of the challenge's address.", max_length=80, unique=True, verbose_name='short name'),
                        ),
                        ("title", models.CharField(max_length=200)),
                        (
                            "description",
                            models.TextField(blank=True, help_text="Text in Markdown, shown on the challenge's public page."),
                        ),
                        (
                            "dataset",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="challenges",
                                to="judgments.dataset",
                            ),
                        ),
                        (
                            "split",
                            models.CharField(
                                blank=True, help_text="Empty: all images of the dataset.", max_length=20
                            ),
                        ),
                        (
                            "metrics",
                            models.JSONField(help_text='Names of metrics. The leaderboard is sorted by the first one.'),
                        ),
                        ("tokenizer", models.CharField(default="ptb", max_length=20)),
                        (
                            "images",
                            models.PositiveIntegerField(help_text='Number of images that need a caption.'),
                        ),
                        ("references_sha256", models.CharField(max_length=64, verbose_name='SHA-256 of the references')),
                        ("opens_at", models.DateTimeField(default=django.utils.timezone.now)),
                        (
                            "closes_at",
                            models.DateTimeField(blank=True, help_text='Empty: the challenge is open until somebody closes it.', null=True),
                        ),
                        (
                            "per_day",
                            models.PositiveSmallIntegerField(default=5, help_text='Maximum number of submissions of one account per day (UTC).', validators=[django.core.validators.MinValueValidator(1)], verbose_name='submissions per day'),
                        ),
                        (
                            "per_total",
                            models.PositiveSmallIntegerField(default=50, help_text='Maximum number of submissions of one account.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='total number of submissions'),
                        ),
                        (
                            "shown_before_end",
                            models.BooleanField(default=True, help_text='If this is off, all scores are hidden until the challenge is closed.', verbose_name='show scores before the end'),
                        ),
                        (
                            "made_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL, verbose_name='created by',
                            ),
                        ),
                        ("made_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                    ],
                    options={
                        "db_table": "evaluation_challenge",
                        "ordering": ["-opens_at", "slug"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("closes_at__isnull", True),
                                    ("closes_at__gte", models.F("opens_at")),
                                    _connector="OR",
                                ),
                                name="challenge_opens_before_it_closes",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("per_day__gte", 1), ("per_total__gte", 1)),
                                name="challenge_takes_a_submission",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Submission",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "challenge",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="submissions",
                                to="challenges.challenge",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="submissions",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("system", models.CharField(max_length=80)),
                        ("team", models.CharField(max_length=80, verbose_name='authors')),
                        ("description", models.TextField(blank=True, max_length=2000)),
                        (
                            "link",
                            models.URLField(
                                blank=True,
                                max_length=300,
                                validators=[django.core.validators.URLValidator(schemes=["http", "https"])],
                            ),
                        ),
                        (
                            "public",
                            models.BooleanField(default=True, help_text='Whether the author shows the submission on the leaderboard.'),
                        ),
                        (
                            "sha256",
                            models.CharField(max_length=64, verbose_name='SHA-256 of the captions'),
                        ),
                        ("captions", models.PositiveIntegerField(verbose_name='number of captions')),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("queued", "waiting to be scored"),
                                    ("scored", "scored"),
                                    ("failed", "could not be scored"),
                                ],
                                default="queued",
                                max_length=6,
                            ),
                        ),
                        ("reason", models.CharField(blank=True, max_length=500)),
                        (
                            "scores",
                            models.JSONField(default=dict, help_text='For each metric: the score of the corpus, and the ends of its interval.'),
                        ),
                        ("signatures", models.JSONField(default=dict)),
                        ("day", models.DateField(help_text='The day in UTC.')),
                        ("nth_of_day", models.PositiveSmallIntegerField(verbose_name='number of the submission on this day')),
                        ("nth", models.PositiveSmallIntegerField(verbose_name='number of the submission')),
                        ("removed_at", models.DateTimeField(blank=True, null=True)),
                        ("removed_why", models.CharField(blank=True, max_length=500, verbose_name='reason for the removal')),
                        ("made_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name='submitted at')),
                        ("scored_at", models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        "db_table": "evaluation_submission",
                        "ordering": ["-id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("challenge", "user", "sha256"),
                                name="same_captions_are_one_submission",
                            ),
                            models.UniqueConstraint(
                                fields=("challenge", "user", "day", "nth_of_day"),
                                name="submissions_of_a_day_are_numbered",
                            ),
                            models.UniqueConstraint(
                                fields=("challenge", "user", "nth"), name="submissions_are_numbered"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("state__in", ["queued", "scored", "failed"])),
                                name="submission_state_is_a_known_one",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SubmissionContent",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "submission",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="content",
                                to="challenges.submission",
                            ),
                        ),
                        (
                            "captions",
                            models.BinaryField(
                                help_text="JSON list in the order of the images, packed by zlib."
                            ),
                        ),
                        (
                            "images",
                            models.BinaryField(help_text="npz: metric -> scores in that order.", null=True),
                        ),
                    ],
                    options={
                        "db_table": "evaluation_submissioncontent",
                    },
                ),
                migrations.CreateModel(
                    name="Standing",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "challenge",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="standing",
                                to="challenges.challenge",
                            ),
                        ),
                        ("of", models.JSONField(help_text="Ids of the submissions that were compared.")),
                        (
                            "ranks",
                            models.JSONField(
                                help_text="Id -> best and worst rank that the tests leave open."
                            ),
                        ),
                        (
                            "p",
                            models.JSONField(
                                default=dict,
                                help_text="'id-id' -> p of the paired test, which never changes.",
                            ),
                        ),
                        ("signature", models.CharField(blank=True, max_length=500)),
                        ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                    ],
                    options={
                        "db_table": "evaluation_standing",
                    },
                ),
                migrations.CreateModel(
                    name="ChallengeEvent",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "challenge",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="events",
                                to="challenges.challenge",
                            ),
                        ),
                        ("what", models.CharField(max_length=40)),
                        ("words", models.CharField(max_length=1000)),
                        ("why", models.CharField(blank=True, max_length=500)),
                        (
                            "by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("at", models.DateTimeField(default=django.utils.timezone.now)),
                    ],
                    options={
                        "db_table": "evaluation_challengeevent",
                        "ordering": ["-id"],
                    },
                ),
            ]
        ),
        move_content_types(
            "challenge",
            "submission",
            "submissioncontent",
            "standing",
            "challengeevent",
            before="evaluation",
            after="challenges",
        ),
    ]
