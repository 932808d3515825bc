// A TON chain in memory: the real TVM of @ton/sandbox, a masterchain that grows with the wall clock, and what an
// indexer remembers of it.

import sandbox from '@ton/sandbox';
import core from '@ton/core';
import {randomBytes} from 'node:crypto';
import {listedTransfer, rawAddress, recordTransaction, unlisted} from './records.mjs';

const {Blockchain} = sandbox;
const {Address, beginCell, Cell, contractAddress, loadMessage, SendMode, toNano} = core;

const BLOCK_SECONDS = 0.4;
const REMEMBERED_SNAPSHOTS = 512;
const OP_MINT = 21;
const OP_INTERNAL_TRANSFER = 0x178d4519;

export class Chain {
  static async create() {
    const vm = await Blockchain.create();
    return new Chain(vm);
  }

  constructor(vm) {
    this.vm = vm;
    this.shift = 0;
    this.genesisHash = randomBytes(32).toString('base64');
    // From each of these on, blocks follow one another in time; a jump begins another stretch.
    this.stretches = [{seqno: 1, time: this.now()}];
    this.transactions = [];
    this.transfers = [];
    this.jettonWallets = new Map();
    this.masters = new Set();
    this.snapshots = [];
    this.withheld = new Set();
    this.turn = Promise.resolve();
  }

  now() {
    return Date.now() / 1000 + this.shift;
  }

  // The newest masterchain block: computed, so that an idle chain costs nothing.
  head() {
    const {seqno, time} = this.stretches.at(-1);
    return seqno + Math.floor((this.now() - time) / BLOCK_SECONDS);
  }

  blockTime(seqno) {
    const at = this.stretches.findLastIndex(stretch => stretch.seqno <= seqno);
    const stretch = this.stretches[Math.max(at, 0)];
    const next = this.stretches[at + 1];
    const time = stretch.time + (seqno - stretch.seqno) * BLOCK_SECONDS;
    return Math.floor(next ? Math.min(time, next.time) : time);
  }

  // The newest block that is no younger than a time; 0 when there is none.
  blockBefore(time) {
    let [low, high] = [0, this.head()];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.blockTime(middle) <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  advance(blocks) {
    this.stretches.push({seqno: this.head() + blocks, time: this.now()});
    return this.head();
  }

  elapse(seconds) {
    this.shift += seconds;
  }

  // One thing at a time changes the chain: the sandbox does not take two messages at once.
  change(action) {
    const result = this.turn.then(action);
    this.turn = result.catch(() => {});
    return result;
  }

  // Runs what makes transactions, and remembers what the chain was before it.
  async execute(action) {
    const state = this.vm.snapshot();
    this.vm.now = Math.floor(this.now());
    const {transactions} = await action();
    // It keeps every one for a question that nobody asks here.
    this.vm.transactions.length = 0;
    const records = await this.record(transactions);
    this.snapshots.push({state, first: records[0]});
    this.snapshots.splice(0, this.snapshots.length - REMEMBERED_SNAPSHOTS);
    return records;
  }

  async sendBoc(boc) {
    const cell = Cell.fromBase64(boc);
    const hash = cell.hash().toString('base64');
    const [first] = await this.execute(() => this.vm.sendMessage(loadMessage(cell.beginParse())));
    // The same message can be written in several ways, and what was sent is known by its own hash.
    first.in_msg.hash = hash;
    return hash;
  }

  // What a message sets off is put into one new block, made at once.
  async record(transactions) {
    const seqno = this.withheld.has('blocks') ? null : this.advance(1);
    const records = [];
    for (const transaction of transactions) {
      const record = recordTransaction(transaction, {
        seqno,
        traceId: transactions[0].hash().toString('base64'),
        hidden: this.withheld.has('receipts'),
      });
      records.push(record);
      const wallet = await this.jettonWallet(transaction.inMessage?.info.dest);
      const listed = wallet && listedTransfer(transaction, record, wallet);
      if (listed) this.transfers.push(listed);
    }
    this.transactions.push(...records);
    return records;
  }

  withhold(what, on) {
    if (on) return void this.withheld.add(what);
    this.withheld.delete(what);
    if (what === 'receipts') for (const record of this.transactions) delete record[unlisted];
    const waiting = this.transactions.filter(record => record.mc_block_seqno === null);
    if (what === 'blocks' && waiting.length) {
      const seqno = this.advance(1);
      for (const record of waiting) record.mc_block_seqno = seqno;
    }
  }

  // No block after this one ever was: their transactions are gone, balances are what they were, other blocks follow.
  async rollBack(last) {
    const stays = record => record.mc_block_seqno !== null && record.mc_block_seqno <= last;
    const undone = this.snapshots.findIndex(({first}) => !stays(first));
    if (undone >= 0) {
      await this.vm.loadFrom(this.snapshots[undone].state);
      this.snapshots.splice(undone);
      this.transactions = this.transactions.filter(stays);
      const left = new Set(this.transactions.map(record => record.hash));
      this.transfers = this.transfers.filter(row => left.has(row.transaction_hash));
      this.jettonWallets.clear();
    }
    this.stretches = this.stretches.filter(({seqno}) => seqno < last);
    this.stretches.push({seqno: last, time: this.now()});
    return this.head();
  }

  // What `reset` goes back to.
  mark() {
    this.beginning = {state: this.vm.snapshot(), transactions: [...this.transactions], transfers: [...this.transfers]};
  }

  // Undoes everything since `mark` but for the number of blocks, which goes on from where it is.
  async reset() {
    const head = this.head();
    const {state, transactions, transfers} = this.beginning;
    await this.vm.loadFrom(state);
    this.transactions = [...transactions];
    this.transfers = [...transfers];
    this.snapshots = [];
    this.jettonWallets.clear();
    this.withheld.clear();
    this.shift = 0;
    this.stretches = [{seqno: head, time: this.now()}];
  }

  async jettonWallet(address) {
    if (!Address.isAddress(address)) return null;
    const raw = rawAddress(address);
    if (!this.jettonWallets.has(raw)) {
      const wallet = await this.readJettonWallet(address);
      // One that is not there yet may come.
      if (!wallet) return null;
      this.jettonWallets.set(raw, wallet);
    }
    return this.jettonWallets.get(raw);
  }

  async readJettonWallet(address) {
    try {
      const {stackReader: stack} = await this.vm.runGetMethod(address, 'get_wallet_data', []);
      const [balance, owner, master] = [stack.readBigNumber(), stack.readAddress(), stack.readAddress()];
      // As indexers do: a contract may claim any master.
      const own = await this.walletAddress(master, owner);
      return own.equals(address) ? {balance, owner: rawAddress(owner), master: rawAddress(master)} : null;
    } catch {
      return null;
    }
  }

  async walletAddress(master, owner) {
    const argument = {type: 'slice', cell: beginCell().storeAddress(owner).endCell()};
    return (await this.vm.runGetMethod(master, 'get_wallet_address', [argument])).stackReader.readAddress();
  }

  async jettonWalletOf(owner, master) {
    return rawAddress(await this.walletAddress(Address.parse(master), Address.parse(owner)));
  }

  // The transactions by which jetton wallets took what a message sent them.
  receipts(messageHash) {
    const first = this.transactions.find(record => record.in_msg?.hash === messageHash);
    const isReceipt = record =>
      record.trace_id === first?.trace_id && record.in_msg?.opcode === `0x${OP_INTERNAL_TRANSFER.toString(16)}`;
    return this.transactions.filter(record => isReceipt(record) && !record.description.aborted).map(record => record.hash);
  }

  // The named treasury pays for everything that is not under test; its address follows from its name.
  async treasury(name) {
    return this.vm.treasury(name, {balance: toNano(1e6)});
  }

  async treasurySend(name, {to, value, body, init, bounce = true}) {
    const treasury = await this.treasury(name);
    const sendMode = SendMode.PAY_GAS_SEPARATELY;
    await this.execute(() => treasury.send({to, value, body, init, bounce, sendMode}));
  }

  async deployJetton({minter, wallet, content, admin}) {
    const {address} = await this.treasury(admin);
    const offchain = beginCell().storeUint(1, 8).storeStringTail(content).endCell();
    const data = beginCell().storeCoins(0).storeAddress(address).storeRef(offchain);
    const init = {code: codeCell(minter), data: data.storeRef(codeCell(wallet)).endCell()};
    const master = contractAddress(0, init);
    const raw = rawAddress(master);
    if (!this.masters.has(raw)) await this.treasurySend(admin, {to: master, value: toNano('0.1'), init});
    this.masters.add(raw);
    return raw;
  }

  async mint({master, to, units, admin}) {
    const transfer = beginCell().storeUint(OP_INTERNAL_TRANSFER, 32).storeUint(0, 64).storeCoins(BigInt(units));
    const inner = transfer.storeAddress(null).storeAddress(null).storeCoins(0).storeBit(0).endCell();
    const mint = beginCell().storeUint(OP_MINT, 32).storeUint(0, 64).storeAddress(Address.parse(to));
    const body = mint.storeCoins(toNano('0.05')).storeRef(inner).endCell();
    await this.treasurySend(admin, {to: Address.parse(master), value: toNano('0.2'), body});
  }

  async fund({to, nanotons, admin}) {
    await this.treasurySend(admin, {to: Address.parse(to), value: BigInt(nanotons), bounce: false});
  }
}

function codeCell(hex) {
  return Cell.fromBoc(Buffer.from(hex, 'hex'))[0];
}
