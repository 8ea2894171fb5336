"""Folders are rooms: each uses the base, itself, and the rooms that its line names, all of them on lines above it."""

import ast
import importlib.util
import pathlib

SOURCE = pathlib.Path(__file__).parents[1] / "src"
BASE = {"_core", "aliases", "errors", "frames", "inputs", "locks", "options", "rates", "version", "whole_file"}
PYTHON = """
    data:
    models: data
    evaluation: models
    plots: evaluation
    inference: data models
    training: data models evaluation plots inference
    convert: data models inference
    sklearn: data models
    river: data models inference
    research: data models evaluation plots
    cli: data models evaluation plots inference training convert research
    baselines datasets demo evaluate explaining paper predicting reference theory: evaluation inference research
    __init__: models evaluation inference training convert
    __main__: cli"""


def test_each_room_imports_only_what_it_may() -> None:
    may = dict.fromkeys(BASE, BASE)
    for line in PYTHON.split("\n")[1:]:
        rooms, _, others = line.partition(":")
        assert may.keys() >= {*others.split()}, f"a line above that of {rooms} is missing"
        may |= {room: {room, *others.split(), *BASE} for room in rooms.split()}
    for path in (SOURCE / "unitless").rglob("*.py"):
        _, room, *_ = parts = path.relative_to(SOURCE).with_suffix("").parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                home = importlib.util.resolve_name("." * node.level + (node.module or ""), ".".join(parts[:-1]))
                names = [f"{home}.{name}" for name in names]
            used = {name.split(".")[1] for name in names if name.startswith("unitless.")}
            assert used <= may[room], f"{path}, line {node.lineno}: {room} may not import {used - may[room]}"
