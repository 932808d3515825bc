"""A new key is known to every process before one uses it, so that none meets what it cannot read."""

from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.core.signing import BadSignature, Signer

from tests.deploy.florinctl import call, florinctl, settings_of

OLD = Fernet.generate_key().decode()
OLD_SECRET, OLDER_SECRET = "a" * 60, "b" * 60


class Installation:
    """Two processes that read the environment file when they are restarted, one after the other."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = settings_of(
            folder, ENCRYPTION_KEYS=OLD, SECRET_KEY=OLD_SECRET, SECRET_KEY_FALLBACKS=OLDER_SECRET
        )
        self.file: Path = self.settings.env_file
        self.envs = [dict(self.settings.env) for _ in range(2)]
        self.managed: list[tuple[str, ...]] = []
        monkeypatch.setattr(florinctl, "roll", self._roll)
        monkeypatch.setattr(florinctl, "manage", self._manage)

    def _roll(self, _settings: Any) -> None:
        for number in range(len(self.envs)):
            self.envs[number] = florinctl.read_env(self.file)
            self.check()

    def _manage(self, settings: Any, *arguments: str) -> str:
        assert settings.env == florinctl.read_env(self.file)
        self.managed.append(arguments)
        return "Webhook secrets: 1.\n"

    def check(self) -> None:
        """Each process reads what each writes."""
        for writer in self.envs:
            token = fernet(writer).encrypt(b"secret")
            signed = Signer(key=writer["SECRET_KEY"]).sign("link")
            for reader in self.envs:
                assert fernet(reader).decrypt(token) == b"secret"
                assert signer(reader).unsign(signed) == "link"


def fernet(env: dict[str, str]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in env["ENCRYPTION_KEYS"].split(",")])


def signer(env: dict[str, str]) -> Signer:
    fallbacks: list[bytes | str] = [*env["SECRET_KEY_FALLBACKS"].split(",")]
    return Signer(key=env["SECRET_KEY"], fallback_keys=fallbacks)


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    return Installation(tmp_path, monkeypatch)


def test_each_process_reads_what_the_others_write_at_every_moment(installation: Installation) -> None:
    florinctl.rotate(installation.settings, "encryption")
    new, old = florinctl.read_env(installation.file)["ENCRYPTION_KEYS"].split(",")
    assert (old, new != old) == (OLD, True)
    assert installation.managed == [("rotate_keys", "encryption")]


def test_sessions_and_links_of_the_old_secret_key_stay_valid(installation: Installation) -> None:
    signed = Signer(key=OLD_SECRET).sign("link")
    florinctl.rotate(installation.settings, "secret-key")
    env = florinctl.read_env(installation.file)
    assert len(env["SECRET_KEY"]) >= 50
    assert env["SECRET_KEY_FALLBACKS"].split(",") == [OLD_SECRET, OLDER_SECRET]
    assert signer(env).unsign(signed) == "link"
    assert installation.managed == [("rotate_keys", "status")]


@pytest.mark.parametrize(("kind", "refusal"), [("encryption", InvalidToken), ("secret-key", BadSignature)])
def test_without_the_first_step_a_process_meets_what_it_cannot_read(
    kind: str, refusal: type[Exception], installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = florinctl.key_steps
    monkeypatch.setattr(florinctl, "key_steps", lambda *given: steps(*given)[1:])
    with pytest.raises(refusal):
        florinctl.rotate(installation.settings, kind)


def test_the_rest_of_the_file_its_owner_and_its_mode_stay(installation: Installation) -> None:
    file = installation.file
    file.write_text(f"# Ours\nexport ENCRYPTION_KEYS='{OLD}'\n\nREDIS_URL=redis://a\n")
    file.chmod(0o640)
    changed = florinctl.set_env(installation.settings, {"ENCRYPTION_KEYS": "k1,k2", "NEW": "1"})
    assert file.read_text() == ("# Ours\nENCRYPTION_KEYS=k1,k2\n\nREDIS_URL=redis://a\nNEW=1\n")
    assert file.stat().st_mode & 0o777 == 0o640
    assert changed.env["ENCRYPTION_KEYS"] == "k1,k2"


def test_every_line_that_names_a_key_is_changed(installation: Installation) -> None:
    installation.file.write_text(f"ENCRYPTION_KEYS=\nREDIS_URL=redis://a\nENCRYPTION_KEYS={OLD}\n")
    changed = florinctl.set_env(installation.settings, {"ENCRYPTION_KEYS": "k1,k2"})
    # The last one counts.
    assert changed.env["ENCRYPTION_KEYS"] == "k1,k2"


@pytest.mark.parametrize("held", ["SECRET_KEY", "SECRET_KEY_FALLBACKS"])
def test_former_keys_are_kept_where_the_key_is(held: str, installation: Installation) -> None:
    folder = installation.settings.secrets
    folder.mkdir(mode=0o700)
    (folder / held).write_text(f"{OLD_SECRET}\n")
    installation.file.write_text(f"ENCRYPTION_KEYS={OLD}\nSECRET_KEY={OLDER_SECRET}\n")
    settings = florinctl.read_settings(installation.file, None)
    for values in florinctl.key_steps(settings.env, "secret-key"):
        settings = florinctl.set_env(settings, values)
        assert values.items() <= settings.env.items()
    written = installation.file.read_text()
    assert settings.env["SECRET_KEY_FALLBACKS"] not in written
    assert (settings.env["SECRET_KEY"] in written) == (held != "SECRET_KEY")


def test_of_two_who_rotate_at_once_one_is_refused(installation: Installation) -> None:
    with florinctl.locked(installation.file.parent / ".florinctl.lock"):
        told = call("--env", installation.file, "rotate", "encryption")
    assert (told.returncode, "Another florinctl" in told.stderr) == (1, True)
    assert florinctl.read_env(installation.file)["ENCRYPTION_KEYS"] == OLD


def test_a_dry_run_changes_nothing(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    before = installation.file.read_text()
    arguments = ["--env", str(installation.file), "rotate", "encryption", "--dry-run"]
    options = florinctl.parser().parse_args(arguments)
    assert florinctl.do_rotate(installation.settings, options) == 0
    assert installation.file.read_text() == before
    assert installation.managed == [("rotate_keys", "status")]
    assert "Nothing was changed" in capsys.readouterr().out
