"""The bytes of a Tron transaction, against one that is on the main network and against a reader of our own."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from localnet.tron.transactions import fields_of
from wallets.chains.tron.dialect import write_address
from wallets.chains.tron.unsigned_payment import Anchor, ContractCall, signed, transfer_data

# A transfer of USDT on the main network, as it was signed; its id is the hash of these bytes.
ON_CHAIN = (
    "0a02e60e220817a154e738ccf87040f8f7d88cfd315aae01081f12a9010a31747970652e676f6f67"
    "6c65617069732e636f6d2f70726f746f636f6c2e54726967676572536d617274436f6e7472616374"
    "12740a15413f17f1962b36e491b30a40b2405849e597ba5fb5121541a614f803b6fd780986a42c78"
    "ec9c7f77e6ded13c2244a9059cbb000000000000000000000041f0aa501fa48083e8497def7ea5f0"
    "55d02e30ed1f000000000000000000000000000000000000000000000000000000004a817c8070fa"
    "d9818bfd319001b891ff19"
)
ITS_ID = "645c735e5ee329d38b8a28df19ce5513f1e0fa808856207bf12cb3b9501361f7"
ITS_DATA = (
    "a9059cbb000000000000000000000041f0aa501fa48083e8497def7ea5f055d02e30ed1f"
    "000000000000000000000000000000000000000000000000000000004a817c80"
)
OWNER = write_address(bytes.fromhex("3f17f1962b36e491b30a40b2405849e597ba5fb5"))
USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
CALL = ContractCall(
    owner=OWNER,
    contract=USDT,
    data=bytes.fromhex(ITS_DATA),
    anchor=Anchor(0x3B5E60E, bytes(8) + bytes.fromhex("17a154e738ccf870") + bytes(16)),
    timestamp=1_717_204_708_602,
    expiration=1_717_208_235_000,
    fee_limit=54_511_800,
)


def test_a_transaction_of_the_main_network_is_written_byte_for_byte() -> None:
    assert CALL.raw().hex() == ON_CHAIN
    assert CALL.document()["txID"] == ITS_ID


def test_the_document_says_what_the_bytes_say() -> None:
    document = CALL.document()
    raw = fields_of(bytes.fromhex(document["raw_data_hex"]))
    told = document["raw_data"]
    assert (raw[1].hex(), raw[4].hex()) == (told["ref_block_bytes"], told["ref_block_hash"])
    assert (raw[8], raw[14], raw[18]) == (told["expiration"], told["timestamp"], told["fee_limit"])
    [contract] = told["contract"]
    parameter = fields_of(fields_of(raw[11])[2])
    value = fields_of(parameter[2])
    assert parameter[1].decode() == contract["parameter"]["type_url"]
    assert {"owner_address": value[1].hex(), "contract_address": value[2].hex(), "data": value[4].hex()} == contract[
        "parameter"
    ]["value"]


@given(st.integers(min_value=1, max_value=2**256 - 1))
def test_a_transfer_names_the_recipient_and_the_units(units: int) -> None:
    data = transfer_data(OWNER, units)
    assert data[:4].hex() == "a9059cbb"
    assert data[4:36].hex() == "00" * 12 + "3f17f1962b36e491b30a40b2405849e597ba5fb5"
    assert int.from_bytes(data[36:], "big") == units


@given(st.integers(min_value=1, max_value=2**63 - 1), st.binary(min_size=65, max_size=65))
def test_what_was_signed_stays_as_it_was(expiration: int, signature: bytes) -> None:
    raw = ContractCall(
        owner=OWNER, contract=USDT, data=b"\x00" * 200, anchor=Anchor(1, bytes(32)), timestamp=0, expiration=expiration
    ).raw()
    outer = fields_of(signed(raw, signature))
    assert (outer[1], outer[2]) == (raw, signature)
    assert fields_of(outer[1])[8] == expiration
    assert len(hashlib.sha256(raw).hexdigest()) == 64
