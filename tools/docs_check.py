"""Check that the pages agree: every measured number that stands on more than one page comes from docs/results.toml.

    python tools/docs_check.py        prints what contradicts; `make docs-check`, and a test, run it

A result has a `value`, and

- `cell`: where the benchmark printed it: the name of a marked block, a row, and a column of its table;
- `on`: the pages that repeat it, each with the words around it, in which {} stands for the value;
- `every`: a pattern; whatever it (or its group) matches, on any page, must be the value.

A time or a ratio (ns, µs, ms, ×) on two pages that is no result is an error, unless `coincidences` lists it.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections import defaultdict
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = pathlib.Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results.toml"
MEASURED = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)? (?:ns|µs|ms|×)(?![\w])")
MARKED = re.compile(r"<!-- results: ([\w ]+) -->\n(.*?)<!-- end of results -->", re.DOTALL)
CODE = re.compile(r"```.*?```|^    .*$", re.DOTALL | re.MULTILINE)

Pages = dict[str, str]


def pages() -> Pages:
    """The text of every page by its path, with every run of blanks as one."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def problems(results: dict[str, Any], texts: Pages) -> list[str]:
    """What contradicts, one line each."""
    results = dict(results)
    coincidences = set(results.pop("coincidences", []))
    plain = {page: " ".join(text.split()) for page, text in texts.items()}
    found = []
    for name, result in results.items():
        value = result["value"]
        found += [f"{name}: {line}" for line in _cell(result, value, texts)]
        for page, words in result.get("on", {}).items():
            sentence = words.replace("{}", value)
            if page not in plain:
                found.append(f"{name}: there is no page {page}")
            elif sentence not in plain[page]:
                found.append(f"{name}: {page} does not have {sentence!r}")
        for page, text in plain.items() if "every" in result else ():
            found += [
                f"{name}: {page} has {match[0]!r}, and not {value!r}"
                for match in re.finditer(result["every"], text)
                if match[match.re.groups] != value
            ]
    return found + list(_unlisted(results, coincidences, texts))


def _cell(result: dict[str, Any], value: str, texts: Pages) -> list[str]:
    if "cell" not in result:
        return []
    block, row, column = result["cell"]
    blocks = {name: body for text in texts.values() for name, body in MARKED.findall(text)}
    if block not in blocks:
        return [f"no page has a block {block!r}"]
    lines = [line for line in blocks[block].splitlines() if line.startswith("|")]
    table = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    rows = [line for line in table if line[0] == row]
    if not rows or column not in table[0]:
        return [f"the table {block!r} has no {row!r}, {column!r}"]
    printed = rows[0][table[0].index(column)]
    return [] if value in re.split(r" \(|\)", printed) else [f"the benchmark printed {printed!r}, and not {value!r}"]


def _unlisted(results: dict[str, Any], coincidences: set[str], texts: Pages) -> list[str]:
    """Measured numbers on several pages that are no results."""
    where = defaultdict(set)
    for page, text in texts.items():
        if page.startswith("docs/tutorials") or page == "docs/reference/command-line.md":
            continue  # written by programs, with their output
        for number in MEASURED.findall(CODE.sub("", MARKED.sub("", text))):
            where[number].add(page)
    listed = defaultdict(set)
    for result in results.values():
        listed[result["value"]] |= set(result.get("on", {}))
    return [
        f"{number} stands on {', '.join(sorted(on))}, but docs/results.toml does not list all of them"
        for number, on in sorted(where.items())
        if len(on) > 1 and number not in coincidences and not on <= listed[number]
    ]


def main() -> None:
    """Print the problems; the exit code is 1 if there are any."""
    found = problems(tomllib.loads(RESULTS.read_text(encoding="utf-8")), pages())
    print("\n".join(found) or "The pages agree with docs/results.toml.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
