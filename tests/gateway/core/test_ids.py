from gateway.core.ids import ALPHABET, LENGTH, new_code, new_id


def test_ids_carry_their_prefix_and_130_random_bits():
    prefix, _, rest = new_id("chk_live").rpartition("_")
    assert prefix == "chk_live"
    assert len(rest) == LENGTH
    assert set(rest.encode()) <= set(ALPHABET)


def test_ten_thousand_codes_are_all_different():
    assert len({new_code() for _ in range(10_000)}) == 10_000
