"""Check that the pages agree: every measured number on several pages comes from docs/results.toml.

    python tools/docs_check.py        prints contradictions; `make docs-check` and a test run it

A result has a `value`, and

- `cell`: where the benchmark printed it: the name of a marked block, a row, and a column of its table;
- `column`: for a range such as "3 to 4 times", a marked block and a column, whose numbers must lie in the range;
- `on`: the pages that repeat it, each with the words around it, in which {} is the place of the value;
- `every`: a pattern; everything that it (or its group) matches, on any page or in any docstring, must be the value.

A time, a ratio (ns, µs, ms, ×, times) or a percentage with decimals on two pages that is no result is an error, unless
`coincidences` lists it.
"""

from __future__ import annotations

import ast
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
NUMBER = r"(?<![\w.,])(?:\d+ to )?\d[\d,]*"
MEASURED = re.compile(rf"{NUMBER}(?:\.\d+)? (?:ns|µs|ms|×|times)(?!\w)|{NUMBER}\.\d+%")
MARKED = re.compile(r"<!-- results: ([\w ]+) -->\n(.*?)<!-- end of results -->", re.DOTALL)
CODE = re.compile(r"```.*?```|^    [^\n]*$", re.DOTALL | re.MULTILINE)

Pages = dict[str, str]


def pages() -> Pages:
    """The text of every page by its path; runs of white space become one blank."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def docstrings() -> Pages:
    """The docstrings of every module of the package by its path."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, documented)]
        found[str(path.relative_to(ROOT))] = "\n".join(ast.get_docstring(node) or "" for node in nodes)
    return found


def problems(results: dict[str, Any], texts: Pages, code: Pages | None = None) -> list[str]:
    """The contradictions on pages (`texts`) and in docstrings (`code`), one line each."""
    results = dict(results)
    coincidences = set(results.pop("coincidences", []))
    plain = {page: " ".join(text.split()) for page, text in texts.items()}
    everywhere = plain | {path: " ".join(text.split()) for path, text in (code or {}).items()}
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
        for page, text in everywhere.items() if "every" in result else ():
            found += [
                f"{name}: {page} has {match[0]!r}, and not {value!r}"
                for match in re.finditer(result["every"], text)
                if match[match.re.groups] != value
            ]
    return found + list(_unlisted(results, coincidences, texts))


def _cell(result: dict[str, Any], value: str, texts: Pages) -> list[str]:
    if "cell" not in result and "column" not in result:
        return []
    block, *place = result.get("cell") or result["column"]
    blocks = {name: body for text in texts.values() for name, body in MARKED.findall(text)}
    if block not in blocks:
        return [f"no page has a block {block!r}"]
    lines = [line for line in blocks[block].splitlines() if line.startswith("|")]
    table = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    column = place[-1]
    rows = [line for line in table[2:] if "column" in result or line[0] == place[0]]
    if not rows or column not in table[0]:
        return [f"the table {block!r} has no {', '.join(map(repr, place))}"]
    if "column" in result:
        low, high = re.findall(r"\d+", value)
        numbers = [float(row[table[0].index(column)].split()[0]) for row in rows]
        within = int(low) <= min(numbers) and max(numbers) <= int(high)
        return [] if within else [f"{column!r} of {block!r} has {min(numbers)} to {max(numbers)}, and not {value!r}"]
    printed = rows[0][table[0].index(column)]
    return [] if value in re.split(r" \(|\)", printed) else [f"the benchmark printed {printed!r}, and not {value!r}"]


def _unlisted(results: dict[str, Any], coincidences: set[str], texts: Pages) -> list[str]:
    """Measured numbers on several pages that are not in the results."""
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
    found = problems(tomllib.loads(RESULTS.read_text(encoding="utf-8")), pages(), docstrings())
    print("\n".join(found) or "The pages agree with docs/results.toml.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
