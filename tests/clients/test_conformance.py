"""Each client, installed from its built package, makes the calls of the suite and comes to what the suite says."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from clients.conformance.proxy import Proxy, proxying
from clients.conformance.server import Script, faults, playing
from florin import Florin, NoAnswerError
from florin.transport import Transport
from tests.clients.judging import SCENARIOS, SIGNATURES, SIGNED, judge, keeps_connections, record
from tests.clients.packages import CLIENTS, LANGUAGES, Package, has_composer, install, is_there, run
from tests.tree import ROOT
from tests.x402.exact.environment import foreign_python
from webhooks.signatures import sign

TRANSPORTS = {"python": ("proxy", "async", "async-proxy"), "php": ("streams", "curl", "curl-proxy", "psr18")}
"""What else carries a client's requests than what carries them by itself. `psr18` is Debian's Guzzle, the package php-guzzlehttp-guzzle."""

NOT_KEPT = {("php", "streams")}
"""What makes a connection for each request: PHP's streams keep none."""

_GUZZLE = Path("/usr/share/php/GuzzleHttp/autoload.php")


def can_carry(language: str, transport: str, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether a transport can be run here; say so if not, and fail where everything must be tried."""
    if not is_there(language, capsys):
        return False
    if language != "php" or transport == "streams":
        return True
    asked = subprocess.run(["php", "-r", "exit((int) !extension_loaded('curl'));"], check=False)
    # Guzzle limits the time of a whole request by curl alone.
    if asked.returncode == 0 and (transport != "psr18" or _GUZZLE.exists()):
        return True
    package = "php-guzzlehttp-guzzle" if asked.returncode == 0 else "php-curl"
    assert os.environ.get("CI") != "true", f"CI must run PHP's transport {transport}: {package} is missing"
    with capsys.disabled():
        sys.stderr.write(f"\nPHP's transport {transport} was not run: {package} is not installed.\n")
    return False


def carried(package: Package, language: str, transport: str, proxy: str | None) -> Package:
    """A package whose runner uses a transport. The asynchronous one runs where the official MCP library brings httpx2."""
    kind, _, _ = transport.partition("-")
    told = dict(package.environment) | {"FLORIN_TRANSPORT": kind}
    if proxy is not None:
        told["FLORIN_PROXY"] = proxy
        # The environment's own word on proxies does not count.
        told["NO_PROXY"] = "*"
        # A sender of one's own has its own proxy: the package chooses curl.
        told["FLORIN_TRANSPORT"] = "" if language == "php" else kind
    command = [foreign_python("mcp"), *package.command[1:]] if kind == "async" else package.command
    return replace(package, command=command, environment=told)


@pytest.fixture
def package(language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Package | None:
    """An installed client; None where its language is not installed."""
    return install(language, tmp_path) if is_there(language, capsys) else None


@pytest.fixture
def judged(language: str, package: Package | None) -> list[str] | None:
    """What a client did wrong; None where its language is not installed."""
    if package is None:
        return None
    with playing(SCENARIOS) as server:
        found = judge(package, server)
        record(package, language, "its own", found)
        # What carries PHP's requests differs by its extensions, so its connections are counted for each transport.
        return found + ([] if language == "php" or keeps_connections(server) else ["it kept no connection"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_installed_client_does_what_the_suite_says(language: str, judged: list[str] | None) -> None:
    assert not judged, f"{language}: " + "\n".join(judged)


@pytest.mark.parametrize(
    ("language", "transport"),
    [(language, transport) for language, names in TRANSPORTS.items() for transport in names],
    ids=lambda name: str(name),
)
def test_each_transport_does_what_the_suite_says(
    language: str, transport: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not can_carry(language, transport, capsys):
        return
    package = install(language, tmp_path)
    with ExitStack() as stack:
        proxy = stack.enter_context(proxying()) if transport.endswith("proxy") else None
        server = stack.enter_context(playing(SCENARIOS))
        package = carried(package, language, transport, proxy.url if proxy else None)
        found = judge(package, server)
        record(package, language, transport, found)
        assert not found, f"{language} {transport}: " + "\n".join(found)
        assert keeps_connections(server) == ((language, transport) not in NOT_KEPT)
        if proxy is not None:
            assert_all_came_through(proxy, server)


def assert_all_came_through(proxy: Proxy, server: Script) -> None:
    """No request took another way than the proxy's."""
    came_from = {request["from_port"] for seen in server.seen for request in seen}
    assert came_from
    assert came_from <= proxy.ports


def test_an_answer_that_brings_nothing_and_has_no_end_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not can_carry("php", "psr18", capsys):
        return
    package = install("php", tmp_path)
    # Its own time limit counts the processor's: what is read without an end uses it.
    stuck = ["php", "-d", "max_execution_time=20", str(CLIENTS / "api-php" / "conformance" / "stuck.php")]
    assert run(stuck, package.folder, package.environment) == "NoAnswerError"


def test_a_proxy_without_its_password_gives_no_answer() -> None:
    with proxying() as proxy, playing([{"answers": [{"json": {"id": "key_1"}}]}]) as server:
        florin = Florin(f"{server.url}/s0", "sk_test_1", proxy=proxy.closed_url, retries=0)
        with pytest.raises(NoAnswerError):
            florin.key.get()
        florin.close()
        assert server.seen == [[]]
        assert proxy.refused == 1


@pytest.mark.parametrize(
    "address",
    [
        "https://proxy.example:3128",
        "proxy.example:3128",
        "http://proxy.example",
        "http://:3128",
        "http://p.example:1/x",
    ],
)
def test_what_is_no_address_of_a_proxy_is_refused_without_being_shown(address: str) -> None:
    with pytest.raises(ValueError, match=r"^The proxy is an address such as http://proxy\.example:3128\.$"):
        Florin("https://pay.example", "sk_test_1", proxy=address)


@pytest.mark.parametrize(
    ("language", "transport"), [("python", "proxy"), ("python", "async-proxy"), ("php", "curl-proxy")]
)
def test_a_proxy_on_another_machine_gets_no_key_in_the_open(
    language: str, transport: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not can_carry(language, transport, capsys):
        return
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "scenarios.json").write_text('[{"call": "key.get"}]')
    (suite / "signatures.json").write_text("[]")
    (suite / "signed.json").write_text("[]")
    package = carried(install(language, tmp_path), language, transport, "http://proxy.invalid:3128")
    told = run([*package.command, str(suite), "http://127.0.0.1:1"], package.folder, package.environment)
    assert json.loads(told)["scenarios"] == [{"error": {"class": "usage"}}]


@pytest.mark.parametrize(
    ("language", "program"), [("python", "pauses.py"), ("typescript", "pauses.mjs"), ("php", "pauses.php")]
)
def test_pauses_double_and_half_of_each_is_chance(language: str, program: str, package: Package | None) -> None:
    if package is None:
        return
    source = CLIENTS / f"api-{language}" / "conformance" / program
    # Node.js looks for packages beside the program.
    place = shutil.copy(source, Path(package.command[1]).parent) if language == "typescript" else source
    found = json.loads(run([package.command[0], str(place), "60"], package.folder, package.environment))
    assert len(found) == 60
    for first, wait in ((0, 0.5), (1, 1.0)):
        pauses = [each[first] for each in found]
        assert wait / 2 <= min(pauses) < wait * 0.6 < wait * 0.9 < max(pauses) <= wait
    assert {len(each) for each in found} == {2}


def test_phps_package_is_archived_and_installed_by_composer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not has_composer():
        assert os.environ.get("CI") != "true", "CI must archive and install PHP's package: composer is missing"
        with capsys.disabled():
            sys.stderr.write("\nPHP's package was not archived and installed by composer, which is not installed.\n")
        return
    package = install("php", tmp_path)
    with ZipFile(package.built) as archive:
        places = {name.partition("/")[0] for name in archive.namelist()}
    assert places == {"LICENSE", "README.md", "composer.json", "src"}
    (known,) = json.loads((package.folder / "vendor" / "composer" / "installed.json").read_text())["packages"]
    assert (known["name"], known["require"]) == ("florin/florin", {"php": ">=8.1", "ext-json": "*"})
    asked = "require $argv[1]; echo (new ReflectionClass('Florin\\Florin'))->getFileName();"
    place = run(["php", "-r", asked, package.environment["FLORIN_AUTOLOAD"]], package.folder)
    assert Path(place).is_relative_to(package.folder / "vendor")


# What a program in a browser has, and one on Node.js; the second by its own types alone, without those of browsers.
@pytest.mark.parametrize(
    "options",
    [
        {"lib": ["es2022", "dom", "dom.iterable", "dom.asynciterable"], "types": []},
        {"lib": ["es2022"], "types": ["node"]},
    ],
    ids=["browser", "node"],
)
def test_a_program_compiles_against_the_types_that_are_installed(options: dict[str, list[str]], tmp_path: Path) -> None:
    installed = install("typescript", tmp_path).folder.parents[2]
    shutil.copy(CLIENTS / "api-typescript" / "conformance" / "consumer.ts", installed)
    types = str(ROOT / "node_modules" / "@types")
    strict = {
        "strict": True,
        "exactOptionalPropertyTypes": True,
        "noUncheckedIndexedAccess": True,
        "skipLibCheck": False,
    }
    told = options | strict | {"noEmit": True, "target": "es2022", "module": "nodenext", "typeRoots": [types]}
    (installed / "tsconfig.json").write_text(json.dumps({"compilerOptions": told, "files": ["consumer.ts"]}))
    run(["node", ROOT / "node_modules" / "typescript" / "bin" / "tsc", "--pretty", "false"], installed)


def test_what_the_clients_sign_for_tests_is_what_florin_sends() -> None:
    for told in SIGNED:
        content = {"Content-Type": "application/json"}
        event_id = told.get("event_id", "evt_test")
        body = told["body"].encode()
        assert told["headers"] == content | sign(
            body, message_id=event_id, timestamp=told["now"], secrets=[told["secret"]]
        )


def test_a_sender_of_ones_own_takes_no_proxy() -> None:
    with pytest.raises(ValueError, match="has its own proxy"):
        Florin(
            "https://pay.example",
            "sk_test_1",
            proxy="http://proxy.example:3128",
            sender=Transport("https://pay.example", seconds=1),
        )


def test_the_suite_is_large_and_each_case_has_a_name_of_its_own() -> None:
    for cases, least in ((SCENARIOS, 80), (SIGNATURES, 30)):
        assert len({each["name"] for each in cases}) == len(cases) >= least


def test_the_judge_sees_a_doubled_request_a_new_key_and_another_result() -> None:
    (scenario,) = (each for each in SCENARIOS if each["name"].startswith("a POST is repeated without an answer"))
    headers = {"authorization": "Bearer sk_test_1", "user-agent": "florin-x", "content-type": "application/json"}
    sent = {"method": "POST", "path": "/links", "query": {}, "body": '{"title":"x"}', "at": 0.0}
    first = sent | {"headers": headers | {"idempotency-key": "k" * 36}}
    other = sent | {"headers": headers | {"idempotency-key": "l" * 36}}
    good = {"result": {"id": "l"}}
    assert faults(scenario, [first, first], good) == []
    assert faults(scenario, [first, other], good) != []
    assert faults(scenario, [first, first, first], good) != []
    assert faults(scenario, [first, first], {"result": {"id": "m"}}) != []
    assert faults(scenario, [first, first], {"error": {"class": "NoAnswerError"}}) != []
