"""Writes docs/rules/ from the linter's rules: a page for each topic and an index.

usage: python tools/rule_pages.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from raygang.lint.pages import index_page, topic_page, topics

TARGET = Path(__file__).resolve().parent.parent / "docs" / "rules"


def pages() -> dict[Path, str]:
    found = {TARGET / f"{topic.lower()}.md": topic_page(topic) for topic in topics()}
    return {TARGET / "index.md": index_page(), **found}


def stale(fresh: dict[Path, str]) -> list[Path]:
    """Pages that are missing, old, or of a topic that is gone."""
    changed = [path for path, text in fresh.items() if not path.exists() or path.read_text() != text]
    return changed + [path for path in TARGET.glob("*.md") if path not in fresh]


def main() -> int:
    fresh = pages()
    changed = stale(fresh)
    if "--check" in sys.argv:
        for path in changed:
            print(f"not up to date: {path.relative_to(TARGET.parent.parent)}")
        return 1 if changed else 0
    TARGET.mkdir(exist_ok=True)
    for path in changed:
        if path in fresh:
            path.write_text(fresh[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
