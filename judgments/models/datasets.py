"""Images, captions, and the systems whose captions are judged."""

from __future__ import annotations

from django.db import models
from django.db.models import Exists, OuterRef, Q


def picture_path(item: Item, filename: str) -> str:
    return f"pictures/{item.dataset.name}/{filename}"


class Dataset(models.Model):
    """A set of images with reference captions, imported from one source."""

    name = models.SlugField(max_length=80, unique=True)
    source_format = models.CharField(max_length=30)
    fingerprint = models.CharField(
        max_length=64,
        help_text="SHA-256 over the imported rows; the same file imported again changes nothing.",
    )
    notes = models.JSONField(
        default=dict, blank=True, help_text="What the import found and how it was handled."
    )
    attribution = models.TextField(
        blank=True, help_text="Source, licence and authors, shown with the pictures."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def known_in_part(self) -> dict[str, list[str]]:
        """Return task -> systems known only in part, from a judgments file.

        Their ranks are places in the list even where earlier ones are missing.
        """
        return dict(self.notes.get("known_in_part", {}))


class Item(models.Model):
    """An image of a dataset, by its name there (a file name, or COCO's image id)."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="items")
    name = models.CharField(max_length=200)
    position = models.PositiveIntegerField(help_text="Order in the source; sampling starts from it.")
    split = models.CharField(max_length=20, blank=True)
    url = models.URLField(max_length=500, blank=True)
    picture = models.FileField(upload_to=picture_path, max_length=300, blank=True)
    text = models.TextField(blank=True, help_text="The text that stands with the image (MC12 §3.2).")
    boxes = models.JSONField(
        default=list, blank=True, help_text="Labelled boxes: [{id, label, x, y, width, height}] (WG15 §3)."
    )

    fields = models.JSONField(
        default=list, blank=True, help_text="The row of inputs of a HIT template: [[column, text], …]."
    )

    class Meta:
        ordering = ["dataset_id", "position"]
        constraints = [models.UniqueConstraint(fields=["dataset", "name"], name="item_name_once_per_dataset")]
        verbose_name = "image"

    def __str__(self) -> str:
        return self.name


class Caption(models.Model):
    """A sentence.

    A reference belongs to its image; a candidate text is stored once for all systems and images (see
    Output).
    """

    class Role(models.TextChoices):
        REFERENCE = "reference", "reference"
        CANDIDATE = "candidate", "candidate"

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="captions")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="references", null=True, blank=True)
    key = models.CharField(max_length=220)
    text = models.TextField()
    role = models.CharField(max_length=10, choices=Role)
    position = models.PositiveIntegerField(default=0, help_text="Order among the image's references.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "key"], name="caption_key_once_per_dataset"),
            models.CheckConstraint(
                condition=Q(role="candidate", item__isnull=True) | Q(role="reference", item__isnull=False),
                name="a_reference_has_an_image_and_a_candidate_has_none",
            ),
        ]

    def __str__(self) -> str:
        return self.text


class SystemQuerySet(models.QuerySet["System"]):
    def captioners(self) -> SystemQuerySet:
        """Return systems that gave captions or belong to a pair, not those that only ranked."""
        own = Output.objects.filter(system=OuterRef("pk"))
        return self.exclude(Exists(own.searches()) & ~Exists(own.annotations()))


class System(models.Model):
    """A source of candidates: a captioning model, a retrieval model, or people."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(max_length=80)
    human = models.BooleanField(default=False, help_text="People's held-out captions, not a machine's.")
    fingerprint = models.CharField(max_length=64, blank=True)
    search_fingerprint = models.CharField(
        max_length=64, blank=True, help_text="SHA-256 of the rankings of images that were imported."
    )

    objects = SystemQuerySet.as_manager()

    class Meta:
        ordering = ["dataset_id", "name"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "name"], name="system_name_once_per_dataset")
        ]

    def __str__(self) -> str:
        return self.name


class OutputQuerySet(models.QuerySet["Output"]):
    def annotations(self) -> OutputQuerySet:
        """Return captions proposed for images, best first per system and image."""
        return self.filter(task=Output.Task.ANNOTATION)

    def searches(self) -> OutputQuerySet:
        """Return images found for captions, best first per system and caption."""
        return self.filter(task=Output.Task.SEARCH)


class Output(models.Model):
    """A system proposed this caption for this image, or found this image for this caption (H13 §4)."""

    class Task(models.TextChoices):
        ANNOTATION = "annotation", "image annotation: an image asks, captions are ranked"
        SEARCH = "search", "image search: a caption asks, images are ranked"

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


class PublishedPair(models.Model):
    """A candidate pair of the dataset (PASCAL-50S, ABSTRACT-50S), as its authors drew it."""

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
