/**
 * Defines the fuzz targets for decoders of data from unknown peers, in both generations: handshake queries, frames,
 * node infos, requests, messages and answers.
 */

import { connect } from 'node:net';
import { FrameFilter } from '../../src/p2p/frame-filter.ts';
import type { WireDialect } from '../../src/p2p/dialect.ts';
import { gen2Dialect } from '../../src/p2p/dialect-gen2.ts';
import { gen3Dialect } from '../../src/p2p/dialect-gen3.ts';
import { isRecord, own } from '../../src/p2p/frame-validation.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { PeerBook } from '../../src/engine/peers/book.ts';
import type { NodeInfo, PeerRequest } from '../../src/ports/transport.ts';
import { memberSignatureFromJson } from '../../src/engine/pool/member-signatures.ts';
import { TransactionRejected } from '../../src/protocol/verdict.ts';
import { clock, random, startNode } from '../p2p/support.ts';
import type { Target } from './fuzzer.ts';

const NETHASH = 'ed14889723f24ecc54871d058d98ce91ff2f973192075c0155ba2b7b70ad2511';
const NETWORK_ID = '9ee11e9df416b18bf69dbd1a920442e08c6ca319e69926bc843a561782ca17ee';
const NONCE = 'sYHEDBKcScaAAAYg';
const ID = '6524861224470851795';
const SIGNATURE = {
  transactionId: ID,
  publicKey: 'c094ebee7ec0c50ebee32918655e089f6e1a604b83bcaa760293c61e0f18ab6f',
  signature: 'ab'.repeat(64),
};
const INFO: NodeInfo = {
  os: 'linux4.15.0',
  version: '3.0.2',
  wsPort: 5301,
  httpPort: 4000,
  protocolVersion: '2.0',
  nonce: 'b8641169cd712d51',
  height: 1234,
  blockVersion: 2,
  maxHeightPrevoted: 1200,
  lastBlockId: ID,
  advertiseAddress: true,
};
const BLOCK = { version: 2, id: ID, height: 1235, timestamp: 100, generatorPublicKey: SIGNATURE.publicKey };
const ROW = {
  b_id: '1',
  b_version: 1,
  b_timestamp: 1,
  b_height: 2,
  b_previousBlock: '9',
  b_totalAmount: '1',
  t_id: null,
};

interface FuzzedDialect {
  readonly name: string;
  readonly dialect: WireDialect;
  readonly events: readonly (readonly [event: string, data: unknown])[];
  readonly calls: readonly (readonly [procedure: string, data?: unknown])[];
  readonly answers: readonly unknown[];
  readonly requests: readonly PeerRequest[];
  readonly words: readonly string[];
}

const REQUESTS: readonly PeerRequest[] = [
  { kind: 'peers' },
  { kind: 'blocksAfter', blockId: ID },
  { kind: 'highestCommonBlock', blockIds: ['1', '2', ID] },
  { kind: 'transactions' },
  { kind: 'signatures' },
];
const SHARED_ANSWERS = [
  { data: { transactions: [{ id: ID }] } },
  { data: { signatures: [{ transaction: ID, signatures: [SIGNATURE.signature] }] } },
  { data: { id: ID, height: 2 } },
];

const GEN2_INFO = { ...INFO, version: '2.3.8', protocolVersion: '1.1', broadhash: NETHASH };
const gen2 = gen2Dialect({ nethash: NETHASH, protocolVersion: '1.1', nonce: NONCE });
const gen3 = gen3Dialect({ networkIdentifier: NETWORK_ID, protocolVersion: '2.0' });

const DIALECTS: readonly FuzzedDialect[] = [
  {
    name: 'gen2',
    dialect: gen2,
    events: [
      ['postBlock', { block: BLOCK, nonce: NONCE }],
      ['postTransactions', { transactions: [{ id: ID, type: 0 }], nonce: NONCE }],
      ['postSignatures', { signatures: [SIGNATURE], nonce: NONCE }],
      ['remote-message', { event: 'postBlock', data: { block: BLOCK } }],
    ],
    calls: [
      ['updateMyself', gen2.packInfo(GEN2_INFO)],
      ['status'],
      ['list'],
      ['blocks', { lastBlockId: ID }],
      ['blocksCommon', { ids: `${ID},1,2` }],
      ['getTransactions'],
      ['getSignatures'],
    ],
    answers: [
      { data: gen2.packInfo(GEN2_INFO) },
      { data: { success: true, peers: [{ ip: '1.2.3.4', wsPort: 5000, version: '2.3.8' }] } },
      {
        data: { success: true, blocks: [ROW, { ...ROW, t_id: ID, t_type: 3, t_signatures: 'a,b', v_votes: '+a,-b' }] },
      },
      { data: { success: true, common: { id: ID, height: 3 } } },
      ...SHARED_ANSWERS,
    ],
    requests: REQUESTS,
    words: ['postBlock', 'updateMyself', 'blocksCommon', 'lastBlockId', 'ids', 'nonce', 'relays', 'nethash', 'common'],
  },
  {
    name: 'gen3',
    dialect: gen3,
    events: [
      ['remote-message', { event: 'postBlock', data: { block: BLOCK } }],
      ['remote-message', { event: 'postTransactionsAnnouncement', data: { transactionIds: [ID, '1'] } }],
      ['remote-message', { event: 'postSignatures', data: { signatures: [SIGNATURE] } }],
      ['remote-message', { event: 'postNodeInfo', data: gen3.packInfo(INFO) }],
    ],
    calls: [
      ['getNodeInfo'],
      ['getPeers'],
      ['getLastBlock'],
      ['getBlocksFromId', { blockId: ID }],
      ['getHighestCommonBlock', { ids: ['1', ID] }],
      ['getTransactions', { transactionIds: [ID] }],
      ['getSignatures'],
    ],
    answers: [
      { data: gen3.packInfo(INFO), peerId: '1.2.3.4:5000' },
      { data: { success: true, peers: [{ ipAddress: '1.2.3.4', wsPort: 5000, height: 3 }] } },
      { data: [BLOCK, BLOCK] },
      { data: BLOCK },
      ...SHARED_ANSWERS,
    ],
    requests: [...REQUESTS, { kind: 'tip' }, { kind: 'transactions', ids: [ID] }],
    words: ['remote-message', 'postNodeInfo', 'getBlocksFromId', 'blockId', 'transactionIds', 'networkId', 'peers'],
  },
];

const FRAME_WORDS = [
  'event',
  'data',
  'cid',
  'rid',
  'error',
  '#handshake',
  '#disconnect',
  '#1',
  '#2',
  '#publish',
  'ping',
];

export function wireTargets(): readonly Target[] {
  return [...DIALECTS.flatMap((each) => [frames(each), queries(each), answers(each)]), bookTarget(), signatures()];
}

/**
 * Target for raw frames. Each frame goes to the frame filter. If the filter admits the frame, it then goes to the
 * reader of requests and messages.
 */
function frames({ name, dialect, events, calls, words }: FuzzedDialect): Target {
  const seeds = [
    { event: '#handshake', data: { authToken: null }, cid: 1 },
    { event: '#disconnect', data: { code: 4403, data: 'Peer is not allowed to connect' } },
    { rid: 1, data: { id: 'x', pingTimeout: 20_000, isAuthenticated: false } },
    { rid: 2, error: { message: 'Invalid request', name: 'Error' } },
    ...events.map(([event, data]) => ({ event, data })),
    ...calls.map(([procedure, data]) => ({ event: 'rpc-request', data: { procedure, data }, cid: 2 })),
  ];
  const nothing = { overused: () => undefined, flooded: () => undefined, overflowed: () => undefined };
  return {
    name: `frames-${name}`,
    seeds: [...seeds.map(bytesOf), bytesOf(seeds.slice(0, 3)), Buffer.from('#1'), Buffer.from('#2')],
    words: [...FRAME_WORDS, ...words],
    isDeclared: () => false,
    run(input) {
      const outcomes: string[] = [];
      for (const role of ['acceptor', 'dialer'] as const) {
        const filter = new FrameFilter(role, dialect, clock, nothing);
        const admitted = filter.admit(input.toString('utf8'));
        for (const frame of Array.isArray(admitted) ? (admitted as unknown[]) : [admitted]) {
          outcomes.push(isRecord(frame) ? outcomeOf(frame, dialect) : String(frame));
        }
      }
      return [...new Set(outcomes)].slice(0, 4).join(' ');
    },
  };
}

/** Reads a frame as the node does, and describes the outcome. */
function outcomeOf(frame: Readonly<Record<string, unknown>>, dialect: WireDialect): string {
  const { event, data } = frame;
  if (typeof event !== 'string') return frame['error'] === undefined ? 'answer' : 'failure';
  if (event !== 'rpc-request') {
    const read = dialect.readEvent(event, data);
    return read.kind === 'push' ? `push ${dialect.readInfo(read.value, ADDRESS).kind}` : `event ${read.kind}`;
  }
  const call = dialect.readCall(data);
  if (call.kind === 'refused') {
    dialect.packFailure(undefined, call.error, 'inbound');
    return `refused ${call.name}`;
  }
  for (const direction of ['inbound', 'outbound'] as const) {
    dialect.packFailure(call, { message: 'no', code: 'BLOCK_UNKNOWN' }, direction);
  }
  return call.kind === 'push' ? `push ${dialect.readInfo(call.value, ADDRESS).kind}` : `call ${call.name}`;
}

const ADDRESS = { ip: '1.2.3.4', wsPort: 5000 };

function queries({ name, dialect }: FuzzedDialect): Target {
  const query = (info: NodeInfo) => Buffer.from(new URLSearchParams(dialect.query(info)).toString());
  return {
    name: `queries-${name}`,
    seeds: [query(name === 'gen2' ? GEN2_INFO : INFO), Buffer.from('wsPort=5000&version=1.0.0&options=%7B%7D')],
    words: ['&options=', 'wsPort=', 'nonce=', '%7B%7D', 'advertiseAddress=', 'protocolVersion=1.1', '%22', '&version='],
    isDeclared: () => false,
    run(input) {
      const verdict = dialect.readQuery(new URLSearchParams(input.toString('utf8')), '1.2.3.4', NONCE);
      return verdict.accepted ? `accepted ${Object.keys(verdict.info).length}` : `refused ${verdict.close.reason}`;
    },
  };
}

/** Returns a target that decodes each input as a peer's answer to the requests of this node. */
function answers({ name, dialect, answers: seeds, requests, words }: FuzzedDialect): Target {
  return {
    name: `answers-${name}`,
    seeds: seeds.map(bytesOf),
    words: [
      ...words,
      'success',
      'message',
      'blocks',
      'peers',
      'ip',
      'wsPort',
      'transactions',
      't_signatures',
      'v_votes',
    ],
    isDeclared: (error) =>
      error instanceof ProtocolError && ['REQUEST_UNSUPPORTED', 'CALL_FAILED'].includes(error.code),
    run(input) {
      const frame = new FrameFilter('dialer', dialect, clock, {
        overused: () => undefined,
        flooded: () => undefined,
        overflowed: () => undefined,
      });
      const admitted = frame.admit(`{"rid":2,"data":${input.toString('utf8')}}`);
      const answer = isRecord(admitted) ? own(admitted, 'data') : undefined;
      const verdicts = requests.map((request) => {
        const conversation = dialect.ask(request);
        let step = conversation.next();
        for (let calls = 0; step.done !== true; calls += 1) {
          if (calls > 20) throw new Error('a request without end');
          step = conversation.next(answer);
        }
        return step.value.kind.slice(0, 3);
      });
      return `${verdicts.join(' ')} ${dialect.readInfo(dialect.openInfoAnswer(answer), ADDRESS).kind}`;
    },
  };
}

/** Target for the saved peer book of an earlier run, which the node reads at its start. */
function bookTarget(): Target {
  const options = { random, nowMs: () => 1_000_000, isPinned: () => false };
  const book = new PeerBook(options);
  for (let octet = 1; octet < 5; octet += 1) book.add({ ip: `8.8.8.${octet}`, wsPort: 5000, height: 7 }, '9.9.9.9');
  book.promote({ ip: '7.7.7.7', wsPort: 5000 });
  book.ban('6.6.6.6', 2_000_000, 'test');
  return {
    name: 'peer-book',
    seeds: [Buffer.from(book.toNote())],
    words: ['secret', 'peers', 'bans', 'untilMs', 'bucket', 'tried', 'new', 'info', 'addedMs'],
    isDeclared: () => false,
    run(input) {
      const loaded = new PeerBook(options);
      const outcome = loaded.load(input);
      // Whatever the input was, the node must be able to save the resulting book and to load it again.
      if (!new PeerBook(options).load(loaded.toNote())) throw new Error('the book cannot read its own note');
      return `${outcome} ${loaded.peers('new').length} ${loaded.peers('tried').length} ${loaded.bans().length}`;
    },
  };
}

function signatures(): Target {
  return {
    name: 'member-signatures',
    seeds: [bytesOf(SIGNATURE)],
    words: ['transactionId', 'publicKey', 'signature'],
    isDeclared: (error) => error instanceof ProtocolError || error instanceof TransactionRejected,
    run: (input) => Object.keys(memberSignatureFromJson(JSON.parse(jsonText(input)))).join(),
  };
}

/** Returns the input if it is JSON, otherwise `null`. In the node, the caller of the decoder parses the JSON. */
function jsonText(input: Buffer): string {
  const text = input.toString('utf8');
  try {
    JSON.parse(text);
    return text;
  } catch {
    return 'null';
  }
}

/**
 * Target for raw bytes that a client sends to the port for peers: usually an upgrade request, and then arbitrary data.
 * After each input, the listener must still accept connections.
 */
export async function socketTarget(): Promise<Target> {
  const node = await startNode({}, { arrivalsPerIpMax: Infinity });
  const { wsPort } = node.address;
  const upgrade = [
    `GET /rpc/?wsPort=5301&version=3.0.2&networkId=${NETWORK_ID}&protocolVersion=2.0 HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: kAsP51xnvQul+FetCGy04A==',
    '\r\n',
  ].join('\r\n');
  const frame = (text: string) =>
    Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
  const handshake = frame('{"event":"#handshake","data":{"authToken":null},"cid":1}');
  return {
    name: 'web-socket',
    weight: 0.02,
    seeds: [
      Buffer.concat([Buffer.from(upgrade), handshake, frame('#2'), frame('{"event":"ping","cid":3}')]),
      Buffer.concat([Buffer.from(upgrade), handshake, Buffer.from([0x89, 0x80, 1, 2, 3, 4])]),
      Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    ],
    words: [
      '\r\n',
      'Upgrade: websocket',
      'Transfer-Encoding: chunked',
      'Content-Length: 99',
      '\u0081\u0080',
      'HTTP/1.1',
    ],
    isDeclared: () => false,
    run: (input) => exchanged(wsPort, input),
    close: () => node.transport.close(),
  };
}

/**
 * Sends bytes, and waits until the connection ends, for at most 60 ms. @returns the start of the HTTP status line. If
 * the answer has no status line, the result is `true` or `false`: whether the server sent any bytes
 */
export function exchanged(port: number, input: Buffer): Promise<string> {
  return new Promise((settle, fail) => {
    let answer = Buffer.alloc(0);
    const socket = connect(port, '127.0.0.1');
    const deadline = setTimeout(() => socket.destroy(), 60);
    socket.on('connect', () => socket.end(input));
    socket.on('data', (chunk: Buffer) => {
      if (answer.length < 64) answer = Buffer.concat([answer, chunk]).subarray(0, 64);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') fail(new Error('the listener is gone'));
    });
    socket.on('close', () => {
      clearTimeout(deadline);
      settle(/^HTTP\/1\.1 [0-9]{3}/.exec(answer.toString('latin1'))?.[0] ?? `${answer.length > 0}`);
    });
  });
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
