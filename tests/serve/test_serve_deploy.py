"""The files for deployment refer only to existing options, addresses and metrics."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from unitless.serve.prometheus import HISTOGRAM, METRICS
from unitless.serve.settings import PREFIX, SETTINGS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
NAMES = {
    *(name for name, metric in METRICS.items() if metric.kind is not HISTOGRAM),
    *(
        name + end
        for name, metric in METRICS.items()
        if metric.kind is HISTOGRAM
        for end in ("_bucket", "_sum", "_count")
    ),
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "up",
}


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    return found


def queries(dashboard: dict[str, Any]) -> list[str]:
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    variables = [one["definition"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    return panels + variables


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def named(query: str) -> set[str]:
    """The metrics of a query: names before a choice of labels, and words that look like names of metrics."""
    return {*re.findall(r"\b([a-z]\w*)\{", query), *re.findall(r"\b(?:unitless|process)_\w+", query)}


def test_the_dashboard_and_the_alerts_name_only_metrics_that_exist(dashboard: dict[str, Any]) -> None:
    for query in [*queries(dashboard), *(rule["expr"] for rule in alerts())]:
        assert named(query), query
        assert named(query) <= NAMES, query


def test_the_dashboard_and_the_alerts_choose_only_by_labels_that_exist(dashboard: dict[str, Any]) -> None:
    ends = ("_bucket", "_sum", "_count")
    for query in [*queries(dashboard), *(rule["expr"] for rule in alerts())]:
        for metric, chosen in re.findall(r"\b(unitless_\w+)\{([^}]*)\}", query):
            plain = next((metric.removesuffix(end) for end in ends if metric.endswith(end)), metric)
            labels = set(re.findall(r"(\w+)\s*=~?", chosen)) - {"instance", "job"}
            assert labels <= {*METRICS[plain].labels}, query


def test_every_metric_of_models_and_streams_is_on_the_dashboard(dashboard: dict[str, Any]) -> None:
    shown = {name for query in queries(dashboard) for name in named(query)}
    ends = ("_bucket", "_sum", "_count")
    shown |= {name.removesuffix(end) for name in shown for end in ends}
    assert METRICS.keys() - shown == {"unitless_log_segments", "unitless_model_examples"}


def test_panels_have_names_and_places_of_their_own(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    assert all(panel["title"] and (panel["type"] == "row" or panel["description"]) for panel in panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_the_dashboard_uses_the_variables_that_it_has(dashboard: dict[str, Any]) -> None:
    variables = {one["name"] for one in dashboard["templating"]["list"]}
    text = (DEPLOY / "grafana.json").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{?([a-z]\w*)", text))
    assert used == variables
    assert {"stream", "model"} <= variables


def test_alerts_say_what_is_wrong() -> None:
    assert len({rule["alert"] for rule in alerts()}) == len(alerts())
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] in ("page", "warn") for rule in alerts())


def test_the_example_of_prometheus_reads_the_alerts() -> None:
    example = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))
    assert all((DEPLOY / name).exists() for name in example["rule_files"])
    assert [job["job_name"] for job in example["scrape_configs"]] == ["unitless"]


def test_files_and_pages_name_only_settings_that_exist() -> None:
    pages = [path for path in DEPLOY.iterdir() if path.is_file()] + sorted(
        (ROOT / "docs" / "how-to").glob("*server.md")
    )
    found = {name for page in pages for name in re.findall(rf"{PREFIX}([A-Z_]+)", page.read_text(encoding="utf-8"))}
    assert found
    assert {name.lower() for name in found} <= SETTINGS.keys() | {"name"}


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def test_the_container_has_all_that_it_is_built_from() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    copied = [name for word, rest in instructions() if word == "COPY" for name in rest.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    needed = re.findall(r'^(?:readme = |license-files = \[)"(.*?)"', project, re.MULTILINE)
    assert {*needed, "pyproject.toml", "CMakeLists.txt", "core", "src"} == {*copied}
    allowed = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8")
    assert {*re.findall(r"^!(.*)$", allowed, re.MULTILINE)} == {*copied}
    extras = {
        extra
        for word, rest in instructions()
        for found in re.findall(r"\[([a-z,]+)\]", rest)
        for extra in found.split(",")
    }
    assert extras == {"serve", "redis", "kafka"}
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in extras)


def test_the_container_runs_as_nobody_special_and_is_watched() -> None:
    said = [*instructions()]
    words = [word for word, _ in said]
    last_stage = said[len(words) - 1 - words[::-1].index("FROM") :]
    told = dict(last_stage)
    assert told["USER"] == "10001"
    assert told["VOLUME"] == "/data"
    assert told["STOPSIGNAL"] == "SIGTERM"
    assert json.loads(told["ENTRYPOINT"]) + json.loads(told["CMD"]) == ["unitless", "serve"]
    assert [word for word, _ in last_stage].index("USER") < [word for word, _ in last_stage].index("ENTRYPOINT")
    options, _, command = told["HEALTHCHECK"].partition("CMD ")
    assert "--interval" in options
    python, flag, script = json.loads(command)
    assert (python, flag) == ("python", "-c")
    assert "/health/ready" in script
    compile(script, "healthcheck", "exec")
    settings = dict(pair.split("=", 1) for pair in shlex.split(told["ENV"]))
    assert settings["UNITLESS_SERVE_DATA"] == "/data"
    assert settings["UNITLESS_SERVE_TOKEN_FILE"].startswith("/data/")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_unit_is_one_that_systemd_understands_and_is_confined(tmp_path: Path) -> None:
    text = (DEPLOY / "unitless.service").read_text(encoding="utf-8")
    unit = tmp_path / "unitless.service"
    unit.write_text(text.replace("/opt/unitless/bin/unitless", f'"{sys.executable}"'), encoding="utf-8")
    verified = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False, timeout=60
    )
    if verified.returncode and "unitless.service" not in verified.stderr:
        pytest.skip(f"systemd-analyze does not work here: {verified.stderr}")
    assert not [line for line in verified.stderr.splitlines() if "unitless.service" in line]
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "unrecognized option" in rated.stderr:
        pytest.skip("systemd-analyze is too old to rate a file")
    assert rated.returncode == 0, rated.stdout[-500:]


def test_the_unit_restarts_and_keeps_its_state() -> None:
    text = (DEPLOY / "unitless.service").read_text(encoding="utf-8")
    for line in ("Restart=on-failure", "StateDirectory=unitless", "DynamicUser=yes", "ProtectSystem=strict"):
        assert f"\n{line}\n" in text
