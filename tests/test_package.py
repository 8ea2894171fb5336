"""The package itself: stubs, types and exports."""

from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys

import unitless as ul
from unitless import _core

SOURCE = pathlib.Path(ul.__file__).parent


def test_the_stub_lists_what_the_extension_has() -> None:
    stub = ast.parse((SOURCE / "_core.pyi").read_text(encoding="utf-8"))
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    assert functions == {name for name, value in vars(_core).items() if type(value).__name__ == "nb_func"}
    readers = (_core.VwReader, _core.LibsvmReader, _core.CsvReader)
    for extension in (_core.Learner, _core.Mixture, _core.TextRows, *readers):
        body = classes[extension.__name__].body
        members = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        members |= {ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)}
        assert members - {"__init__"} == {name for name in vars(extension) if not name.startswith("__")}


def test_the_package_is_typed_and_versioned() -> None:
    assert (SOURCE / "py.typed").exists()
    assert ul.__version__.count(".") == 2
    assert all(hasattr(ul, name) for name in ul.__all__)


def test_the_version_is_written_down_once() -> None:
    root = pathlib.Path(__file__).parent.parent
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "(.*)"$', project, re.MULTILINE)
    assert ul.__version__ == version
    released = re.findall(r"^## \[(\d.*?)\]", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert released[0] == version
    assert version not in (SOURCE / "version.py").read_text(encoding="utf-8")


def test_importing_needs_numpy_and_safetensors_alone() -> None:
    blocked = ("typer", "rich", "pyarrow", "scipy", "pandas", "polars", "matplotlib", "sklearn", "river", "onnx")
    script = f"import sys; sys.modules.update(dict.fromkeys({blocked!r})); import unitless as ul; ul.Learner(); ul.load"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_scipy_is_imported_only_when_used() -> None:
    script = "import sys, unitless.paper.theory, unitless.paper.algorithms, unitless.models.learner"
    script += "; print('scipy' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed == "False\n"


def test_one_root_for_all_errors() -> None:
    errors = [ul.DivergedError, ul.InputError, ul.MergeError, ul.ModelFileError, ul.OptionError, ul.WorkerError]
    assert all(issubclass(error, ul.Error) for error in errors)


def test_the_demo_runs_as_a_module(tmp_path: pathlib.Path) -> None:
    subprocess.run([sys.executable, "-m", "unitless.paper.demo", str(tmp_path)], check=True, capture_output=True)
    assert (tmp_path / "units.png").stat().st_size > 10_000
