"""What the documentation shows is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.transcripts import DOCS, PAGES, agrees, files, lay_out, output, transcripts

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parents[1] / "lint" / "cases"


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_shows(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text()
    lay_out(text, tmp_path)
    found = transcripts(text)
    assert len(found) > 2
    for one in found:
        real = output(one.command, tmp_path)
        assert agrees(one.shown, real), f"$ {one.command}\n{real}\n(python -m tests.docs.transcripts writes it anew)"


def test_the_readme_shows_what_the_linter_says() -> None:
    found = [one for one in transcripts((ROOT / "README.md").read_text()) if one.command.startswith("raygang lint ")]
    assert found
    for one in found:
        assert agrees(one.shown, output(one.command, ROOT))


@pytest.mark.parametrize(("name", "case"), [("seed.yaml", "seed-manifest.yaml"), ("mended.yaml", "seed-mended.yaml")])
def test_the_walk_through_is_of_the_manifest_that_the_linter_is_tested_on(name: str, case: str) -> None:
    assert files((DOCS / "seed.md").read_text())[name] == (CASES / case).read_text()


def test_a_gap_stands_for_any_lines_and_nothing_else_does() -> None:
    assert agrees("a\n...\nz\n", "a\nb\nc\nz\n")
    assert agrees("a\n...\n", "a\n")
    assert not agrees("a\n...\nz\n", "a\nb\n")
    assert not agrees("a\n", "a\nb\n")
