// toncenter's HTTP interface, version 3, as far as readers of payments use it. Filters, orders, limits and errors are those of
// ton-indexer's ton-index-go.

import core from '@ton/core';
import {base64, rawAddress, unlisted} from './records.mjs';

const {Address, Cell, TupleBuilder} = core;

const DEFAULT_LIMIT = 100;
const MOST_ROWS = 1000;
const MOST_ADDRESSES = 1000;

export class ApiError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export class Query {
  constructor(parameters) {
    this.parameters = parameters;
  }

  text(name) {
    return this.parameters.get(name);
  }

  number(name) {
    const text = this.text(name);
    if (text === null || text === '') return null;
    if (!/^[0-9]+$/.test(text)) throw new ApiError(422, `failed to decode: schema: error converting value for "${name}"`);
    return BigInt(text);
  }

  addresses(name) {
    const all = this.parameters.getAll(name).flatMap(text => text.split(','));
    if (all.length > MOST_ADDRESSES) throw new ApiError(422, `${name} is too long`);
    return all.map(parseAddress);
  }

  // Rows whose field is one of the addresses; every row where none is named.
  named(rows, name, field) {
    const wanted = new Set(this.addresses(name));
    return wanted.size ? rows.filter(row => wanted.has(row[field])) : rows;
  }

  // Rows between times and logical times, in the indexer's order, cut to a page.
  page(rows, {time, lt}) {
    const between = (row, field, from, to) =>
      (from === null || BigInt(row[field]) >= from) && (to === null || BigInt(row[field]) <= to);
    const [since, until] = [this.number('start_utime'), this.number('end_utime')];
    const [low, high] = [this.number('start_lt'), this.number('end_lt')];
    const found = rows.filter(row => between(row, time, since, until) && between(row, lt, low, high));
    const byTime = since !== null || until !== null;
    const sign = this.order() === 'asc' ? 1 : -1;
    const compare = (a, b) => (byTime && a[time] - b[time]) || Number(BigInt(a[lt]) - BigInt(b[lt]));
    return this.cut(found.sort((a, b) => sign * compare(a, b)));
  }

  order() {
    const order = this.text('sort') ?? 'desc';
    if (order !== 'asc' && order !== 'desc') throw new ApiError(422, `wrong value for sort parameter: ${order}`);
    return order;
  }

  cut(rows) {
    const limit = Number(this.number('limit') ?? DEFAULT_LIMIT);
    if (limit > MOST_ROWS) throw new ApiError(422, `limit is not allowed: ${limit} > ${MOST_ROWS}`);
    const offset = Number(this.number('offset') ?? 0);
    return rows.slice(offset, offset + Math.max(limit, 1));
  }
}

function parseAddress(text) {
  try {
    return rawAddress(Address.parse(text));
  } catch {
    throw new ApiError(422, `invalid account address: ${text}`);
  }
}

function hashOf(text) {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return base64(Buffer.from(text, 'hex'));
  return base64(Buffer.from(text, 'base64url'));
}

export function blockRecord(chain, seqno) {
  const first = seqno === 1;
  return {
    workchain: -1,
    shard: '8000000000000000',
    seqno,
    root_hash: first ? chain.genesisHash : base64(Buffer.alloc(32, seqno % 251)),
    file_hash: base64(Buffer.alloc(32, 1)),
    // Neither the main nor the test network's.
    global_id: -217,
    version: 0,
    after_merge: false,
    before_split: false,
    after_split: false,
    want_merge: !first,
    want_split: false,
    key_block: false,
    vert_seqno_incr: false,
    flags: first ? 0 : 1,
    gen_utime: String(chain.blockTime(seqno)),
    start_lt: String(seqno * 1_000_000),
    end_lt: String(seqno * 1_000_000 + 4),
    validator_list_hash_short: -2119799769,
    gen_catchain_seqno: first ? 0 : 727374,
    min_ref_mc_seqno: Math.max(seqno - 3, 1),
    prev_key_block_seqno: 0,
    vert_seqno: first ? 0 : 1,
    master_ref_seqno: 0,
    rand_seed: base64(Buffer.alloc(32, 2)),
    created_by: base64(Buffer.alloc(32, 3)),
    tx_count: 3,
    masterchain_block_ref: {workchain: -1, shard: '8000000000000000', seqno},
    prev_blocks: [{workchain: -1, shard: '8000000000000000', seqno: seqno - 1}],
  };
}

function blocks(chain, query) {
  const workchain = query.text('workchain');
  if (workchain !== null && workchain !== '-1') return {blocks: []};
  const from = Number(query.number('start_utime') ?? 0);
  const to = Number(query.number('end_utime') ?? Number.MAX_SAFE_INTEGER);
  const wanted = query.number('seqno');
  const seqnos = [];
  for (let seqno = chain.blockBefore(to); seqno >= 1 && seqnos.length < MOST_ROWS; seqno--) {
    if (chain.blockTime(seqno) < from) break;
    if (wanted === null || wanted === BigInt(seqno)) seqnos.push(seqno);
  }
  if (query.order() === 'asc') seqnos.reverse();
  return {blocks: query.cut(seqnos).map(seqno => blockRecord(chain, seqno))};
}

function transfers(chain, query) {
  const direction = query.text('direction');
  const owners = new Set(query.addresses('owner_address'));
  const isOwned = row => (direction !== 'out' && owners.has(row.destination)) || (direction !== 'in' && owners.has(row.source));
  let rows = chain.transfers.filter(row => !owners.size || isOwned(row));
  rows = query.named(query.named(rows, 'jetton_wallet', 'source_wallet'), 'jetton_master', 'jetton_master');
  const page = query.page(rows, {time: 'transaction_now', lt: 'transaction_lt'});
  return {jetton_transfers: page, address_book: {}, metadata: {}};
}

function transactions(chain, query) {
  let rows = query.named(chain.transactions, 'account', 'account').filter(record => !record[unlisted]);
  const [hash, seqno] = [query.text('hash'), query.number('mc_seqno')];
  if (hash) rows = rows.filter(record => record.hash === hashOf(hash));
  if (seqno !== null) rows = rows.filter(record => record.mc_block_seqno === Number(seqno));
  return {transactions: query.page(rows, {time: 'now', lt: 'lt'}), address_book: {}};
}

function transactionsByMessage(chain, query) {
  const wanted = hashOf(query.text('msg_hash') ?? '');
  const carries = record => [record.in_msg, ...record.out_msgs].some(message => message?.hash === wanted);
  return {transactions: query.cut(chain.transactions.filter(carries)), address_book: {}};
}

// All that followed from one message. As the indexer has it, what is in no masterchain block yet makes it pending.
function traces(chain, query) {
  const told = chain.transactions.filter(record => !record[unlisted]);
  const all = name => query.parameters.getAll(name).flatMap(text => text.split(',')).map(hashOf);
  const [traceIds, txHashes, msgHashes] = ['trace_id', 'tx_hash', 'msg_hash'].map(all);
  const isNamed = record =>
    (!traceIds.length || traceIds.includes(record.trace_id)) &&
    (!txHashes.length || txHashes.includes(record.hash)) &&
    (!msgHashes.length || [record.in_msg, ...record.out_msgs].some(message => isHashOf(message, msgHashes)));
  const ids = [...new Set(told.filter(isNamed).map(record => record.trace_id))];
  const found = ids.map(id => traceRecord(id, told.filter(record => record.trace_id === id)));
  return {traces: query.page(found, {time: 'end_utime', lt: 'end_lt'}), address_book: {}, metadata: {}};
}

function isHashOf(message, hashes) {
  return [message?.hash, message?.hash_norm].some(hash => hashes.includes(hash));
}

function traceRecord(id, records) {
  const [first, last] = [records[0], records.at(-1)];
  const isPending = records.some(record => record.mc_block_seqno === null);
  return {
    trace_id: id,
    external_hash: first.in_msg?.hash_norm ?? null,
    mc_seqno_start: String(first.mc_block_seqno ?? 0),
    mc_seqno_end: String(last.mc_block_seqno ?? 0),
    start_lt: first.lt,
    start_utime: first.now,
    end_lt: last.lt,
    end_utime: last.now,
    trace_info: {
      trace_state: isPending ? 'pending' : 'complete',
      messages: records.length,
      transactions: records.length,
      pending_messages: 0,
      classification_state: 'unclassified',
    },
    // Of traces that are too large to be told, which none is here.
    is_incomplete: false,
    transactions_order: records.map(record => record.hash),
    transactions: Object.fromEntries(records.map(record => [record.hash, record])),
  };
}

async function jettonWallets(chain, query) {
  let found = query.addresses('address');
  const [owners, masters] = [query.addresses('owner_address'), query.addresses('jetton_address')];
  for (const owner of owners) {
    for (const master of masters.length ? masters : chain.masters) {
      if (!chain.masters.has(master)) continue;
      found.push(rawAddress(await chain.walletAddress(Address.parse(master), Address.parse(owner))));
    }
  }
  const rows = [];
  for (const address of found) {
    const wallet = await chain.readJettonWallet(Address.parse(address));
    if (wallet) rows.push(walletRecord(chain, address, wallet));
  }
  return {jetton_wallets: query.cut(rows), address_book: {}, metadata: {}};
}

function walletRecord(chain, address, {balance, owner, master}) {
  const last = chain.transactions.findLast(record => record.account === address);
  return {
    address,
    balance: String(balance),
    owner,
    jetton: master,
    last_transaction_lt: last?.lt ?? '0',
    code_hash: null,
    data_hash: null,
  };
}

async function walletInformation(chain, query) {
  const [address] = query.addresses('address');
  const contract = await chain.vm.getContract(Address.parse(address));
  let seqno = 0;
  try {
    seqno = (await chain.vm.runGetMethod(contract.address, 'seqno', [])).stackReader.readNumber();
  } catch {
    // Nothing is deployed there yet.
  }
  return {balance: String(contract.balance), seqno, status: contract.accountState?.type ?? 'uninit'};
}

// The indexer lists no account that was never used.
async function accountStates(chain, query) {
  const accounts = [];
  for (const address of query.addresses('address')) {
    const {accountState: state, balance} = await chain.vm.getContract(Address.parse(address));
    if (!state && !balance) continue;
    const code = state?.type === 'active' ? state.state.code : null;
    accounts.push({
      address: address.toUpperCase(),
      balance: String(balance),
      status: state?.type ?? 'uninit',
      code_hash: code ? base64(code.hash()) : null,
    });
  }
  return {accounts, address_book: {}, metadata: {}};
}

async function runGetMethod(chain, {address, method, stack}) {
  const arguments_ = new TupleBuilder();
  for (const {type, value} of stack ?? []) {
    if (type === 'num') arguments_.writeNumber(BigInt(value));
    else if (type === 'slice') arguments_.writeSlice(Cell.fromBase64(value).beginParse());
    else arguments_.writeCell(Cell.fromBase64(value));
  }
  let run;
  try {
    run = await chain.vm.runGetMethod(Address.parse(address), method, arguments_.build());
  } catch (error) {
    if (error.exitCode === undefined) throw error;
    return {gas_used: Number(error.gasUsed), exit_code: error.exitCode, stack: []};
  }
  const shown = run.stack.map(item =>
    item.type === 'int' ? {type: 'num', value: `0x${item.value.toString(16)}`} : {type: item.type, value: base64(item.cell.toBoc())});
  return {gas_used: Number(run.gasUsed), exit_code: run.exitCode, stack: shown};
}

async function message(chain, {boc}) {
  if (!boc) throw new ApiError(401, 'boc is required');
  const hash = await chain.sendBoc(boc);
  return {message_hash: hash, message_hash_norm: hash};
}

export const GET = {
  '/masterchainInfo': chain => ({last: blockRecord(chain, chain.head()), first: blockRecord(chain, 1)}),
  '/accountStates': accountStates,
  '/blocks': blocks,
  '/jetton/transfers': transfers,
  '/jetton/wallets': jettonWallets,
  '/traces': traces,
  '/transactions': transactions,
  '/transactionsByMessage': transactionsByMessage,
  '/walletInformation': walletInformation,
};

export const POST = {'/message': message, '/runGetMethod': runGetMethod};
