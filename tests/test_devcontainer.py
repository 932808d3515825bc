"""The devcontainer has what the scripts need, in versions that they take."""

import json
import re
import shlex
import shutil
import subprocess
from typing import Any

import pytest

from gateway.management.commands.up import Command as Up
from gateway.processes.stack import STREAM_PORT
from tests.test_pythons import PYTHONS
from tests.tree import ROOT

NODE_OF_DEBIAN = {"bookworm": 18, "trixie": 20}
"""The major version of the package nodejs."""


@pytest.fixture(scope="module")
def container() -> Any:
    return json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())


def command_of(container: Any) -> list[str]:
    """The words of the command that sets the container up."""
    return shlex.split(container["postCreateCommand"])


def script(name: str) -> str:
    return (ROOT / "script" / name).read_text()


def test_its_python_is_supported_and_its_node_new_enough(container: Any) -> None:
    image = re.fullmatch(r"python:([\d.]+)-(\w+)", container["image"])
    assert image
    assert image[1] in PYTHONS
    oldest = {int(n) for n in re.findall(r"Node\.js (\d+) or later", script("test"))}
    assert oldest
    assert NODE_OF_DEBIAN[image[2]] >= max(oldest)


def test_it_installs_the_programs_that_script_test_looks_for(container: Any) -> None:
    words = command_of(container)
    installed = set(words[words.index("install") : words.index("sh")])
    browsers = re.search(r"for candidate in .*?(chromium.*?); do", script("test"))
    assert browsers
    assert installed & set(browsers[1].split())
    wanted = re.findall(r'install_packages "[^"]+" \S+ (\S+)', script("test"))
    assert wanted
    assert set(wanted) <= installed
    assert {"nodejs", "npm"} <= installed


def test_its_setup_calls_what_the_scripts_define(container: Any) -> None:
    setup = command_of(container)[-1]
    sourced, *calls = [shlex.split(part) for part in setup.split("&&")]
    assert sourced == [".", "script/_setup.sh"]
    defined = set(re.findall(r"^(\w+)\(\)", script("_setup.sh"), re.MULTILINE))
    assert {call[0] for call in calls} <= defined
    # The same as script/test.
    called = re.findall(r"^(setup_\w+)", script("test"), re.MULTILINE)
    assert [call[0] for call in calls] == [name for name in called if name not in {"setup_browser", "setup_night"}]
    files = [word for call in calls for word in call[1:]]
    assert files == ["requirements/dev.txt"]
    assert all(f"setup_python {name}" in script("test") for name in files)


def test_its_command_is_one_that_a_shell_can_read(container: Any) -> None:
    sh = shutil.which("sh")
    assert sh
    line = container["postCreateCommand"]
    assert subprocess.run([sh, "-n", "-c", line], check=False).returncode == 0


def test_it_forwards_the_ports_of_pages_shop_and_streams(container: Any) -> None:
    parser = Up().create_parser("manage.py", "up")
    port = parser.parse_args([]).port
    assert container["forwardPorts"] == [port, port + 1, port + STREAM_PORT]
    assert set(container["portsAttributes"]) == {str(one) for one in container["forwardPorts"]}
