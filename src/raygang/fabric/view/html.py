"""A report as one page of HTML that needs nothing else: no script, no font, no picture from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from raygang.fabric.view import words
from raygang.fabric.view.matrix import matrix
from raygang.fabric.view.numbers import findings, numbers, simulated
from raygang.fabric.view.svg import svg
from raygang.fabric.view.tables import moved, rank_table
from raygang.runtime.fabric.report import Report

_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;
  background:Canvas;color:CanvasText}
h1{font-size:1.25rem;border-left:.4rem solid #15803d;padding-left:.8rem}h1.failed{border-color:#b91c1c}
h2{font-size:1rem;margin-top:2rem}table{border-collapse:collapse;font-size:.85rem}
th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #94a3b855;white-space:nowrap}
.wide{overflow-x:auto}li b{color:#b45309}li.failure b{color:#b91c1c}.simulated{font-weight:600;color:#b45309}
svg{width:100%;height:auto}pre{font-size:.75rem;overflow-x:auto}
@media(prefers-color-scheme:dark){li b,.simulated{color:#fbbf24}li.failure b{color:#fca5a5}}
"""


def html(report: Report) -> str:
    """The page."""
    title = "Network check passed" if report.passed else "Network check failed"
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    view = '<meta name="viewport" content="width=device-width,initial-scale=1">'
    return "\n".join([head, view, f"<style>{_STYLE}</style></head><body>", *_body(report), "</body></html>", ""])


def _body(report: Report) -> Iterator[str]:
    kind = "" if report.passed else ' class="failed"'
    yield f"<h1{kind}>{_safe(report.sentence())}</h1>"
    if report.simulated:
        yield f'<p class="simulated">{_safe(simulated(report))}</p>'
    yield from _findings(report)
    if matrix(report):
        yield f"<h2>Links</h2><div>{svg(report)}</div>"
    yield "<h2>Measured</h2>"
    yield _table((), numbers(report))
    yield "<h2>Ranks</h2>"
    yield _table(*rank_table(report))
    if sent := moved(report):
        yield "<h2>What moved</h2>"
        yield _table(("rank", "sent by its ports meanwhile", "payload to other nodes"), sent)
    yield from _logs(report)


def _findings(report: Report) -> Iterator[str]:
    found = list(findings(report))
    if not found:
        return
    yield "<h2>Findings</h2><ol>"
    for finding, name in found:
        do = f"<br>{_safe(finding.do)}" if finding.do else ""
        yield f'<li class="{finding.severity}"><b>{name}</b> {_safe(finding.code)}: {_safe(finding.what)}{do}</li>'
    yield "</ol>"


def _logs(report: Report) -> Iterator[str]:
    """What NCCL itself said; folded, since it is long."""
    told = [(rank, rank.used.log) for rank in report.ranks if rank.used and rank.used.log]
    if not told:
        return
    yield "<h2>NCCL's own words</h2>"
    for rank, lines in told:
        text = "\n".join(map(_safe, lines))
        yield f"<details><summary>rank {rank.rank}, {_safe(words.node(rank))}</summary><pre>{text}</pre></details>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = "".join(f"<th>{_safe(name)}</th>" for name in head)
    body = "\n".join("<tr>" + "".join(f"<td>{_safe(field)}</td>" for field in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table>{f"<tr>{names}</tr>" if names else ""}\n{body}\n</table></div>'


def _safe(text: str) -> str:
    return escape(words.visible(text))
