"""Folders are rooms: each uses the base, itself, and the rooms that its line names, all of them on lines above it."""

import ast
import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = """base | simd: | rows: simd | algorithm: simd | engine: simd algorithm rows | preparation: simd rows
    learner: simd algorithm rows engine preparation | text: rows | calibration: simd
    python: algorithm rows engine learner text calibration"""
PYTHON = """_core aliases errors frames html inputs limits locks losses options rates rules shown version whole_file
    page: | notebook_bar: | data: | models: data | evaluation: models | plots: models evaluation
    inference: notebook_bar data models evaluation plots
    training: page notebook_bar data models evaluation plots inference | convert: data models inference
    plotting: models evaluation plots inference training
    distributed: data models evaluation training | ray dask spark: distributed training
    river: data models inference | sklearn: data models evaluation training
    serve: data models evaluation inference training | client:
    research: data models evaluation plots
    cli: data models evaluation plots inference training convert research serve
    baselines datasets demo evaluate explaining paper predicting reference theory: evaluation inference research
    __init__: models evaluation inference training convert plotting serve | __main__: cli"""


def imported(path: Path) -> set[str]:
    package, used = path.relative_to(ROOT / "src").parent.as_posix().replace("/", "."), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            home = importlib.util.resolve_name("." * node.level + (node.module or ""), package) + "."
            names = [home + name for name in names]
        used |= {name.split(".")[1] for name in names if name.startswith("unitless.")}
    return used


def test_each_room_uses_only_what_it_may() -> None:
    included = lambda path: set(re.findall(r'#include "(\w+)/', path.read_text("utf-8")))  # noqa: E731
    for table, top, found in ((CORE, ROOT / "core", included), (PYTHON, ROOT / "src" / "unitless", imported)):
        base, *lines = (line.strip() for line in re.split(r"\||\n", table))
        may = {room: {*base.split()} for room in base.split()}
        for rooms, _, others in (line.partition(":") for line in lines):
            assert may.keys() >= {*others.split()}, f"a line above that of {rooms} is missing"
            may |= {room: {room, *others.split(), *base.split()} for room in rooms.split()}
        for path in (path for path in top.rglob("*") if path.suffix in (".py", ".hpp", ".cpp")):
            extra = found(path) - may[path.relative_to(top).with_suffix("").parts[0]]
            assert not extra, f"{path} may not use {extra}"
