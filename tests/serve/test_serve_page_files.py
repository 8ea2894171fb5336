"""The files of the live page, without a browser:

all files that they name exist, and no file comes from another host.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import unitless

PAGE = Path(unitless.__file__).parent / "serve" / "page"
OWN = [path for path in sorted(PAGE.iterdir()) if path.is_file()]
SCRIPTS = [path for path in OWN if path.suffix == ".js"]


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_document_names_files_that_are_there() -> None:
    named = re.findall(r'(?:src|href)="(page/[^"]+)"', text(PAGE / "index.html"))
    assert "page/page.js" in named
    assert [name for name in named if not (PAGE.parent / name).is_file()] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_import_what_is_there(path: Path) -> None:
    for names, module in re.findall(r'^import \{([^}]+)\} from "\./([^"]+)";$', text(path), re.MULTILINE):
        exported = re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", text(PAGE / module), re.MULTILINE)
        assert {name.strip() for name in names.split(",")} <= set(exported)


def test_every_script_is_used() -> None:
    everything = "".join(map(text, OWN))
    assert [path.name for path in SCRIPTS if f"/{path.name}" not in everything] == []


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_nothing_comes_from_elsewhere(path: Path) -> None:
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text(path)))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_the_document_obeys_the_policy_that_forbids_what_stands_within_it() -> None:
    document = text(PAGE / "index.html")
    assert re.findall(r"<script(?![^>]*\bsrc=)", document) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", document) == []
    for path in SCRIPTS:
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function", text(path)) == []


def test_ids_that_scripts_ask_for_are_in_the_document() -> None:
    there = set(re.findall(r'\bid="([^"]+)"', text(PAGE / "index.html")))
    asked = {name for path in SCRIPTS for name in re.findall(r'byId\("([^"]+)"\)', text(path))}
    assert asked
    assert asked - there == set()


def test_what_others_wrote_has_its_licence_beside_it() -> None:
    assert "MIT" in text(PAGE / "uplot" / "LICENSE")
