"""The report card: what runs add up to, as one HTML page that needs nothing else, as JSON and as Markdown."""

from sightline.report.build import render, write_report
from sightline.report.cards import ReportCard, Sitting
from sightline.report.make import card

__all__ = ["ReportCard", "Sitting", "card", "render", "write_report"]
