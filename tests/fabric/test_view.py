"""A report reads without colours, names the slowest link, and repeats nothing that a terminal or a browser obeys."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from raygang.fabric.view import html, plain, read_report, svg, text
from raygang.fabric.view.matrix import matrix
from raygang.fabric.view.shades import SHADES, shade
from raygang.runtime.fabric.report import Facts, Finding, Link, Rank, Report, Used
from raygang.spec import UserError
from tests.fabric.reports import DOCS, EXAMPLE, failed, log, report

EVIL = "<script>alert(1)</script>\x1b[31m&\n"


def lines(one: Report) -> list[str]:
    return plain(one).splitlines()


def test_the_verdict_comes_first_and_then_the_first_cause() -> None:
    found = lines(failed())
    assert found[0].startswith(
        "the network check failed: the link from rank 5 on node-3 to rank 2 on node-2 carries 96"
    )
    causes = [line.split(":")[0] for line in found if re.match(r"(first cause|failure|warning) ", line)]
    assert causes == ["first cause bandwidth", "warning clock"]
    assert "  do: look at the NICs, cables and switch ports of the two nodes" in found


def test_what_was_simulated_is_said_before_any_number() -> None:
    assert lines(report())[1].startswith(f"simulated: {EXAMPLE}")
    assert not any(line.startswith("simulated") for line in lines(report(simulated="")))
    for form in (html, svg):
        assert EXAMPLE in form(report())


def test_each_rank_has_a_row_with_its_device_and_limits() -> None:
    head, first, second = (
        line.split() for line in lines(report()) if re.match(r"(rank +node +device|[01] +node-1 .*ACTIVE)", line)
    )
    assert head[:4] == ["rank", "node", "device", "state"]
    assert first[:7] == ["0", "node-1", "mlx5_0:1", "ACTIVE", "400", "IB", "(nccl)"]
    assert {"2.29.3", "unlimited", "GiB"} <= set(first)
    assert second[-4:] == ["120", "us", "+2", "ms"], "the round trip to rank 0, and how far its clock is ahead"


def test_the_heat_map_reads_without_colours() -> None:
    found = lines(report())
    row = next(line for line in found if line.startswith("5 node-3 ") and "mlx" not in line)
    assert row.split() == ["5", "node-3", "365", "370", "96!", "380", "2925", ".", "365", "370"]
    assert any(line == "the fastest: 389 Gbit/s between nodes, 2929 Gbit/s within a node" for line in found)
    assert "\x1b" not in plain(report())


def test_on_a_terminal_a_field_has_the_colour_of_its_step() -> None:
    target = io.StringIO()
    Console(file=target, force_terminal=True, color_system="truecolor", width=200).print(text(report()))
    red, green, blue = (int(SHADES[-1].colour[i : i + 2], 16) for i in (1, 3, 5))
    assert re.search(rf"48;2;{red};{green};{blue}m +96!", target.getvalue())


def test_the_slowest_link_is_named_by_ranks_and_nodes() -> None:
    assert any(
        re.match(r"slowest link +96 Gbit/s, rank 5 on node-3 to rank 2 on node-2$", line) for line in lines(report())
    )


def test_a_few_ranks_are_shown_one_by_one_and_many_by_node() -> None:
    few, many = matrix(report(nodes=4, each=4)), matrix(report(nodes=5, each=4))
    assert few is not None
    assert many is not None
    assert (few.by_node, len(few.names)) == (False, 16)
    assert (many.by_node, many.names) == (True, ("node-1", "node-2", "node-3", "node-4", "node-5"))
    assert many.cells[1, 0].link.bandwidth == 96.0, "the slowest link between the two nodes"
    assert all((row, row) in many.cells for row in range(5)), "links within the node"


def test_very_many_nodes_have_a_digit_each() -> None:
    found = lines(report(nodes=20, each=1, slow=(3, 7)))
    row = next(line for line in found if line.endswith(" node-4") and line[0].isdigit())
    assert row == f"999.999{'2'}{'9' * 12} node-4"
    assert any("a digit is tenths" in line for line in found)


def test_a_link_is_compared_with_others_of_its_kind() -> None:
    found = matrix(report())
    assert found is not None
    assert shade(found.cells[0, 2].share) == SHADES[0], "a link between nodes is not slow because NVLink is fast"
    assert [cell.below for place, cell in found.cells.items() if place == (5, 2)] == [True]


def test_a_rank_that_was_not_heard_of_is_there() -> None:
    one = report(links=(), all_reduce=None)
    one = one.model_copy(update={"ranks": (*one.ranks, Rank(rank=8, error="no letter"))})
    assert any(re.match(r"8 +\?", line) for line in lines(one))
    assert matrix(one) is None
    assert "no bandwidth was measured" in svg(one)


def test_an_empty_report_has_a_verdict_in_each_form() -> None:
    empty = Report(findings=(Finding(code="no-place", what="4 ranks on 2 nodes have no place"),))
    for form in (plain, html, svg):
        assert "4 ranks on 2 nodes have no place" in form(empty)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_nothing_from_outside() -> None:
    page = Page()
    page.feed(html(failed()))
    assert page.addresses == []
    assert {"svg", "table", "style"} <= set(page.tags)
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert "prefers-color-scheme:dark" in html(failed())
    assert "NCCL INFO NET/IB" in html(failed())


def evil() -> Report:
    facts = Facts(host=EVIL, node=EVIL, versions={"nvidia-nccl-cu13": EVIL})
    ranks = tuple(
        Rank(rank=n, facts=facts, used=Used(backend=EVIL, devices=(EVIL,), moved={EVIL: 1}, log=(EVIL,)))
        for n in (0, 1)
    )
    links = (Link(source=0, target=1, bandwidth=1.0), Link(source=0, target=7, bandwidth=1.0))
    return Report(ranks=ranks, links=links, simulated=EVIL, findings=(Finding(code="x", what=EVIL, do=EVIL),))


def test_what_pods_say_is_shown_and_not_obeyed() -> None:
    assert "\x1b" not in plain(evil())
    page = Page()
    page.feed(html(evil()))
    assert "script" not in page.tags
    assert "\x1b" not in html(evil()) + svg(evil())
    ElementTree.fromstring(svg(evil()))


@pytest.mark.parametrize("one", [report(), failed(), report(20, 8), report(30, 1), report(80, 1), Report()])
def test_the_picture_is_whole_and_within_its_frame(one: Report) -> None:
    root = ElementTree.fromstring(svg(one))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, w, h = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height


def test_the_documentations_example_is_of_today() -> None:
    written = "python -m tests.fabric.reports"
    assert (DOCS / "fabric.svg").read_text() == svg(failed()), written
    assert (DOCS / "fabric-report.log").read_text() == log(failed()), written


def test_a_report_is_the_last_one_of_a_log() -> None:
    text = f"{log(report())}\n{log(failed())}2026-01-01 INFO the end {{}}\n"
    assert read_report(text, "x") == failed()
    assert read_report(failed().model_dump_json(indent=2), "x") == failed(), "also when somebody has laid it out"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no report"),
        ("all is well\n{}", "has no report"),
        ('{"version":2,"ranks":[]}', "version 2; this raygang reads version 1"),
        (log(report())[:900], "no whole JSON"),
        ('{"version":1,"ranks":3}', "ranks: "),
        ('{"version":1}' + "[" * 100_000, "no whole JSON"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_told(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        read_report(text, "the log")
    assert caught.value.message.startswith("the log: ")
    assert caught.value.hint
    assert caught.value.exit_code == 2


@given(st.text() | st.dictionaries(st.text(), st.integers() | st.text()).map(lambda d: json.dumps({"version": 1, **d})))
def test_any_text_is_a_report_or_a_users_mistake(found: str) -> None:
    try:
        one = read_report(found, "x")
    except UserError:
        return
    assert plain(one)
    assert html(one)
