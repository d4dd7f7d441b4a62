/** Attacks with WebSocket frames that have unexpected members or values, are too large, or are too many. */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Arena } from './arena.ts';
import { repeatInParallel, mustEnd } from './attacks-doors.ts';
import { webSocketFrame } from './intruder.ts';
import { GROWTH_BYTES_MAX, type Attack } from './measure.ts';

const ODD: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e308, 2 ** 53, '', '0', '-1', '1e9', 'x', '\u0000', '9'.repeat(400), [], {}],
  ...[[[]], [null], { length: -1 }, { toString: 1 }, { toJSON: 1 }, { constructor: null }, 'f'.repeat(64)],
];
const ID = '6524861224470851795';
const SIGNATURE = { transactionId: ID, publicKey: 'ab'.repeat(32), signature: 'cd'.repeat(64) };

export const FRAME_ATTACKS: readonly Attack[] = [
  {
    name: 'extra and repeated properties',
    run: (arena, untilMs) =>
      texts(arena, untilMs, (peer) => {
        const block = JSON.stringify(arena.blockMessage(strangersBlock(arena)));
        const extra = Array.from({ length: 300 }, (_, index) => `"extra${index}":${index},`).join('');
        peer.sendFrame(block.replace('"block":{', `"block":{${extra}"version":9,"version":[],`));
        peer.sendFrame(`{"event":"nosuch","event":"remote-message","cid":5,"cid":-1,"rid":1,${extra}"data":{}}`);
        peer.sendFrame(`{"rid":7,"data":{},"data":null,${extra}"rid":7}`);
      }),
  },
  {
    name: 'members named __proto__',
    run: (arena, untilMs) =>
      texts(arena, untilMs, (peer) => {
        const poison = '"__proto__":{"block":{"id":"1"},"isAdmin":true,"toString":null},"constructor":{"prototype":1}';
        peer.sendFrame(
          `{"event":"remote-message",${poison},"data":{${poison},"event":"postNodeInfo","data":{${poison}}}}`,
        );
        peer.sendFrame(`{"event":"rpc-request","cid":9,"data":{${poison},"procedure":"__proto__","data":{${poison}}}}`);
        peer.sendFrame(`{"event":"__proto__","data":{${poison}}}`);
      }),
  },
  {
    name: 'deep nesting',
    run: (arena, untilMs) => {
      const frames = [300, 2_300, 3_400, 10_000, 400_000].flatMap((depth) => [
        `{"event":"remote-message","data":${'['.repeat(depth)}${']'.repeat(depth)}}`,
        `{"event":"rpc-request","cid":3,"data":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`,
        `{"event":"remote-message","data":{"event":"postNodeInfo","data":${'{"0":'.repeat(depth)}1${'}'.repeat(depth)}}}`,
        `{"event":"updateMyself","data":${'{"0":'.repeat(depth)}1${'}'.repeat(depth)}}`,
      ]);
      return texts(arena, untilMs, (peer) => {
        for (const frame of frames) peer.sendFrame(frame);
      });
    },
  },
  {
    name: 'frames of a million small values',
    run: (arena, untilMs) => {
      const frames = ['{}', '[]', '0', '{"a":1}'].map((piece) => {
        const filler = Array.from({ length: 2_900_000 / (piece.length + 1) }, () => piece).join();
        return `{"event":"remote-message","data":{"event":"postNodeInfo","data":["__proto__",${filler}]}}`;
      });
      return texts(arena, untilMs, (peer) => {
        for (const frame of frames) peer.sendFrame(frame);
      });
    },
  },
  {
    name: 'frames of members with ever new names',
    run: (arena, untilMs) => {
      const frames = [250_000, 2_900_000].map((bytes) => {
        const pieces: string[] = [];
        for (let length = 0, at = 1; length < bytes; at += 1) {
          const piece = `{"k${((at * 2_654_435_761) >>> 0).toString(36)}":0}`;
          pieces.push(piece);
          length += piece.length + 1;
        }
        return `{"event":"remote-message","data":{"event":"nosuch","data":[${pieces.join()}]}}`;
      });
      return texts(arena, untilMs, (peer) => {
        for (const frame of frames) peer.sendFrame(frame);
      });
    },
  },
  {
    name: 'huge numbers',
    run: (arena, untilMs) =>
      texts(arena, untilMs, (peer) => {
        const number = '9'.repeat(100_000);
        const block = JSON.stringify(arena.blockMessage(strangersBlock(arena)));
        for (const name of ['height', 'timestamp', 'reward', 'totalFee', 'payloadLength', 'version']) {
          peer.sendFrame(block.replace(new RegExp(`"${name}":"?[0-9]+"?`), `"${name}":${number}`));
          peer.sendFrame(block.replace(new RegExp(`"${name}":"?[0-9]+"?`), `"${name}":"${number}"`));
        }
        peer.sendFrame(`{"event":"ping","cid":${number}}`);
      }),
  },
  {
    name: 'wrong types in every field of every message',
    async run(arena, untilMs) {
      const frames = wrongFrames(arena);
      let next = 0;
      await repeatInParallel(untilMs, 4, async () => {
        const peer = await arena.peer();
        // Each peer sends 30 frames, or fewer if the node closes its connection. The next peer sends the next frames.
        for (let sent = 0; sent < 30 && peer.end === undefined; sent += 1) {
          peer.sendFrame(frames[next % frames.length]);
          next += 1;
          await sleep(2);
        }
      });
    },
  },
  {
    name: 'empty and binary frames',
    run: (arena, untilMs) =>
      texts(arena, untilMs, (peer) => {
        for (const frame of ['', ' ', '\u0000', '#1', '#3', 'null', '[]']) peer.sendFrame(frame);
        for (const bytes of [0, 1, 100_000]) peer.sendFrame(Buffer.alloc(bytes, 255));
        peer.sendFrame(Buffer.from('{"event":"ping","cid":3}'));
      }),
  },
  {
    name: 'control frames',
    async run(arena, untilMs) {
      await repeatInParallel(untilMs, 4, async () => {
        const peer = await arena.peer();
        peer.control(Math.random() < 0.5 ? 'ping' : 'pong');
        await mustEnd(peer, 'a peer that sends control frames');
      });
    },
  },
  {
    name: 'batches',
    run: (arena, untilMs) =>
      texts(arena, untilMs, (peer) => {
        for (const length of [100, 101, 50_000])
          peer.sendFrame(Array.from({ length }, () => ({ event: 'ping', cid: 3 })));
        peer.sendFrame(`[${'['.repeat(200)}${']'.repeat(200)}]`);
      }),
  },
  {
    name: 'oversize messages',
    run: (arena, untilMs) => {
      const largest = `{"event":"remote-message","data":"${'x'.repeat(3_000_000)}"}`;
      const over = `{"event":"remote-message","data":"${'x'.repeat(4_000_000)}"}`;
      return repeatInParallel(untilMs, 2, async () => {
        const peer = await arena.peer();
        for (let sent = 0; sent < 5; sent += 1) peer.sendFrame(largest);
        peer.sendFrame(over);
        await sleep(100);
      });
    },
  },
  {
    name: 'messages in thousands of fragments',
    run: (arena, untilMs) => {
      const fragments = [
        webSocketFrame('', { isFirst: true }),
        ...Array.from({ length: 16_000 }, () => webSocketFrame('')),
      ];
      const message = Buffer.concat([...fragments, webSocketFrame('', { isLast: true })]);
      return repeatInParallel(untilMs, 40, async () => {
        const peer = await arena.peer();
        do {
          if (peer.unsentBytes < message.length) peer.bytes(message);
          // Stay below the rate limit of messages, so that the node closes the connection because of the fragments.
          await sleep(11);
        } while (peer.end === undefined && performance.now() < untilMs);
        await mustEnd(peer, 'a peer that cuts messages into thousands of fragments');
      });
    },
  },
  {
    name: 'messages that do not end',
    async run(arena, untilMs) {
      const bytesBefore = await arena.usedBytes();
      const begun = webSocketFrame('x'.repeat(2_990_000), { isFirst: true, declaredBytes: 3_000_000 });
      await repeatInParallel(untilMs, 30, async () => {
        const peer = await arena.peer();
        peer.bytes(begun);
        while (peer.unsentBytes > 0 && peer.end === undefined) await sleep(10);
        while (peer.end === undefined && performance.now() < untilMs) await sleep(10);
      });
      // Perhaps some of the sent bytes are still in the buffers of the kernel. Wait until the node has read these
      // bytes.
      await sleep(500);
      const heldBytes = (await arena.usedBytes()) - bytesBefore;
      if (heldBytes > GROWTH_BYTES_MAX) throw new Error(`strangers hold ${Math.round(heldBytes / 1024 / 1024)} MB`);
    },
  },
  {
    name: 'an endless stream of large events',
    run: (arena, untilMs) => {
      // The message has 290,000 values and a size of 2.3 MB, so that it is expensive to parse.
      const values = Array.from({ length: 290_000 }, (_, index) => 1_000_000 + index).join();
      const event = `{"event":"remote-message","data":{"event":"nosuch","data":[${values}]}}`;
      return repeatInParallel(untilMs, 4, async () => {
        const peer = await arena.peer();
        for (let sent = 0; sent < 20 && peer.end === undefined; sent += 1) {
          peer.sendFrame(event);
          await sleep(10);
        }
        // Do not require that the node closes the connection: honest nodes send large events too, such as large blocks.
        // The node drops the frames that exceed the budget for unsolicited bytes, without a penalty, and pauses the
        // connection.
      });
    },
  },
  {
    name: 'frames without end',
    async run(arena, untilMs) {
      await repeatInParallel(untilMs, 4, async () => {
        const peer = await arena.peer();
        for (let sent = 0; sent < 2_000 && peer.end === undefined; sent += 1) {
          peer.sendFrame({ event: 'nosuch' });
          if (sent % 100 === 0) await sleep(1);
        }
      });
    },
  },
  {
    name: 'subscribe, publish and tokens',
    run: (arena, untilMs) =>
      texts(arena, untilMs, (peer) => {
        for (const event of [
          '#subscribe',
          '#unsubscribe',
          '#publish',
          '#authenticate',
          '#removeAuthToken',
          'message',
        ]) {
          peer.sendFrame({ event, data: { channel: 'x', data: 'y', token: 'z' }, cid: 4 });
          peer.sendFrame({ event, data: 'x' });
        }
      }),
  },
  {
    name: 'requests without end',
    async run(arena, untilMs) {
      const request = blocksRequest(arena);
      const peers = await Promise.all(Array.from({ length: 20 }, () => arena.peer()));
      while (performance.now() < untilMs) {
        for (const peer of peers) for (let asked = 0; asked < 7; asked += 1) peer.ask(request);
        await sleep(100);
      }
    },
  },
  {
    name: 'requests whose answers are not read',
    async run(arena, untilMs) {
      const request = blocksRequest(arena);
      const peers = await Promise.all(Array.from({ length: 40 }, () => arena.peer()));
      for (const peer of peers) peer.pause();
      while (performance.now() < untilMs) {
        for (const peer of peers) for (let asked = 0; asked < 6; asked += 1) peer.ask(request);
        await sleep(100);
      }
    },
  },
];

/** Builds a request for the blocks after the genesis block, so that the answer has as many blocks as possible. */
function blocksRequest({ generation, devnet }: Arena): object {
  const { genesisBlockId } = devnet.network.params;
  return generation === 2
    ? { procedure: 'blocks', data: { lastBlockId: genesisBlockId } }
    : { procedure: 'getBlocksFromId', data: { blockId: genesisBlockId } };
}

/**
 * Runs three loops at the same time until `untilMs`. Each pass of a loop connects one new peer from a new address, and
 * calls `talk` five times for this peer. If the node closes the connection of the peer before the fifth call, the pass
 * ends without further calls.
 */
async function texts(
  arena: Arena,
  untilMs: number,
  talk: (peer: Awaited<ReturnType<Arena['peer']>>) => void,
): Promise<void> {
  await repeatInParallel(untilMs, 3, async () => {
    const peer = await arena.peer();
    for (let round = 0; round < 5 && peer.end === undefined; round += 1) {
      talk(peer);
      await sleep(20);
    }
  });
}

/** A block signed by an account that is not a delegate. */
function strangersBlock(arena: Arena) {
  return arena.block({ id: ID, height: 5, timestamp: 100 }, arena.keyPair('account_1'));
}

/**
 * Returns frames with messages and requests of the devnet's generation. Each frame has one wrong field. For each field,
 * the result has one frame for each value of `ODD`, and one frame without the field.
 */
function wrongFrames(arena: Arena): readonly unknown[] {
  const whole: Record<string, unknown>[] = [
    arena.blockMessage(strangersBlock(arena)),
    arena.message({ kind: 'signatures', signatures: [SIGNATURE] }),
    arena.generation === 2
      ? arena.message({ kind: 'transactions', transactions: [{ id: ID, type: 0, asset: {} }] })
      : arena.message({ kind: 'transactionIds', ids: [ID] }),
    { ...arena.dialect.infoPush(arena.dialect.packInfo(arena.info())) },
    ...(arena.generation === 2
      ? [call('blocks', { lastBlockId: ID }), call('blocksCommon', { ids: ID }), call('getTransactions', {})]
      : [
          call('getBlocksFromId', { blockId: ID }),
          call('getHighestCommonBlock', { ids: [ID] }),
          call('getTransactions', { transactionIds: [ID] }),
        ]),
  ];
  return whole.flatMap((frame) => {
    delete frame['call'];
    return placesOf(frame).flatMap((path) => [
      ...ODD.map((value) => replaced(frame, path, value)),
      replaced(frame, path, undefined),
    ]);
  });
}

function call(procedure: string, data: unknown): Record<string, unknown> {
  return { event: 'rpc-request', data: { procedure, data }, cid: 4 };
}

function placesOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return path.length === 0 ? [] : [path];
  const below = Object.entries(value).flatMap(([name, member]) => placesOf(member, [...path, name]));
  return path.length === 0 ? below : [path, ...below];
}

function replaced(frame: unknown, path: readonly string[], value: unknown): unknown {
  const copy = structuredClone(frame);
  const parent = path.slice(0, -1).reduce((at, name) => Reflect.get(at as object, name) as unknown, copy);
  Reflect.set(parent as object, path.at(-1) ?? '', value);
  return copy;
}
