// What the chain did, in the words of toncenter's version 3: raw addresses in upper case, hashes in base64, long numbers as
// text.

import core from '@ton/core';

const {beginCell, Cell, storeMessage} = core;

const OP_TRANSFER = 0x0f8a7ea5;
const NO_HASH = 'A'.repeat(43) + '=';

// Marks a transaction that is made but not told of: the indexer is behind.
export const unlisted = Symbol('unlisted');

export function rawAddress(address) {
  return address ? address.toRawString().toUpperCase() : null;
}

export function base64(bytes) {
  return Buffer.from(bytes).toString('base64');
}

export function recordTransaction(transaction, {seqno, traceId, hidden}) {
  const record = {
    account: `0:${transaction.address.toString(16).padStart(64, '0').toUpperCase()}`,
    hash: base64(transaction.hash()),
    lt: String(transaction.lt),
    now: transaction.now,
    mc_block_seqno: seqno,
    trace_id: traceId,
    prev_trans_hash: previousHash(transaction),
    prev_trans_lt: String(transaction.prevTransactionLt),
    orig_status: statusName(transaction.oldStatus),
    end_status: statusName(transaction.endStatus),
    total_fees: String(transaction.totalFees.coins),
    total_fees_extra_currencies: {},
    description: describe(transaction.description),
    block_ref: {workchain: 0, shard: '8000000000000000', seqno: seqno ?? 0},
    in_msg: recordMessage(transaction.inMessage),
    out_msgs: [...transaction.outMessages.values()].map(recordMessage),
    account_state_before: null,
    account_state_after: null,
    emulated: false,
  };
  if (hidden) record[unlisted] = true;
  return record;
}

function previousHash(transaction) {
  const hash = transaction.prevTransactionHash;
  return hash ? base64(Buffer.from(hash.toString(16).padStart(64, '0'), 'hex')) : NO_HASH;
}

function statusName(status) {
  return {'non-existing': 'nonexist', uninitialized: 'uninit'}[status] ?? status;
}

function describe(description) {
  const {type, aborted, destroyed, computePhase, actionPhase, bouncePhase} = description;
  return {
    type: type === 'generic' ? 'ord' : type,
    aborted: Boolean(aborted),
    destroyed: Boolean(destroyed),
    credit_first: Boolean(description.creditFirst),
    compute_ph: computePhase && describeCompute(computePhase),
    action: actionPhase && {success: actionPhase.success, result_code: actionPhase.resultCode},
    bounce: bouncePhase && {type: bouncePhase.type},
  };
}

function describeCompute(phase) {
  if (phase.type === 'skipped') return {skipped: true, reason: phase.reason.replace('-', '_')};
  return {skipped: false, success: phase.success, exit_code: phase.exitCode, gas_used: String(phase.gasUsed)};
}

export function recordMessage(message) {
  if (!message) return null;
  const {info, body} = message;
  // Wallets show an external message's hash without what may be written in several ways (TEP-467).
  const normal = info.type === 'external-in' ? {hash_norm: base64(normalHash(info.dest, body))} : {};
  return {
    ...normal,
    hash: base64(beginCell().store(storeMessage(message)).endCell().hash()),
    source: info.type === 'external-in' ? null : rawAddress(info.src),
    destination: info.type === 'external-out' ? null : rawAddress(info.dest),
    value: info.value ? String(info.value.coins) : null,
    value_extra_currencies: info.value ? {} : null,
    fwd_fee: info.forwardFee === undefined ? null : String(info.forwardFee),
    created_lt: info.createdLt === undefined ? null : String(info.createdLt),
    created_at: info.createdAt === undefined ? null : String(info.createdAt),
    opcode: opcode(body),
    bounce: info.bounce ?? null,
    bounced: info.bounced ?? null,
    message_content: {hash: base64(body.hash()), body: base64(body.toBoc()), decoded: null},
    init_state: null,
  };
}

function normalHash(dest, body) {
  const message = beginCell().storeUint(0b10, 2).storeUint(0, 2).storeAddress(dest).storeCoins(0);
  return message.storeBit(0).storeBit(1).storeRef(body).endCell().hash();
}

function opcode(body) {
  const slice = body.beginParse();
  if (body.isExotic || slice.remainingBits < 32) return null;
  return `0x${slice.loadUint(32).toString(16).padStart(8, '0')}`;
}

// An indexer's transfer is the transaction of the SENDER's jetton wallet; it says nothing of how it ended elsewhere. One that
// failed there is not listed.
export function listedTransfer(transaction, record, wallet) {
  if (record.in_msg?.opcode !== `0x0${OP_TRANSFER.toString(16)}` || record.description.aborted) return null;
  const slice = transaction.inMessage.body.beginParse().skip(32);
  const [query, amount] = [slice.loadUintBig(64), slice.loadCoins()];
  const [destination, response] = [slice.loadAddress(), slice.loadMaybeAddress()];
  const [custom, forwarded] = [slice.loadMaybeRef(), slice.loadCoins()];
  const payload = slice.loadBit() ? slice.loadRef() : slice.asCell();
  return {
    query_id: String(query),
    source: wallet.owner,
    destination: rawAddress(destination),
    amount: String(amount),
    source_wallet: record.account,
    jetton_master: wallet.master,
    transaction_hash: record.hash,
    transaction_lt: record.lt,
    transaction_now: record.now,
    transaction_aborted: false,
    response_destination: rawAddress(response),
    custom_payload: custom && base64(custom.toBoc()),
    decoded_custom_payload: null,
    forward_ton_amount: String(forwarded),
    forward_payload: payload.equals(Cell.EMPTY) ? null : base64(payload.toBoc()),
    decoded_forward_payload: null,
    trace_id: record.trace_id,
  };
}
