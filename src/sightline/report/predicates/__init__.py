"""The report card of the predicates exam: scores, where they fall, and scenes with every judgement told."""

from sightline.report.predicates.build import render, write_report
from sightline.report.predicates.cards import PredicatesCard, Sitting
from sightline.report.predicates.exhibits import SceneExhibit, scene_exhibit
from sightline.report.predicates.make import card

__all__ = ["PredicatesCard", "SceneExhibit", "Sitting", "card", "render", "scene_exhibit", "write_report"]
