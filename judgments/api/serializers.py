"""Rows as JSON. Texts and ids carry the names of the judgments file (docs/exports.md); nothing checks or writes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from judgments.models import HIT, Dataset, Job, Study, System, Unit


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    """A dataset and the number of its images."""

    images = serializers.IntegerField(read_only=True)

    class Meta:
        model = Dataset
        fields = ["name", "source_format", "images", "attribution", "notes", "fingerprint", "created_at"]
        read_only_fields = fields


class SystemSerializer(serializers.ModelSerializer[System]):
    """A system and the number of its captions."""

    dataset = serializers.CharField(source="dataset.name", read_only=True)
    captions = serializers.IntegerField(read_only=True)

    class Meta:
        model = System
        fields = ["id", "dataset", "name", "human", "captions"]
        read_only_fields = fields


class StudySerializer(serializers.ModelSerializer[Study]):
    """A study with its whole design."""

    dataset = serializers.CharField(source="dataset.name", read_only=True)
    protocol = serializers.CharField(read_only=True)
    design = serializers.DictField(read_only=True, help_text="The study file, complete.")
    notes = serializers.DictField(read_only=True)

    class Meta:
        model = Study
        fields = [
            *("slug", "name", "dataset", "protocol", "state", "source", "simulated", "design", "notes"),
            *("created_at", "generated_at", "opened_at", "closed_at"),
        ]
        read_only_fields = fields


class DesignSerializer(serializers.Serializer[Any]):
    """The study file's keys; docs/study-files.md has them all."""

    name = serializers.CharField(max_length=200)
    dataset = serializers.CharField()
    protocol = serializers.CharField(required=False, help_text="May come from the preset.")
    slug = serializers.CharField(required=False)
    preset = serializers.CharField(required=False)
    seed = serializers.IntegerField(required=False)
    judgments_per_unit = serializers.IntegerField(required=False)
    sampling = serializers.DictField(required=False)
    controls = serializers.DictField(required=False)
    filter = serializers.DictField(required=False)
    access = serializers.DictField(required=False)
    crowd = serializers.DictField(required=False)
    registration = serializers.DictField(required=False, help_text="The plan, until it is registered.")


class UnitSerializer(serializers.ModelSerializer[Unit]):
    """A unit with its texts."""

    study = serializers.CharField(source="study.slug", read_only=True)
    unit = serializers.CharField(source="key", read_only=True)
    protocol = serializers.CharField(source="study.protocol", read_only=True)
    image = serializers.CharField(source="item.name", read_only=True)
    reference = serializers.CharField(source="reference.key", default=None, allow_null=True, read_only=True)
    first = serializers.CharField(source="first.key", default=None, allow_null=True, read_only=True)
    second = serializers.CharField(source="second.key", default=None, allow_null=True, read_only=True)
    reference_text = serializers.CharField(
        source="reference.text", default=None, allow_null=True, read_only=True
    )
    first_text = serializers.CharField(source="first.text", default=None, allow_null=True, read_only=True)
    second_text = serializers.CharField(source="second.text", default=None, allow_null=True, read_only=True)
    pair = serializers.CharField(source="pair.key", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Unit
        fields = [
            *("id", "study", "unit", "position", "protocol", "image", "reference", "first", "second"),
            *("reference_text", "first_text", "second_text", "kind", "pair", "control", "expected"),
            *("filtered", "struck"),
        ]
        read_only_fields = fields


class HITSerializer(serializers.ModelSerializer[HIT]):
    """A HIT with its units in order."""

    study = serializers.CharField(source="study.slug", read_only=True)
    hit = serializers.CharField(source="key", read_only=True)
    units = serializers.SerializerMethodField()

    class Meta:
        model = HIT
        fields = ["id", "study", "hit", "position", "required", "open_slots", "external_id", "units"]
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_units(self, hit: Any) -> list[str]:
        """Their ids."""
        return [place.unit.key for place in hit.places.all()]


class JobSerializer(serializers.ModelSerializer[Job]):
    """A piece of long work."""

    args = serializers.DictField(read_only=True)
    result = serializers.DictField(read_only=True, allow_null=True)

    class Meta:
        model = Job
        fields = [
            *("id", "kind", "args", "state", "progress", "words", "error", "result"),
            *("created_at", "started_at", "finished_at"),
        ]
        read_only_fields = fields
