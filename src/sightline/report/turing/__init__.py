"""The report card of the Turing exam: accuracy, whether it could be guessed, and streams with every answer told."""

from sightline.exams.turing.drawing import StreamExample, stream_example
from sightline.report.turing.build import render, write_report
from sightline.report.turing.cards import Sitting, TuringCard
from sightline.report.turing.make import card

__all__ = ["Sitting", "StreamExample", "TuringCard", "card", "render", "stream_example", "write_report"]
