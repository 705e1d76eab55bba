"""Declare what the feature “slider” adds to the platform."""

from config.features import Feature


class SliderConfig(Feature):
    name = "contrib.slider"
    kinds = ("contrib.slider.kind.Slider",)
    rehearsals = ("contrib.slider.rehearsal.SliderRehearsal",)
    presets = ("our-slider", "direct-assessment-translation")
