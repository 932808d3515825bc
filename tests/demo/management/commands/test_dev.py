"""`script/dev` as a person runs it, on a copy of the tree whose code is changed meanwhile."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest
from django.conf import settings as product

from tests.demo.lending import READY
from tests.demo.running import START_SECONDS, STOP_SECONDS, environment_for, two_free_ports, var_folder
from tests.processes import descendants
from tests.tree import ROOT, relative, repository_files
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.slow

CHANGED_SECONDS = PATIENCE_SECONDS
TOOLBAR = 'id="djDebug"'


def copy_of_the_tree(to: Path) -> Path:
    """The repository's files, and links to what was installed for it."""
    for path in repository_files():
        copy = to / relative(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    for installed in (".venv", "node_modules"):
        (to / installed).symlink_to(ROOT / installed)
    return to


class Dev:
    """A running `script/dev` on a copy of the tree."""

    def __init__(self, folder: Path) -> None:
        self.tree = copy_of_the_tree(folder / "tree")
        self.var = folder / "var"
        self.base = f"http://127.0.0.1:{two_free_ports()}"
        self._output = folder / "output"
        # What the copy runs is no line of the tree that coverage knows.
        environment = {
            name: value
            for name, value in environment_for(self.var).items()
            if not name.startswith("COVERAGE") and name != "DJANGO_SETTINGS_MODULE"
        }
        port = self.base.rpartition(":")[2]
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                ["script/dev", "--port", port, "--no-chain"],
                cwd=self.tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def await_ready(self) -> None:
        """Return once all of it runs."""

        def printed() -> bool:
            output = self._output.read_text()
            assert READY in output or self.process.poll() is None, output
            return READY in output

        # The copy compiles each module anew, in each of its processes.
        wait_until(printed, seconds=2 * START_SECONDS)

    def end(self) -> int:
        """Press Ctrl-C and return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(STOP_SECONDS)

    def page(self, path: str, **form: str) -> str:
        """What a browser is shown at a path, with `form` posted to it."""
        data = urlencode(form).encode() if form else None
        headers = [("Referer", self.base + path)]
        self.opener.addheaders = headers
        with opened(self.opener, self.base + path, data) as response:
            self.headers = response.headers
            return str(response.read().decode())

    def ready(self) -> str:
        """What /readyz says, and nothing while a server begins anew."""
        with suppress(OSError, HTTPException):
            return self.page("/readyz")
        return ""

    def log_in(self) -> str:
        """Log in as the demo's merchant; return the dashboard."""
        kept = json.loads((self.var / "demo.json").read_text())
        form = self.page("/account/login/")
        token = re.findall(r'csrfmiddlewaretoken" value="(\w+)"', form)[0]
        return self.page(
            "/account/login/", csrfmiddlewaretoken=token, login=kept["owner_email"], password=kept["owner_password"]
        )

    def workers(self) -> set[int]:
        """The process ids of the Celery workers and what they run."""
        ours = descendants(self.process.pid).items()
        return {one.pid for one, line in ours if "celery" in line and "watchfiles" not in line}


def opened(opener: OpenerDirector, url: str, data: bytes | None) -> Any:
    """The answer, whatever its status."""
    try:
        return opener.open(url, data, timeout=30)
    except HTTPError as error:
        return error


@dataclass(frozen=True)
class Change:
    """A change of one file that CONTRIBUTING.md walks through."""

    path: str
    before: str
    after: str

    def apply(self, tree: Path) -> None:
        """Make it, in the one place where it fits."""
        file = tree / self.path
        code = file.read_text()
        assert code.count(self.before) == 1, self
        file.write_text(code.replace(self.before, self.after))


def first_change() -> list[Change]:
    """The changes of "Your first change", each of the last file that was named before it."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    found = []
    for block in re.finditer(r"^   ```diff\n(.*?)^   ```", text, re.DOTALL | re.MULTILINE):
        path = re.findall(r"`([\w/]+\.py)`", text[: block.start()])[-1]
        lines = [line[3:] for line in block[1].splitlines(keepends=True)]
        before, after = ("".join(x[1:] for x in lines if x[0] in kept) for kept in (" -", " +"))
        found.append(Change(path, before, after))
    return found


@pytest.fixture
def dev() -> Iterator[Dev]:
    with var_folder() as var:
        var.parent.mkdir(exist_ok=True)
        started = Dev(var.parent)
        try:
            yield started
        finally:
            if started.process.poll() is None:
                started.end()


def test_pages_have_the_toolbar_and_a_change_of_code_is_served_at_once(dev: Dev) -> None:
    dev.await_ready()
    dashboard = dev.log_in()
    assert "Log out" in dashboard
    assert TOOLBAR in dashboard
    assert " 'unsafe" not in dev.headers["Content-Security-Policy"]
    assert "script-src 'self';" in dev.headers["Content-Security-Policy"] + ";"
    request_id = dev.headers["djdt-request-id"]
    panel = f"/__debug__/render_panel/?request_id={request_id}&panel_id=SQLPanel"
    assert "SELECT" in json.loads(dev.page(panel))["content"]
    assert "DEBUG = True" in dev.page("/nowhere/at/all")

    before = dev.workers()
    for change in first_change():
        change.apply(dev.tree)
    wait_until(lambda: f'"version": "{product.SERVICE_VERSION}"' in dev.ready(), seconds=CHANGED_SECONDS)

    def workers_began_anew() -> bool:
        now = dev.workers()
        return bool(now) and not now & before

    wait_until(workers_began_anew, seconds=CHANGED_SECONDS)

    health = dev.tree / "gateway" / "pages" / "health.py"
    code = health.read_text()
    health.write_text(f"{code}\nthis is no Python\n")
    log = dev.var / "log" / "web.log"
    wait_until(lambda: "SyntaxError" in log.read_text() + dev.ready(), seconds=CHANGED_SECONDS)
    health.write_text(code)
    wait_until(lambda: '"version"' in dev.ready(), seconds=CHANGED_SECONDS)
    assert dev.end() == 0


def test_the_first_change_that_contributing_walks_through_fits_the_tree(tmp_path: Path) -> None:
    changes = first_change()
    assert [change.path for change in changes] == ["tests/gateway/pages/test_health.py", "gateway/pages/health.py"]
    for change in changes:
        copy = tmp_path / change.path
        copy.parent.mkdir(parents=True)
        shutil.copy(ROOT / change.path, copy)
        change.apply(tmp_path)
