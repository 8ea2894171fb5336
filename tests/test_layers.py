"""Each source folder imports only the base modules, itself and the folders named on its line, which stand above it."""

import ast
import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = """base | simd: | algorithm: simd | rows: simd | encoding: simd rows | engine: simd algorithm rows
    trees: simd algorithm rows engine | ensemble: simd algorithm rows engine trees
    learner: algorithm rows encoding engine | text: rows | calibration: simd | bandit: simd
    python: algorithm rows encoding engine ensemble learner text calibration bandit"""
# The folders inside a folder, and which of their neighbors each uses.
CORE_INSIDE = {
    "algorithm/losses": [],
    "engine/single": [],
    "engine/lanes": [],
    "engine/softmax": ["engine/lanes"],
    "engine/newton": ["engine/lanes"],
}
PYTHON = """_core errors inputs limits locks losses options presentation rules version whole_file
    data: | models: data | merging: data models | metrics: models | figures: models metrics
    inference: data models metrics figures
    training: data models metrics figures inference
    bandit: data models training | loading: models bandit
    plot: models metrics figures inference training | export: data models inference
    cluster: data models merging metrics training
    river: data models inference training | sklearn: data models metrics training
    serve: data models merging metrics inference training bandit | client: serve
    paper: data models metrics figures training
    cli: data models merging metrics figures plot inference training cluster export paper serve bandit
    __init__: loading metrics merging models inference training cluster export plot serve bandit data | __main__: cli"""


def imported(path: Path) -> set[str]:
    package, used = path.relative_to(ROOT / "src").parent.as_posix().replace("/", "."), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            home = importlib.util.resolve_name("." * node.level + (node.module or ""), package) + "."
            names = [home + name for name in names]
        used |= {name.split(".")[1] for name in names if name.startswith("unitless.")}
    return used


def test_each_folder_uses_only_what_it_may() -> None:
    included = lambda path: set(re.findall(r'#include "(\w+)/', path.read_text("utf-8")))  # noqa: E731
    for table, top, found in ((CORE, ROOT / "core", included), (PYTHON, ROOT / "src" / "unitless", imported)):
        base, *lines = (line.strip() for line in re.split(r"\||\n", table))
        may = {folder: {*base.split()} for folder in base.split()}
        for folders, _, others in (line.partition(":") for line in lines):
            assert may.keys() >= {*others.split()}, f"a line above that of {folders} is missing"
            may |= {folder: {folder, *others.split(), *base.split()} for folder in folders.split()}
        for path in (path for path in top.rglob("*") if path.suffix in (".py", ".hpp", ".cpp")):
            extra = found(path) - may[path.relative_to(top).with_suffix("").parts[0]]
            assert not extra, f"{path} may not use {extra}"


def test_folders_inside_a_folder_use_only_the_neighbors_that_they_may() -> None:
    for path in (path for path in (ROOT / "core").rglob("*") if path.suffix in (".hpp", ".cpp")):
        home = path.parent.relative_to(ROOT / "core").as_posix()
        if "/" not in home:
            continue
        used = {found.rsplit("/", 1)[0] for found in re.findall(r'#include "([\w/]+)\.hpp"', path.read_text("utf-8"))}
        neighbors = {folder for folder in used if folder != home and folder.startswith(home.split("/")[0] + "/")}
        assert neighbors <= {*CORE_INSIDE[home]}, f"{path} may not use {neighbors}"
