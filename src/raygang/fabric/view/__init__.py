"""A probe's report for people: as text on a terminal, as a page of HTML, as a picture of its links."""

from raygang.fabric.view.html import html
from raygang.fabric.view.read import read_report
from raygang.fabric.view.svg import svg
from raygang.fabric.view.text import facts, plain, text

__all__ = ["facts", "html", "plain", "read_report", "svg", "text"]
