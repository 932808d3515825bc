"""florinctl finds the usual mistakes, says what to do, and gives no secret away."""

import json
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.servers import free_port
from tests.deploy.florinctl import call, florinctl, settings_of, write_env
from tests.webhooks.receiver import Reply, receiving

VERBS = (
    "check",
    "status",
    "backup",
    "restore",
    "drill",
    "install",
    "upgrade",
    "rollback",
    "rotate",
    "support-bundle",
    "start",
    "stop",
    "manage",
)
read_ports = florinctl.listening
ask_anybody = florinctl.probe
SECRETS = {
    "SECRET_KEY": "k3" * 30,
    "ENCRYPTION_KEYS": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY=",
    "DATABASE_URL": "postgresql://florin:hunter2-database@db.internal/florin",
    "REDIS_URL": "redis://:hunter2-valkey@cache.internal:6379/0",
    "EMAIL_HOST_PASSWORD": "hunter2-mail",
    "METRICS_TOKEN": "hunter2-metrics-token-of-30-letters",
    "GAS_KEYS": "0x" + "ab" * 32,
    "CHAIN_BASE_RPC_URLS": "https://a.example/v2/nodekey111,https://b.example/nodekey222",
    # Names that say nothing, and one that nobody knows yet.
    "OTEL_EXPORTER_OTLP_HEADERS": "x-honeycomb-team=hunter2-otel,authorization=Basic%20aHVudGVyMg",
    "HTTPS_PROXY": "http://us:hunter2-proxy@proxy.example:3128",
    "SENTRY_DSN": "https://hunter2dsn@sentry.example/1",
    "STREAM_URL": "https://pay.invalid/?t=hunter2-stream",
    "TOMORROW": "hunter2-tomorrow",
}
GOOD = {
    **SECRETS,
    "BASE_URL": "https://pay.invalid",
    "EMAIL_HOST": "mail.example",
    "BACKUP_RECIPIENT": "age1abc",
    "BACKUP_KEYS_RECIPIENT": "age1def",
    "TRUSTED_PROXIES": "127.0.0.1/32",
    "ALLOWED_HOSTS": "pay.invalid",
}


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Nobody answers on the network, unless a test says what."""

    def answer(status: int = 0, **headers: str) -> None:
        monkeypatch.setattr(florinctl, "fetch", lambda _url: (status, headers))

    answer()
    return answer


def installed(folder: Path, **values: str) -> Any:
    """A careful installation, with a young backup and drill."""
    settings = settings_of(folder, **(GOOD | values))
    florinctl.note_status(settings, backup_at=time.time(), drill_at=time.time())
    florinctl.note_status(settings, wal_at=time.time())
    return settings


def names(settings: Any) -> list[str]:
    return [finding.name for finding in florinctl.find_mistakes(settings)]


@pytest.fixture(autouse=True)
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk has room and no port is open, whatever the machine of the tests says."""
    monkeypatch.setattr(florinctl, "listening", set)
    monkeypatch.setattr(florinctl, "probe", lambda *_: set())
    monkeypatch.setattr(florinctl, "ask", lambda *_: "")
    monkeypatch.setattr(florinctl.shutil, "disk_usage", lambda _place: Usage(100 * 2**30, 60 * 2**30))


class Usage:
    """What shutil.disk_usage returns."""

    def __init__(self, total: int, free: int) -> None:
        self.total, self.free = total, free


def test_a_careful_installation_has_no_mistake(tmp_path: Path, quiet: Any) -> None:
    assert names(installed(tmp_path)) == []


@pytest.mark.parametrize(
    ("values", "finding"),
    [
        ({"SECRET_KEY": "development-only"}, "secret key"),
        ({"ENCRYPTION_KEYS": ""}, "encryption keys"),
        ({"FLORIN_ENV": "development"}, "development"),
        ({"DEBUG": "true"}, "debug"),
        ({"DJANGO_SETTINGS_MODULE": "demo.debug.settings"}, "debug"),
        ({"BASE_URL": "http://pay.invalid"}, "https"),
        ({"CHECKOUT_HOST": "http://pay.invalid"}, "https"),
        ({"METRICS_TOKEN": "metrics"}, "metrics"),
        ({"DATABASE_URL": "sqlite:///florin.db"}, "database"),
        ({"REDIS_URL": ""}, "valkey"),
        ({"EMAIL_HOST": ""}, "mail"),
        ({"CHAIN_BASE_RPC_URLS": "https://a.example/1,https://a.example/2"}, "nodes"),
        ({"BACKUP_RECIPIENT": ""}, "backup key"),
        ({"BACKUP_KEYS_RECIPIENT": "age1abc"}, "backup key"),
        ({"TRUSTED_PROXIES": ""}, "proxies"),
        ({"TRUSTED_PROXIES": "10.0.0.1,0.0.0.0/0"}, "proxies"),
        ({"TRUSTED_PROXIES": "0.0.0.0/1,128.0.0.0/1"}, "proxies"),
        ({"TRUSTED_PROXIES": "::ffff:0:0/96"}, "proxies"),
        ({"TRUSTED_PROXIES": "everybody"}, "proxies"),
        ({"ALLOWED_HOSTS": "*"}, "hosts"),
    ],
)
def test_a_setting_that_costs_money_is_found(tmp_path: Path, quiet: Any, values: dict[str, str], finding: str) -> None:
    assert names(installed(tmp_path, **values)) == [finding]


def test_an_env_file_that_others_read_is_found(tmp_path: Path, quiet: Any) -> None:
    settings = installed(tmp_path)
    settings.env_file.chmod(0o644)
    assert names(settings) == ["env file"]
    settings.env_file.chmod(0o640)
    assert names(settings) == []


def test_no_backup_an_old_one_and_no_drill_are_found(tmp_path: Path, quiet: Any) -> None:
    settings = settings_of(tmp_path, **GOOD)
    assert names(settings) == ["backup", "drill"]
    old = time.time() - 40 * 86_400
    florinctl.note_status(settings, backup_at=old, drill_at=old, wal_at=time.time())
    found = florinctl.find_mistakes(settings)
    assert [one.name for one in found] == ["backup", "drill"]
    assert "40 days" in found[0].problem


def test_wal_that_is_not_shipped_is_found(tmp_path: Path, quiet: Any) -> None:
    settings = installed(tmp_path)
    florinctl.note_status(settings, wal_at=time.time() - 4 * 3_600)
    [found] = florinctl.find_mistakes(settings)
    assert (found.name, "4 hours" in found.problem) == ("wal", True)


def test_signers_that_no_other_machine_can_know_are_found(tmp_path: Path, quiet: Any) -> None:
    settings = installed(tmp_path)
    seal = florinctl.seal_of(settings)
    seal.make_key()
    assert names(settings) == ["backup signers"]
    settings.key_backups.mkdir()
    florinctl.keep_keys(settings, florinctl.Vault(None, seal=seal))
    assert names(settings) == []


def test_a_secret_that_others_read_is_found(tmp_path: Path, quiet: Any) -> None:
    settings = installed(tmp_path)
    settings.secrets.mkdir(mode=0o700)
    secret = settings.secrets / "SECRET_KEY"
    secret.write_text("x")
    secret.chmod(0o600)
    assert names(settings) == []
    secret.chmod(0o640)
    assert names(settings) == ["env file"]


@pytest.mark.parametrize(
    ("port", "name"), [(5432, "PostgreSQL"), (6379, "Valkey"), (2379, "etcd"), (8008, "Patroni"), (8001, "web")]
)
def test_what_listens_to_everybody_is_found(
    tmp_path: Path, quiet: Any, monkeypatch: pytest.MonkeyPatch, port: int, name: str
) -> None:
    head = "  sl  local_address rem_address   st\n"
    table = tmp_path / "tcp"
    # 127.0.0.1:5432 listens; so does 0.0.0.0:6379; 0.0.0.0:8001 only talks to somebody.
    lines = ("0100007F:1538 0:0 0A", "00000000:18EB 0:0 0A", "00000000:1F41 0:0 01")
    table.write_text(head + "".join(f" 0: {line}\n" for line in lines))
    assert read_ports([table, tmp_path / "none"]) == {6379}
    monkeypatch.setattr(florinctl, "listening", lambda: {22, port})
    [found] = florinctl.find_mistakes(installed(tmp_path))
    assert (found.name, found.problem.startswith(f"{name} listens")) == ("open port", True)


@pytest.mark.parametrize(
    ("port", "path", "open_status", "name"), [(8008, "/config", 400, "patroni"), (2379, "/v3/kv/range", 200, "etcd")]
)
def test_a_cluster_that_lets_everybody_in_is_found(
    tmp_path: Path, quiet: Any, monkeypatch: pytest.MonkeyPatch, port: int, path: str, open_status: int, name: str
) -> None:
    asked = []

    def answer(*told: Any) -> set[int]:
        asked.append(told)
        return {open_status} if told[:2] == ("db2", port) else {401, 403}

    monkeypatch.setattr(florinctl, "probe", answer)
    url = "postgresql://florin:hunter2@db1:5432,db2:5432/florin"
    assert names(installed(tmp_path, DATABASE_DIRECT_URL=url)) == [name]
    assert {"db1", "db2", "db.internal"} <= {one[0] for one in asked}
    assert path in {one[3] for one in asked}
    assert "hunter2" not in str(asked)


def test_a_probe_is_answered_by_http_and_by_tls_and_by_nobody() -> None:
    with receiving() as server:
        server.reply = lambda _: Reply(status=400)
        assert ask_anybody("127.0.0.1", server.port, "POST", "/config", "-") == {400}
    assert ask_anybody("127.0.0.1", free_port(), "PATCH", "/config", "-") == set()


def test_metrics_that_answer_everybody_are_found(tmp_path: Path, quiet: Any) -> None:
    quiet(200)
    assert names(installed(tmp_path)) == ["metrics"]


def test_a_clock_that_is_off_is_found(tmp_path: Path, quiet: Any) -> None:
    quiet(405, Date="Mon, 01 Jan 2024 00:00:00 GMT")
    assert names(installed(tmp_path)) == ["clock"]
    now = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
    quiet(405, Date=now)
    assert names(installed(tmp_path)) == []


def test_a_node_that_tells_no_time_stops_no_check(tmp_path: Path, quiet: Any) -> None:
    quiet(405, Date="soon")
    assert names(installed(tmp_path)) == []


def test_a_web_process_is_asked_itself_whatever_proxy_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with receiving() as server:
        for address in ("", "0.0.0.0", "127.0.0.1"):
            assert florinctl.is_ready(settings_of(tmp_path, WEB_ADDRESS=address), server.port)
        # 0.25 listens at loopback, whatever the environment file says.
        assert florinctl.is_ready(settings_of(tmp_path, WEB_ADDRESS="::1"), server.port)
        server.reply = lambda _: Reply(status=503)
        assert not florinctl.is_ready(settings_of(tmp_path), server.port)
    assert not florinctl.is_ready(settings_of(tmp_path), free_port())


def test_a_web_process_is_asked_where_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(host: str, _port: int, **_: Any) -> None:
        asked.append(host)
        raise ConnectionRefusedError

    monkeypatch.setattr(florinctl.http.client, "HTTPConnection", refuse)
    assert not florinctl.is_ready(settings_of(tmp_path, WEB_ADDRESS="10.0.0.5"), 8001)
    assert asked[0] == "10.0.0.5"


def test_a_disk_that_is_nearly_full_is_found(tmp_path: Path, quiet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(florinctl.shutil, "disk_usage", lambda _place: Usage(100 * 2**30, 2**30))
    assert set(names(installed(tmp_path))) == {"disk"}


def test_a_support_bundle_has_no_secret(tmp_path: Path, quiet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [
        *("sk_live_4f8h2k5m9", "whsec_abcDEF123", "AGE-SECRET-KEY-1QQQ"),
        *("ines@halden.example", "cd" * 32, "tr0ub4dor"),
    ]
    log = "\n".join(
        [
            f"key {planted[0]} secret {planted[1]} {planted[2]}",
            f"mail to {planted[3]}, gas 0x{planted[4]}",
            f"connecting to https://user:{planted[5]}@node.example/",
            "asked https://a.example/v2/nodekey111, authorization: Bearer abc.def",
            f"settings {GOOD['DATABASE_URL']} {GOOD['GAS_KEYS']}",
        ]
    )
    monkeypatch.setattr(florinctl, "logs", lambda _settings: log)
    target = tmp_path / "bundle.tar.gz"
    settings = installed(tmp_path)
    florinctl.support_bundle(settings, target)
    with tarfile.open(target) as bundle:
        files = {
            member.name: bundle.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in bundle.getmembers()
        }
    whole = "\n".join(files.values())
    assert "ALLOWED_HOSTS=pay.invalid" in whole
    assert "TOMORROW=[removed]" in whole
    hidden = [*planted, *SECRETS.values(), "hunter2", "nodekey111", "abc.def"]
    assert [secret for secret in hidden if secret in whole] == []
    assert "BASE_URL" in files["florin-support/env.txt"]
    assert "connecting to" in files["florin-support/logs.txt"]
    assert target.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        "GET https://node.example/rpc?apikey=hunter2&x=1",
        "https://mainnet.example/v3/hunter2hunter2hunter2x1/logs",
        "redis://hunter2@cache:6379",
        '{"password": "hunter2"}',
        "Authorization: Basic hunter2hunter2",
        "X-Api-Key: hunter2",
        "Set-Cookie: hunter2",
        "client_secret=hunter2",
        "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.hunter2.hunter2",
        "hunter2@mail.example",
        "postgresql://florin:a/hunter2@db:5432/florin",
        "redis://:a@hunter2@cache:6379/0",
        "https://rpc.example/hunter2key",
        "wss://rpc.example/v3/hunter2hunter2hunter2x1, next",
        "(https://rpc.example/v3/hunter2hunter2hunter2x1)",
        "https://api.telegram.example/bot123:hunter2/sendMessage",
        "OTEL_EXPORTER_OTLP_HEADERS=x-honeycomb-team=hunter2,dataset=hunter2",
        "{'x-honeycomb-team': 'hunter2', 'api-key': 'hunter2'}",
        "SENTRY_DSN=https://hunter2@o1.example/4",
        "AUTH PLAIN hunter2",
        "EMAIL_HOST_PASSWORD='a hunter2'",
        "Cookie: a=1; sessionid=hunter2",
        'Authorization: Digest username="x", response="hunter2"',
        "aws_secret_access_key = hunter2",
        '{\\"password\\": \\"hunter2\\"}',
        "password%3Dhunter2",
        "psql --password hunter2",
        "ALTER ROLE florin PASSWORD 'hunter2'",
        "requirepass hunter2",
        "passphrase=hunter2",
        "*:*:*:*:hunter2",
        "('x-api-key', 'hunter2')",
        "{'secret': b'hunter2'}",
        "$argon2id$v=19$m=1,t=2,p=8$hunter2$hunter2",
        "-----BEGIN EC PRIVATE KEY-----\nhunter2",
        "ghp_hunter2hunter2",
    ],
)
def test_what_has_a_secrets_shape_is_redacted_wherever_it_came_from(text: str) -> None:
    assert "hunter2" not in florinctl.redact(f"before {text} after", {})
    assert "hunter2" not in florinctl.shown_env({"BASE_URL": text})


@pytest.mark.parametrize(
    "text",
    [
        str([104] * 64),
        "abandon ability able about above absent absorb abstract absurd abuse access accident",
        f"xprv9s21ZrQH143K3{'QTDL4LXw2F7HEK3w' * 6}",
    ],
)
def test_a_key_by_itself_is_redacted(text: str) -> None:
    assert florinctl.redact(f"1: {text}. After", {}) == "1: [removed]. After"


def test_a_secret_is_redacted_as_urls_write_it() -> None:
    hidden = {"EMAIL_HOST_PASSWORD": "tr0ub/dor+3"}
    assert "dor" not in florinctl.redact("smtp as tr0ub%2Fdor%2B3 failed", hidden)


def test_what_helps_is_left() -> None:
    for text in (
        "2026-11-26T20:00:00Z https://pay.example/c/chk_live_abc took 12.5 ms: token bucket is full",
        "GET https://pay.example:8443/api/v1/checkouts answered 503 (passes: 3)",
        'File "/opt/florin/current/wallets/chains/evm/adapter.py", line 12',
    ):
        assert florinctl.redact(text, GOOD) == text


def test_planted_secrets_are_redacted(tmp_path: Path) -> None:
    text = f"{GOOD['DATABASE_URL']} sk_live_4f8h2k5m9"
    assert "hunter2" in text
    assert "hunter2" not in florinctl.redact(text, GOOD)
    assert "sk_live" not in florinctl.redact(text, {})


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself_before_anything_is_installed(verb: str) -> None:
    # -I: no site packages of ours, no environment.
    told = call(verb, "--help")
    assert told.returncode == 0
    assert told.stdout.startswith(f"usage: florinctl {verb}")
    assert len(told.stdout.splitlines()) > 4


def test_exit_codes_and_words_tell_what_to_do(tmp_path: Path) -> None:
    missing = call("--env", tmp_path / "none", "check")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "Name another file with --env" in missing.stderr
    assert "Traceback" not in missing.stderr
    file = write_env(tmp_path, BASE_URL="http://x.invalid", FLORIN_VAR=str(tmp_path))
    found = call("--env", file, "check")
    assert found.returncode == 1
    assert "https: BASE_URL is not https." in found.stdout
    backup = call("--env", file, "backup")
    assert backup.returncode == 1
    assert "age-keygen" in backup.stderr
    assert call("--env", file, "nothing").returncode == 2


def test_values_in_quotes_and_comments_are_read_as_systemd_does(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("# A=1\n\nB=\"two words\"\nC='x=y'\nexport D=4\n")
    assert florinctl.read_env(file) == {"B": "two words", "C": "x=y", "D": "4"}


def test_a_file_replaces_what_the_environment_file_says(tmp_path: Path) -> None:
    file = write_env(tmp_path, SECRET_KEY="weak", BASE_URL="x")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "SECRET_KEY").write_text("strong\n")
    settings = florinctl.read_settings(file, None)
    assert settings.env == {"SECRET_KEY": "strong", "BASE_URL": "x"}
    assert settings.way == "systemd"


def test_the_way_is_that_of_the_installation_unless_another_is_named(tmp_path: Path) -> None:
    file = write_env(tmp_path, FLORIN_WAY="containers")
    assert florinctl.read_settings(file, None).contained
    assert not florinctl.read_settings(file, "systemd").contained
    with pytest.raises(florinctl.ProblemError, match="must be one of"):
        florinctl.read_settings(write_env(tmp_path, FLORIN_WAY="magic"), None)


def test_a_position_is_in_the_file_that_postgresql_names() -> None:
    # As pg_walfile_name says.
    assert florinctl.wal_file(1, "0/3000028") == "000000010000000000000003"
    assert florinctl.wal_file(2, "1A/FF000000") == "000000020000001A000000FF"


def test_the_status_file_is_whole_json(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    florinctl.note_status(settings, backup_at=1.0)
    florinctl.note_status(settings, drill_at=2.0)
    told = json.loads(settings.status_file.read_text())
    assert told == {"backup_at": 1.0, "drill_at": 2.0}
