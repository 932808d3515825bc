"""In containers Florin's role owns its database and is no superuser: migrations, the product and backups need no more."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.deploy.florinctl import Server, florinctl, server
from tests.tree import ROOT

pytestmark = [pytest.mark.faults, pytest.mark.slow]
SCRIPT = ROOT / "deploy" / "postgres" / "florin.sh"
PASSWORD = 'it\'s \\ "quoted"'


@pytest.fixture(scope="module")
def ours() -> Iterator[Server]:
    """A server on which the script of the container's first start ran."""
    with server() as made:
        # The helper's superuser has the name of Florin's role.
        made.sql("CREATE ROLE boss SUPERUSER LOGIN")
        boss = f"postgresql://boss@/postgres?host={made.home}&port=5432"
        for statement in ("ALTER DATABASE florin RENAME TO unused", "ALTER ROLE florin RENAME TO postgres"):
            florinctl.ask(made.postgres, boss, statement)
        script = made.home / "florin.sh"
        shutil.copyfile(SCRIPT, script)
        subprocess.run(
            ["sh", script],
            check=True,
            env={
                "PATH": f"{made.postgres.folder}:{os.environ['PATH']}",
                "PGHOST": str(made.home),
                "PGPORT": "5432",
                "POSTGRES_USER": "postgres",
                "POSTGRES_PASSWORD": PASSWORD,
            },
        )
        yield made


def test_the_role_is_no_superuser_and_the_superuser_has_no_password(ours: Server) -> None:
    rights = "rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication"
    told = ours.sql(f"SELECT {rights} FROM pg_roles WHERE rolname = 'florin'")
    assert told == "f|f|f|f|t"
    boss = f"postgresql://boss@/florin?host={ours.home}&port=5432"
    told = florinctl.ask(
        ours.postgres,
        boss,
        "SELECT rolname, rolpassword IS NULL FROM pg_authid WHERE rolname IN ('florin', 'postgres') ORDER BY 1",
    )
    assert told.splitlines() == ["florin|f", "postgres|t"]


def test_check_names_a_role_that_is_a_superuser(ours: Server) -> None:
    login = f"florin:{quote(PASSWORD, safe='')}"
    found = [
        [one.name for one in florinctl.check_role(ours.settings(DATABASE_URL=url))]
        for url in (ours.url.replace("florin@", f"{login}@", 1), ours.url.replace("florin@", "boss@", 1))
    ]
    assert found == [[], ["database role"]]


def test_it_migrates_runs_the_checks_and_is_backed_up(ours: Server) -> None:
    login = f"florin:{quote(PASSWORD, safe='')}"
    url = ours.url.replace("florin@", f"{login}@", 1)
    settings = ours.settings(DATABASE_URL=url, ENCRYPTION_KEYS=florinctl.fernet_key(), FLORIN_ENV="development")
    florinctl.manage(settings, "migrate", "--noinput", database=url)
    for check in florinctl.PRODUCT_CHECKS:
        florinctl.manage(settings, check, database=url)
    assert florinctl.back_up(settings, full=True, plain=True).kind == "full"
    owners = ours.sql("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
    assert owners == "florin"
