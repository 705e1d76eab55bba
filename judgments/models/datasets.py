"""The models of datasets: images, captions, and the systems whose captions are judged.

Codes of papers: H13 is Hodosh et al. 2013, MC12 is Mason and Charniak 2012, WG15 is Wang and Gaizauskas 2015.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from django.apps import apps
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.dispatch import Signal
from django.utils import timezone

from judgments.drawing.documents import document_in
from judgments.models.fields import NumberField as NumberField  # migrations import it from this module
from judgments.models.fields import TextKeyField, account_key

Person = AbstractBaseUser | AnonymousUser

# Sent before a dataset is shared with people who are not its members. Receivers get ``dataset``, whose row is locked,
# and raise WrongState to prevent the sharing.
pre_share = Signal()


def picture_path(item: Item, filename: str) -> str:
    return f"pictures/{item.dataset.name}/{filename}"


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def visible_to(self, user: Person) -> DatasetQuerySet:
        """Return published datasets, datasets in which the user has a role, and datasets of the user's studies.

        The permission to view datasets adds the datasets that are shared with the installation. The permission to
        change datasets adds all datasets.
        """
        if not is_staff(user):
            return self.filter(sharing=Dataset.Sharing.PUBLISHED)
        if sees_all_datasets(user):
            return self
        datasets_of_studies = Dataset.objects.filter(studies__roles__user=user)
        if user.has_perm("judgments.view_study") or user.has_perm("judgments.change_study"):
            datasets_of_studies = Dataset.objects.filter(studies__isnull=False)
        sharing = [Dataset.Sharing.PUBLISHED]
        if user.has_perm("judgments.view_dataset"):
            sharing.append(Dataset.Sharing.INSTALLATION)
        own_datasets = DatasetRole.objects.filter(user=user).order_by().values("dataset")
        is_visible = Q(sharing__in=sharing) | Q(pk__in=own_datasets)
        return self.filter(is_visible | Q(pk__in=datasets_of_studies.order_by().values("pk")))


def is_staff(user: Person) -> TypeGuard[User]:
    """Return whether the user is an active staff account.

    The user of a worker's request is no ``User``, and is thus never staff, even if its id is also that of an account.
    """
    return isinstance(user, User) and user.is_active and user.is_staff


def sees_all_datasets(user: Person) -> bool:
    return is_staff(user) and user.has_perm("judgments.change_dataset")


class Dataset(models.Model):
    """Images with references, and the outputs of systems, as they were imported."""

    class Sharing(models.TextChoices):
        MEMBERS = "members", "only its members"
        INSTALLATION = "installation", "all researchers of this installation"
        PUBLISHED = "published", "everybody, even without an account"

    name = models.SlugField(max_length=80, unique=True)
    source_format = models.CharField(max_length=30)
    fingerprint = models.CharField(
        max_length=64,
        help_text="SHA-256 of the imported rows. If the same file is imported again, nothing changes.",
    )
    notes = models.JSONField(default=dict, blank=True, help_text="Notes of the import about the data.")
    attribution = models.TextField(
        blank=True, help_text="Source, licence and authors, shown with the pictures."
    )
    sharing = models.CharField(
        max_length=12,
        choices=Sharing,
        default=Sharing.MEMBERS,
        help_text="Who can read the dataset in addition to its members.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(sharing__in=["members", "installation", "published"]),
                name="sharing_is_a_known_one",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def known_in_part(self) -> dict[str, list[str]]:
        """By task, the systems whose outputs are stored only in part, such as ``{"search": ["nearest"]}``.

        They are from a file of judgments, which may lack outputs that nobody judged. The rank of an output is its
        position in the system's whole list, so there may be gaps between the ranks of stored outputs.
        """
        return dict(self.notes.get("known_in_part", {}))


class DatasetRoleQuerySet(models.QuerySet["DatasetRole"]):
    def visible_to(self, user: Person) -> DatasetRoleQuerySet:
        """Return the roles of all members of the datasets in which the user has a role."""
        if sees_all_datasets(user):
            return self
        own_roles = DatasetRole.objects.filter(user=user.pk if is_staff(user) else 0)  # 0 is nobody's id
        return self.filter(dataset__in=own_roles.order_by().values("dataset"))


class DatasetRole(models.Model):
    """A person's role in a dataset. It includes the rights of the previous roles (judgments.access.dataset_roles)."""

    class Role(models.TextChoices):
        VIEWER = "viewer", "viewer"
        EDITOR = "editor", "editor"
        OWNER = "owner", "owner"

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="dataset_roles")
    role = models.CharField(max_length=10, choices=Role)
    given_by = account_key()
    given_at = models.DateTimeField(default=timezone.now)

    objects = DatasetRoleQuerySet.as_manager()

    class Meta:
        ordering = ["dataset_id", "user_id"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "user"], name="one_role_per_dataset_and_person"),
            models.CheckConstraint(
                condition=Q(role__in=["viewer", "editor", "owner"]), name="dataset_role_is_a_known_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.dataset}"


class ItemQuerySet(models.QuerySet["Item"]):
    def visible_to(self, user: Person) -> ItemQuerySet:
        if sees_all_datasets(user):
            return self
        return self.filter(dataset__in=Dataset.objects.visible_to(user).order_by().values("pk"))


class Item(models.Model):
    """An image of a dataset, or what is judged in its place, such as a segment of a document.

    The name, such as a file name or COCO's image id, is unique in the dataset. For a HIT template, ``fields`` has the
    row of inputs with which the template is filled.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="items")
    name = models.CharField(max_length=200)
    position = models.PositiveIntegerField(
        help_text="Position in the imported source. Sampling starts from this order."
    )
    split = models.CharField(max_length=20, blank=True)
    url = models.URLField("web address", max_length=500, blank=True)
    picture = models.FileField(upload_to=picture_path, max_length=300, blank=True)
    scaled = models.JSONField(
        "picture sizes",
        default=dict,
        blank=True,
        help_text="The sizes in which the picture is available.",
    )
    text = models.TextField(blank=True, help_text="The text that belongs to the image (MC12 §3.2).")
    boxes = models.JSONField(
        default=list, blank=True, help_text="Labelled boxes: [{id, label, x, y, width, height}] (WG15 §3)."
    )

    fields = models.JSONField(
        "row of inputs", default=list, blank=True, help_text="For a HIT template: [[column, text], …]."
    )

    objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ["dataset_id", "position"]
        constraints = [models.UniqueConstraint(fields=["dataset", "name"], name="item_name_once_per_dataset")]
        verbose_name = "image"

    def __str__(self) -> str:
        return self.name

    @property
    def document(self) -> str:
        """The name of the document or talk of which the item is a segment; "" if the inputs name none."""
        return document_in(self.fields)


class CaptionQuerySet(models.QuerySet["Caption"]):
    def visible_to(self, user: Person) -> CaptionQuerySet:
        """Return references, candidates of visible systems, and captions in units of the user's studies."""
        if sees_all_datasets(user):
            return self
        is_visible = Q(role=Caption.Role.REFERENCE)
        is_visible |= Q(Exists(Output.objects.filter(caption=OuterRef("pk")).visible_to(user)))
        if is_staff(user):
            study_model: Any = apps.get_model("judgments", "Study")  # the model's module imports this module
            unit_model: Any = apps.get_model("judgments", "Unit")
            studies = study_model.objects.visible_to(user).order_by().values("pk")
            # a subquery for each column can use the column's index
            for field in ("first", "second", "reference"):
                units = unit_model.objects.filter(**{field: OuterRef("pk")}, study__in=studies)
                is_visible |= Q(Exists(units))
        datasets = Dataset.objects.visible_to(user).order_by().values("pk")
        return self.filter(is_visible, dataset__in=datasets)


class Caption(models.Model):
    """A sentence about an image.

    A reference belongs to its image. A candidate text is stored once for all systems and images (see Output).
    """

    class Role(models.TextChoices):
        REFERENCE = "reference", "reference"
        CANDIDATE = "candidate", "candidate"

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="captions")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="references", null=True, blank=True)
    key = models.CharField(max_length=220)
    text = models.TextField()
    text_key = TextKeyField(max_length=22, editable=False)
    role = models.CharField(max_length=10, choices=Role)
    position = models.PositiveIntegerField(default=0, help_text="Position among the references of the image.")

    objects = CaptionQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "key"], name="caption_key_once_per_dataset"),
            models.CheckConstraint(
                condition=Q(role="candidate", item__isnull=True) | Q(role="reference", item__isnull=False),
                name="a_reference_has_an_image_and_a_candidate_has_none",
            ),
        ]
        indexes = [models.Index(fields=["dataset", "text_key"], name="captions_by_text_key")]

    def __str__(self) -> str:
        return self.text


class SystemQuerySet(models.QuerySet["System"]):
    def visible_to(self, user: Person) -> SystemQuerySet:
        if sees_all_datasets(user):
            return self
        return self.open_to(user.pk if is_staff(user) else None).filter(
            dataset__in=Dataset.objects.visible_to(user).order_by().values("pk")
        )

    def open_to(self, account_id: int | None) -> SystemQuerySet:
        """Return the systems whose outputs a study of an account may use: published systems and the account's own.

        ``account_id`` is the row id of the account. It is None if a command made the study, or if the account was
        deleted.
        """
        is_own = Q() if account_id is None else Q(owner=account_id)  # an empty Q adds nothing to an "or"
        return self.filter(Q(private=False) | is_own)

    def of_study(self, study: Any) -> SystemQuerySet:
        """Return the systems whose outputs a study may use. Reports are about these systems."""
        return self.filter(dataset=study.dataset_id).open_to(study.created_by_id)

    def captioners(self) -> SystemQuerySet:
        """Return all systems except those whose only outputs are search results, boxes or keywords."""
        outputs = Output.objects.filter(system=OuterRef("pk"))
        has_others = Exists(outputs.searches()) | Exists(SystemContent.objects.filter(system=OuterRef("pk")))
        return self.exclude(has_others & ~Exists(outputs.annotations()))


class System(models.Model):
    """A source of candidates: a captioning model, a retrieval model, or people."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(max_length=80)
    human = models.BooleanField(
        "captions by people", default=False, help_text="The captions are by people, not by a system."
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="systems", null=True, blank=True,
        help_text="The account that added the system. Empty if a command added it, or if it came "
                  "with the dataset.",
    )  # fmt: skip
    private = models.BooleanField(
        default=False, help_text="The system is not published. Only its owner sees its outputs."
    )
    fingerprint = models.CharField(max_length=64, blank=True)
    search_fingerprint = models.CharField(
        "fingerprint of the rankings",
        max_length=64,
        blank=True,
        help_text="SHA-256 of the imported rankings of images.",
    )

    objects = SystemQuerySet.as_manager()

    class Meta:
        ordering = ["dataset_id", "name"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "name"], name="system_name_once_per_dataset"),
            models.CheckConstraint(
                condition=Q(private=False) | Q(owner__isnull=False), name="a_private_system_has_an_owner"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class OutputQuerySet(models.QuerySet["Output"]):
    def visible_to(self, user: Person) -> OutputQuerySet:
        if sees_all_datasets(user):
            return self
        return self.filter(system__in=System.objects.visible_to(user).order_by().values("pk"))

    def open_to(self, account_id: int | None) -> OutputQuerySet:
        """Return the outputs of the systems that ``SystemQuerySet.open_to`` returns."""
        is_own = Q() if account_id is None else Q(system__owner=account_id)
        return self.filter(Q(system__private=False) | is_own)

    def of_study(self, study: Any) -> OutputQuerySet:
        return self.filter(system__dataset=study.dataset_id).open_to(study.created_by_id)

    def annotations(self) -> OutputQuerySet:
        """Return outputs that are captions proposed for images."""
        return self.filter(task=Output.Task.ANNOTATION)

    def searches(self) -> OutputQuerySet:
        """Return outputs that are images found for captions."""
        return self.filter(task=Output.Task.SEARCH)


class Output(models.Model):
    """A caption that a system proposed for an image, or an image that it found for a caption (H13 §4)."""

    class Task(models.TextChoices):
        ANNOTATION = "annotation", "image annotation: captions are ranked for an image"
        SEARCH = "search", "image search: images are ranked for a caption"

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="outputs")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="outputs")
    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="outputs")
    task = models.CharField(max_length=10, choices=Task, default=Task.ANNOTATION)
    rank = models.PositiveIntegerField(default=0)
    score = models.FloatField(null=True, blank=True)

    objects = OutputQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "item", "rank"],
                condition=Q(task="annotation"),
                name="one_output_per_system_image_and_rank",
            ),
            models.UniqueConstraint(
                fields=["system", "caption", "rank"],
                condition=Q(task="search"),
                name="one_found_image_per_system_caption_and_rank",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system}: {self.caption}"


class SystemContentQuerySet(models.QuerySet["SystemContent"]):
    def of_study(self, study: Any, kind: str) -> SystemContentQuerySet:
        return self.filter(kind=kind, system__in=System.objects.of_study(study).order_by().values("pk"))


class SystemContent(models.Model):
    """The ids of boxes (WG15 §3), or the keywords (MC12 §3.2), that a system names for an image, the best first."""

    class Kind(models.TextChoices):
        BOXES = "boxes", "boxes"
        KEYWORDS = "keywords", "keywords"

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="contents")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="contents")
    kind = models.CharField(max_length=10, choices=Kind)
    names = models.JSONField(default=list, blank=True)

    objects = SystemContentQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "item", "kind"], name="one_content_per_system_image_and_kind"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["boxes", "keywords"]), name="content_kind_is_a_known_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system}: {', '.join(self.names)}"


class PublishedPair(models.Model):
    """A candidate pair of kind HC, HI, HM or MM that was published with the dataset, as in PASCAL-50S."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="published_pairs")
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=2)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    first = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="+")
    first_system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    second_system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    references = models.PositiveIntegerField(
        help_text="How many leading references of the image belong to the pair."
    )

    class Meta:
        ordering = ["dataset_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "key"], name="published_pair_once_per_dataset")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"
