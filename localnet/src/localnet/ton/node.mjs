// A local TON node: `node node.mjs PORT` answers toncenter's version 3 below /api/v3, and below /control what a test does to
// the chain. Port 0 lets the system choose one.

import http from 'node:http';
import {ApiError, GET, POST, Query} from './api.mjs';
import {Chain} from './chain.mjs';

const API = '/api/v3';
const MOST_BYTES = 1 << 20;
const RATE_LIMITED = {ok: false, result: 'Ratelimit exceed', code: 429};

const chain = await Chain.create();
const refusals = {left: 0};

const CONTROL = {
  '/control/jetton': async document => ({master: await chain.deployJetton(document)}),
  '/control/mint': document => chain.mint(document),
  '/control/fund': document => chain.fund(document),
  '/control/advance': ({blocks}) => ({seqno: chain.advance(blocks)}),
  '/control/roll_back': async ({to}) => ({seqno: await chain.rollBack(to)}),
  '/control/elapse': ({seconds}) => chain.elapse(seconds),
  '/control/withhold': ({what, on}) => chain.withhold(what, on),
  '/control/mark': () => chain.mark(),
  '/control/reset': async () => {
    refusals.left = 0;
    await chain.reset();
  },
  '/control/receipts': ({message}) => ({hashes: chain.receipts(message)}),
  '/control/jetton_wallet': async ({owner, master}) => ({address: await chain.jettonWalletOf(owner, master)}),
  '/control/limit_rate': ({requests}) => void (refusals.left = requests),
};

async function body(request) {
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > MOST_BYTES) throw new ApiError(413, 'request entity too large');
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces).toString();
  try {
    return JSON.parse(text || '{}');
  } catch {
    throw new ApiError(422, 'the body is not JSON');
  }
}

async function answer(request) {
  const url = new URL(request.url, 'http://127.0.0.1');
  const {pathname: path} = url;
  if (request.method === 'POST' && Object.hasOwn(CONTROL, path)) {
    const document = await body(request);
    return (await chain.change(() => CONTROL[path](document))) ?? {};
  }
  if (refusals.left > 0) {
    refusals.left -= 1;
    return null;
  }
  const route = path.startsWith(API) ? path.slice(API.length) : '';
  if (request.method === 'GET' && Object.hasOwn(GET, route)) return read(route, url.searchParams);
  if (request.method === 'POST' && Object.hasOwn(POST, route)) {
    const document = await body(request);
    return chain.change(() => POST[route](chain, document));
  }
  throw new ApiError(404, `Cannot ${request.method} ${path}`);
}

// Answers follow the changes asked for before them.
async function read(route, parameters) {
  await chain.turn;
  return GET[route](chain, new Query(parameters));
}

function send(response, status, document) {
  const text = JSON.stringify(document);
  response.writeHead(status, {'content-type': 'application/json', 'content-length': Buffer.byteLength(text)});
  response.end(text);
}

const server = http.createServer(async (request, response) => {
  try {
    const document = await answer(request);
    if (document === null) send(response, 429, RATE_LIMITED);
    else send(response, 200, document);
  } catch (error) {
    const code = error instanceof ApiError ? error.code : 500;
    send(response, code, {error: String(error?.message ?? error), code});
  }
});

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.stdout.write(`Listening on 127.0.0.1:${server.address().port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
