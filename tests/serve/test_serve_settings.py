"""Settings: the source closest to the call wins, and every mistake has a message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unitless import OptionError
from unitless.serve.settings import Settings, is_loopback, seconds, size


@pytest.mark.parametrize(
    ("given", "wanted"), [("90s", 90), ("5m", 300), ("12h", 43200), ("7d", 604800), ("250ms", 0.25), ("3", 3), (2, 2)]
)
def test_durations(given: Any, wanted: float) -> None:
    assert seconds(given) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"), [("16kB", 16_000), ("64MB", 64_000_000), ("10GiB", 10 << 30), ("1.5MiB", 3 << 19), (7, 7)]
)
def test_sizes(given: Any, wanted: int) -> None:
    assert size(given) == wanted


def test_arguments_override_the_environment_which_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('data = "file"\nport = 1\nvw_port = 1\nqueue = 1\n[create.clicks]\nloss = "logistic"\n')
    environment = {"UNITLESS_SERVE_PORT": "2", "UNITLESS_SERVE_VW_PORT": "2", "OTHER": "x"}
    settings = Settings.of(config=str(file), port=3, environment=environment)
    assert (settings.port, settings.vw_port, settings.queue) == (3, 2, 1)
    assert settings.data == Path("file")
    assert settings.create == (("clicks", {"loss": "logistic"}),)
    named_by_the_environment = Settings.of(environment={"UNITLESS_SERVE_CONFIG": str(file)})
    assert named_by_the_environment.port == 1


def test_models_have_names() -> None:
    settings = Settings.of(
        data="here",
        model=["Prices of 2024.unitless", "other=b.unitless"],
        create='plain\nclicks={"loss": "logistic"}',
        ingest=["clicks=redis://localhost/0?stream=clicks"],
        environment={},
    )
    assert [name for name, _ in settings.model] == ["prices-of-2024", "other"]
    assert settings.create == (("plain", {}), ("clicks", {"loss": "logistic"}))
    assert settings.ingest == (("clicks", "redis://localhost/0?stream=clicks"),)


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        ({}, {}, "data is not given"),
        ({"data": "x", "prot": 1}, {}, "prot is not a setting; did you mean port?"),
        ({"data": "x"}, {"UNITLESS_SERVE_PROT": "1"}, "UNITLESS_SERVE_PROT is not a setting; did you mean port?"),
        ({"data": "x"}, {"UNITLESS_SERVE_PORT": "66000"}, "UNITLESS_SERVE_PORT is '66000'; it must be a whole number"),
        ({"data": "x", "port": -1}, {}, "port is -1; it must be a whole number between 0 and 65,535"),
        ({"data": "x", "segment": "big"}, {}, "segment is 'big'; it must be a size"),
        ({"data": "x", "label_wait": "long"}, {}, "label_wait is 'long'; it must be a duration"),
        ({"data": "x", "durability": "none"}, {}, "durability is 'none'; it must be disk or process"),
        ({"data": "x", "create": ["A B"]}, {}, "a name of lowercase letters"),
        ({"data": "x", "create": ["a={"]}, {}, "it must be NAME, or NAME="),
        ({"data": "x", "ingest": ["a"]}, {}, "it must be NAME=redis"),
        ({"data": "x", "host": "0.0.0.0"}, {}, "host is '0.0.0.0', which others can reach"),
        ({"replica_of": "x", "vw_port": 1}, {}, "vw_port does not go with replica_of"),
        ({"config": "/nowhere/serve.toml"}, {}, "No such file"),
    ],
)
def test_mistakes(given: dict[str, Any], environment: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError) as error:
        Settings.of(environment=environment, **given)
    assert said in str(error.value)


def test_mistakes_in_a_file_name_it(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    for text, said in (("prot = 1", "prot is not a setting"), ("port =", "not a TOML file"), ('port = "x"', "port is")):
        file.write_text(text)
        with pytest.raises(OptionError) as error:
            Settings.of(config=file, environment={})
        assert str(file) in str(error.value)
        assert said in str(error.value)


def test_addresses_of_this_machine() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org")))
