"""Secrets come from files where there are some, and settings from variables else."""

from pathlib import Path

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

from gateway.environment import SecretFiles, lend_files, parse_choice, read_environment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Credentials, named as a container mounts them and as systemd names those of a folder."""
    (tmp_path / "SECRET_KEY").write_text("from a file\n")
    (tmp_path / "florin_ENCRYPTION_KEYS").write_text("new,old\n")
    return tmp_path


def read(**variables: str) -> environ.Env:
    return read_environment(variables)


def test_a_file_replaces_a_variable(folder: Path) -> None:
    env = read(CREDENTIALS_DIRECTORY=str(folder), SECRET_KEY="weak", BASE_URL="x")
    assert env.str("SECRET_KEY") == "from a file"
    assert env.list("ENCRYPTION_KEYS") == ["new", "old"]
    assert env.str("BASE_URL") == "x"
    assert env.str("METRICS_TOKEN", default="none") == "none"


def test_without_a_folder_variables_count(folder: Path) -> None:
    env = read(SECRET_KEY="weak")
    assert env.str("SECRET_KEY") == "weak"
    assert env.list("ENCRYPTION_KEYS", default=[]) == []


@pytest.mark.parametrize(
    ("word", "choice"),
    [("true", True), ("On", True), (" 1 ", True), ("false", False), ("off", False), ("0", False), ("", None)],
)
def test_a_choice_is_made_or_left_open(word: str, choice: bool | None) -> None:
    assert parse_choice("CHARGE_FEES", word) is choice


def test_a_choice_that_was_mistyped_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="CHARGE_FEES must be true or false"):
        parse_choice("CHARGE_FEES", "ture")


def test_a_name_is_in_it_by_file_or_variable(folder: Path) -> None:
    found = SecretFiles({"CREDENTIALS_DIRECTORY": str(folder), "BASE_URL": "x"})
    assert "SECRET_KEY" in found
    assert "BASE_URL" in found
    assert "METRICS_TOKEN" not in found


def test_a_library_that_reads_variables_alone_gets_those_of_its_files(folder: Path) -> None:
    (folder / "florin_OTEL_EXPORTER_OTLP_HEADERS").write_text("x-key=1\n")
    variables = {"CREDENTIALS_DIRECTORY": str(folder), "OTEL_SERVICE_NAME": "x"}
    lend_files("OTEL_", variables)
    assert variables["OTEL_EXPORTER_OTLP_HEADERS"] == "x-key=1"
    assert "SECRET_KEY" not in variables
    lend_files("OTEL_", {})
