"""Code compiled for one instruction set cannot be called on a machine without it.

Inline functions and templates are weak symbols: the linker keeps one copy of those that have the same name. If a copy
that was compiled with -mavx512f could be the one that all code calls, the program would end on older processors. So
what is compiled once per instruction set has a name of its own for each: it lives in the namespace `UNITLESS_ISA`
(core/simd/isa.hpp).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NM = shutil.which("nm")
COMPILER = shutil.which(os.environ.get("CXX", "")) or shutil.which("g++") or shutil.which("clang++")
LINUX = platform.system() == "Linux"  # elsewhere nm writes other letters
FLAGS = {"baseline": [], "avx2": ["-mavx2"], "avx512": ["-mavx512f", "-mavx512dq"]}
ISAS = list(FLAGS) if platform.machine() == "x86_64" else ["baseline"]
SHARED = "WVu"  # weak functions, weak objects, unique objects: nm's letters for what the linker merges
# This is not our code: a pointer to the routine that unwinds the stack, under a name that the compiler chooses.
HARMLESS = {"DW.ref.__gxx_personality_v0"}

pytestmark = pytest.mark.skipif(not (LINUX and NM), reason="needs nm of binutils")


def shared_symbols(objects: list[Path], isa: str) -> set[str]:
    """The symbols that the objects share, outside the namespace of their instruction set."""
    command = [str(NM), "--defined-only", "--demangle", "--format=posix", *map(str, objects)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    found = (re.fullmatch(rf"(.+) [{SHARED}](?: [0-9a-f]+)*\s*", line) for line in lines)
    names = {match[1] for match in found if match}
    return {name for name in names if f"unitless::{isa}::" not in name} - HARMLESS


def kernel_sources() -> list[Path]:
    return sorted(path for path in (ROOT / "core").rglob("*.cpp") if "UNITLESS_OF_ISA(" in path.read_text())


def test_kernel_sources_are_those_that_are_built_for_each_instruction_set():
    build = (ROOT / "CMakeLists.txt").read_text()
    listed = re.search(r"add_library\(kernel_\$\{isa\} OBJECT ([^)]*)\)", build)
    assert listed
    assert sorted(listed[1].split()) == [str(path.relative_to(ROOT)) for path in kernel_sources()]


@pytest.mark.skipif(not COMPILER, reason="needs a C++ compiler")
@pytest.mark.parametrize("isa", ISAS)
def test_instruction_sets_share_no_kernel_function_names(isa, tmp_path):
    """Compiled without optimization, so that no function is inlined: optimizers differ in what they inline."""
    objects = []
    for number, source in enumerate(kernel_sources()):
        target = tmp_path / f"{number}.o"
        options = [
            f"-DUNITLESS_ISA={isa}",
            "-DUNITLESS_SANITIZED",
            *FLAGS[isa],
        ]  # the latter: some functions are always inlined
        options += ["-DUNITLESS_X86_KERNELS"] if len(ISAS) > 1 else []
        command = [str(COMPILER), "-std=c++20", "-O0", "-fPIC", f"-I{ROOT / 'core'}", *options]
        command += ["-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True, timeout=240)
        objects.append(target)
    assert shared_symbols(objects, isa) == set()


def built_objects() -> list[tuple[str, Path]]:
    """(namespace, folder) of each kernel in the build folders."""
    folders = (path for path in sorted((ROOT / "build").glob("*/CMakeFiles/*.dir")) if any(path.rglob("*.o")))
    matches = ((re.fullmatch(r"(kernel_|four_lanes_)(\w+)\.dir", path.name), path) for path in folders)
    return [(match[2] if match[1] == "kernel_" else f"four_{match[2]}", path) for match, path in matches if match]


def test_objects_that_were_built_share_nothing_across_instruction_sets():
    built = built_objects()
    if not built:
        pytest.skip("the build folder has no object files")
    for isa, folder in built:
        assert shared_symbols(sorted(folder.rglob("*.o")), isa) == set(), folder
