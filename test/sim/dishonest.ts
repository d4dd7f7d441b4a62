/**
 * Simulates dishonest nodes: they follow the wire protocol, but misuse the blocks that they forge. Such a node has the
 * same engine as an honest node. A wrapper around its transport changes or delays the messages that the engine sends.
 */

import type { NodeInfo, PeerId, PeerMessage, Transport } from '../../src/ports/transport.ts';
import type { Codec } from '../../src/protocol/rules.ts';
import type { KeyPair } from '../../src/protocol/types.ts';
import { publicKeyOf, signBlock } from '../support/chain-maker.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { VirtualTime } from './virtual-clock.ts';

/**
 * - `doubleForger` signs two blocks for each of its slots. About half of its peers get the first block, and the other
 *   peers get the second block.
 * - `withholder` delays about half of its own blocks by one to six slots. During this time, it also delays its info and
 *   all other messages, except requests and answers.
 */
export type Misbehaviour = 'doubleForger' | 'withholder';

export interface TamperContext {
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  readonly codec: Codec;
  readonly keys: readonly KeyPair[];
  readonly slotMs: number;
}

type Sending = Pick<Transport, 'send' | 'announce'>;

export function tampered(transport: Transport, behaviour: Misbehaviour, context: TamperContext): Transport {
  const sending = behaviour === 'doubleForger' ? doubleForger(transport, context) : withholder(transport, context);
  return {
    start: (handlers) => transport.start(handlers),
    connect: (address) => transport.connect(address),
    disconnect: (peerId, reason) => transport.disconnect(peerId, reason),
    connections: () => transport.connections(),
    request: (peerId, request) => transport.request(peerId, request),
    close: () => transport.close(),
    ...sending,
  };
}

function doubleForger(transport: Transport, { random, codec, keys }: TamperContext): Sending {
  const twins = new WeakMap<object, object>();
  const twinOf = (json: object): object => {
    let twin = twins.get(json);
    if (twin === undefined) {
      const block = codec.blockFromJson(json);
      const owner = keys.find((keyPair) => publicKeyOf(keyPair) === block.generatorPublicKey);
      // The second block differs from the first only in its timestamp and signature. Both blocks are valid, because any
      // timestamp within the slot is valid.
      twin =
        owner === undefined ? json : codec.blockToJson(signBlock(block, { timestamp: block.timestamp + 1 }, owner));
      twins.set(json, twin);
    }
    return twin;
  };
  return {
    send: (peerId, message) => {
      const isTwinned = message.kind === 'block' && isObject(message.block) && random.chance(0.5);
      transport.send(peerId, isTwinned ? { kind: 'block', block: twinOf(message.block) } : message);
    },
    announce: (info) => transport.announce(info),
  };
}

function withholder(transport: Transport, { time, random, keys, slotMs }: TamperContext): Sending {
  const own = new Set(keys.map(publicKeyOf));
  let silentUntilMs = 0;
  let lastBlock: unknown;
  let lastInfo: NodeInfo | undefined;
  const later = (work: () => void): void => {
    if (time.nowMs >= silentUntilMs) work();
    else time.schedule(silentUntilMs - time.nowMs, work);
  };
  return {
    send: (peerId: PeerId, message: PeerMessage) => {
      if (message.kind === 'block' && message.block !== lastBlock) {
        lastBlock = message.block;
        const isOwn = isObject(message.block) && own.has(String(Reflect.get(message.block, 'generatorPublicKey')));
        if (isOwn && random.chance(0.5)) silentUntilMs = time.nowMs + random.between(1, 6) * slotMs;
      }
      later(() => transport.send(peerId, message));
    },
    announce: (info) => {
      lastInfo = info;
      later(() => {
        if (lastInfo !== undefined) transport.announce(lastInfo);
      });
    },
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
