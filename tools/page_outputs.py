"""Put the numbers that the examples print now into the pages, the README and the docstrings.

    python tools/page_outputs.py [FILTER]      all examples, or those that pytest's -k selects

After a change that changes predictions, many examples print other numbers. This runs the tests of all examples, and
where an output differs from what is written only in its numbers, or in the order of its lines, it writes the new one;
`...` stays where it is. What differs in its words is reported and left to its author. Read the changes before they are
committed.
"""

from __future__ import annotations

import doctest
import importlib.util
import pathlib
import re
import sys
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from page_commands import plain  # noqa: E402  (of the tests)

TESTS = ["tests/test_docs.py", "tests/serve/test_serve_docs.py"]
NUMBER = r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]\d+)?"
PARTS = re.compile(rf"({NUMBER})(\.\.\.)?|(\.\.\.)|(\s+)")


def renewed(written: str, printed: str) -> str | None:
    """The written output with the numbers of the printed one; None if they differ in more than numbers and blanks.

    Lines may have another order, as in a table that is sorted by its numbers.

    >>> renewed("error 4.1% of 1,000 rows\\n", "error 3.9% of 1,000 rows\\n")
    'error 3.9% of 1,000 rows\\n'
    >>> renewed("loss 0.12..., in ... s\\n", "loss 0.3456, in 7.1 s\\n")
    'loss 0.34..., in ... s\\n'
    >>> renewed("a 3\\nb 2\\n", "b 7\\na 3\\n")
    'b 7\\na 3\\n'
    >>> renewed("better\\n", "worse\\n") is None
    True
    """
    pattern, pieces, end = "", list[tuple[str, bool]](), 0
    for part in PARTS.finditer(written):
        pattern += re.escape(written[end : part.start()])
        end = part.end()
        number, cut, gap, blank = part.groups()
        if number is not None:
            pattern += f"(?P<_{len(pieces)}>{NUMBER})" + (r"\d*" if cut else "")
            pieces.append((number, bool(cut)))
        else:
            pattern += ".*?" if gap else r"\s+" if blank.strip(" ") == "" or "\n" in blank else re.escape(blank)
    found = re.fullmatch(pattern + re.escape(written[end:]), printed, re.DOTALL)
    if found is None:
        return printed if _lines(written) == _lines(printed) and "..." not in written else None
    numbers = iter(range(len(pieces)))

    def number_now(part: re.Match[str]) -> str:
        if part[1] is None:
            return part[0]
        place = next(numbers)
        now, (before, cut) = found[f"_{place}"], pieces[place]
        if not cut:
            return now
        decimals = len(before.partition(".")[2])
        whole, _, rest = now.partition(".")
        return f"{whole}.{rest[:decimals]}..." if decimals else f"{whole}..."

    return PARTS.sub(number_now, written)


def _lines(text: str) -> list[str]:
    """The lines of a text without their numbers, sorted."""
    return sorted(re.sub(NUMBER, "", " ".join(line.split())) for line in text.split("\n"))


def replaced(text: str, written: str, new: str) -> str:
    """A file with a new output wherever the written one follows a prompt, at any indentation.

    What varies from run to run (`page_commands.plain`) stays as it is.
    """
    lines, old = text.splitlines(keepends=True), [line.rstrip() for line in written.splitlines()]
    for k in range(1, len(lines) - len(old) + 1):
        indent = re.match(r" *", lines[k])[0]  # type: ignore[index]
        block = [line.rstrip("\n").removeprefix(indent) for line in lines[k : k + len(old)]]
        prompted = lines[k - 1].startswith((f"{indent}>>> ", f"{indent}... ", f"{indent}$ "))
        if prompted and [plain(line) for line in block] == old:
            body = new if block == old else _with_numbers("\n".join(block), written, new)
            lines[k : k + len(old)] = [(indent + line).rstrip() + "\n" for line in body.rstrip("\n").split("\n")]
    return "".join(lines)


def _with_numbers(block: str, written: str, new: str) -> str:
    """A block of a page with the numbers that differ between the written and the new output."""
    both = zip(re.findall(NUMBER, written), re.findall(NUMBER, new), strict=True)
    changed = iter([None if before == now else now for before, now in both])
    return re.sub(NUMBER, lambda found: next(changed) or found[0], block)


class Renewal:
    """A plugin of pytest: renews what the running test compares."""

    def __init__(self) -> None:
        self.files: list[pathlib.Path] = []
        self._done: set[tuple[str, str]] = set()  # outputs that were renewed, wherever they stood in the files
        self._check = doctest.OutputChecker.check_output
        doctest.OutputChecker.check_output = self.check  # type: ignore[assignment, method-assign]

    def pytest_runtest_setup(self, item: Any) -> None:
        """Find the files whose examples the test runs."""
        given = getattr(getattr(item, "callspec", None), "params", {})
        module = importlib.util.find_spec(given["module"]) if "module" in given else None
        if module is not None and module.origin is not None:
            self.files = [pathlib.Path(module.origin)]
        elif "page" in given:
            self.files = [given["page"]]
        else:
            self.files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

    def check(self, written: str, printed: str, flags: int) -> bool:
        """Compare as doctest does; where numbers differ, write the new ones and continue."""
        if self._check(doctest.OutputChecker(), written, printed, flags):
            return True
        new = renewed(written.rstrip("\n"), printed.rstrip("\n"))
        if new is None:
            return False
        for file in self.files:
            text = file.read_text(encoding="utf-8")
            now = replaced(text, written, new)
            if now != text:
                file.write_text(now, encoding="utf-8")
                print(f"renewed: {file.relative_to(ROOT)}", file=sys.stderr)
                self._done.add((written, new))
        return (written, new) in self._done


if __name__ == "__main__":
    chosen = ["-k", sys.argv[1]] if len(sys.argv) > 1 else []
    sys.exit(pytest.main(["-q", "-s", *TESTS, *chosen], plugins=[Renewal()]))
