"""The report card of the predicates exam: scores, where they fall, and scenes with every judgement told."""

from sightline.exams.predicates.drawing import SceneExample, scene_example
from sightline.report.predicates.build import render, write_report
from sightline.report.predicates.cards import PredicatesCard, Sitting
from sightline.report.predicates.make import card

__all__ = ["PredicatesCard", "SceneExample", "Sitting", "card", "render", "scene_example", "write_report"]
