"""The report card of the Turing exam: accuracy, whether it could be guessed, and streams with every answer told."""

from sightline.report.turing.build import render, write_report
from sightline.report.turing.cards import Sitting, TuringCard
from sightline.report.turing.exhibits import StreamExhibit, stream_exhibit
from sightline.report.turing.make import card

__all__ = ["Sitting", "StreamExhibit", "TuringCard", "card", "render", "stream_exhibit", "write_report"]
