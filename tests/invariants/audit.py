"""A second pair of eyes: the database itself writes down every status move, whoever makes it and however."""

from collections import defaultdict

from django.db import connection

_WATCH = """
CREATE TEMPORARY TABLE seen_move (
    id bigserial PRIMARY KEY, checkout_id bigint NOT NULL, before text NOT NULL, after text NOT NULL
) ON COMMIT DROP;

CREATE FUNCTION pg_temp.write_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seen_move (checkout_id, before, after) VALUES (NEW.id, OLD.status, NEW.status);
    RETURN NULL;
END $$;

CREATE TRIGGER write_move AFTER UPDATE ON checkouts_checkout
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION pg_temp.write_move();
"""


def watch_moves() -> None:
    """Begin to write down moves, until the test's transaction is rolled back."""
    assert connection.in_atomic_block
    with connection.cursor() as cursor:
        cursor.execute(_WATCH)


def moves() -> dict[int, list[tuple[str, str]]]:
    """Return every move since, by checkout, in order."""
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute("SELECT checkout_id, before, after FROM seen_move ORDER BY id")
        for checkout_id, before, after in cursor:
            found[checkout_id].append((before, after))
    return found
