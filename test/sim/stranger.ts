/**
 * A simulated peer (a stranger) that speaks the wire protocol and lies. A stranger has no engine and no chain. A
 * stranger has the keys of some delegates. With these keys, it signs blocks with a valid signature, so that nodes must
 * find another error of the block.
 */

import { PeerOffence, type NodeInfo, type PeerId, type TransportHandlers } from '../../src/ports/transport.ts';
import { slotAt } from '../../src/protocol/slots.ts';
import type { Block, JsonObject, KeyPair } from '../../src/protocol/types.ts';
import { keyPairOf, makeTransaction, signBlock } from '../support/chain-maker.ts';
import type { SimNode } from './node.ts';
import type { SeededRandom } from './seeded-random.ts';
import { silentHandlers } from './silent-handlers.ts';
import type { WireTransport } from './wire.ts';
import type { World } from './world.ts';

/**
 * The ways to answer requests for blocks. Each stranger uses one of these ways. Each way causes different work for the
 * node that asks.
 */
const ANSWERS = ['silence', 'nothing', 'error', 'unlinked', 'rubbish', 'endless', 'truth'] as const;
type Answers = (typeof ANSWERS)[number];

/** A stranger stops sending blocks of an invented chain after approximately this number of blocks. */
const INVENTED_BLOCKS_MAX = 400;

export class Stranger {
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #transport: WireTransport;
  readonly #keys: readonly KeyPair[];
  readonly #answers: Answers;
  #invented = 0;

  /**
   * @param number determines the IP address of this stranger, so that a ban of this address does not affect other
   *   strangers
   */
  constructor(world: World, random: SeededRandom, number: number, keys: readonly KeyPair[]) {
    this.#world = world;
    this.#random = random;
    this.#keys = keys;
    this.#answers = random.pick(ANSWERS);
    this.#transport = world.wire.transport({ ip: `172.16.${number >> 8}.${number & 255}`, wsPort: 6000 });
  }

  async visit(targets: readonly SimNode[]): Promise<void> {
    const { height } = this.#seen(targets[0]!);
    const isBoaster = this.#random.chance(0.5);
    this.#transport.announce(infoOf(isBoaster ? height + this.#random.between(1, 1000) : height, isBoaster));
    await this.#transport.start(this.#handlers(targets[0]!));
    for (const target of targets) {
      this.#transport.connect(addressOf(target)).then(
        (peerId) => this.#talk(peerId, target),
        () => undefined,
      );
    }
  }

  leave(): void {
    this.#transport.die(0);
  }

  #talk(peerId: PeerId, target: SimNode): void {
    for (let count = this.#random.between(1, 5); count > 0; count -= 1) {
      this.#world.time.schedule(this.#random.below(30_000), () => {
        if (!target.isRunning) return;
        this.#transport.send(peerId, { kind: 'block', block: this.#badBlock(target) });
        if (this.#random.chance(0.3)) this.#transport.send(peerId, { kind: 'transactionIds', ids: ['123', '456'] });
      });
    }
  }

  /** Returns a random block that a node must not apply. Each kind of block has a different error. */
  #badBlock(target: SimNode): unknown {
    const { codec, params } = this.#world.rules;
    const random = this.#random;
    const tip = this.#seen(target);
    const key = random.pick(this.#keys);
    const nowS = target.engine.chain.nowS();
    const next: Block = {
      ...tip,
      height: tip.height + 1,
      previousBlockId: tip.id,
      timestamp: slotAt(nowS, params) * params.blockTimeS,
      ...EMPTY,
    };
    const flavours: readonly (() => unknown)[] = [
      () => ({ ...codec.blockToJson(next), blockSignature: '00'.repeat(64) }),
      () => ({ ...codec.blockToJson(signBlock(next, {}, key)), height: 'many' }),
      () => ({ rubbish: true }),
      () => null,
      () => codec.blockToJson(signBlock(next, {}, keyPairOf('nobody'))),
      () => codec.blockToJson(signBlock(next, { reward: 12345n }, key)),
      () => codec.blockToJson(signBlock(next, { maxHeightPrevoted: tip.maxHeightPrevoted + 500 }, key)),
      () => codec.blockToJson(signBlock(next, { payloadHash: '11'.repeat(32) }, key)),
      () => codec.blockToJson(signBlock(next, { timestamp: nowS + 10_000 }, key)),
      () => codec.blockToJson(signBlock(next, { previousBlockId: '1234567890' }, key)),
      // Each of the next three blocks looks like the tip of a longer chain. This chain does not exist.
      () => codec.blockToJson(signBlock(next, { height: tip.height + 500, previousBlockId: '77' }, key)),
      () => codec.blockToJson(signBlock(next, { height: tip.height + 5, maxHeightPrevoted: tip.height }, key)),
      () => codec.blockToJson(signBlock(next, { height: 4_000_000_000 }, keyPairOf('nobody'))),
      () => this.#withTransaction(next, key),
    ];
    return random.pick(flavours)();
  }

  /** Adds a transfer of more than the sender owns, and signs the block. */
  #withTransaction(block: Block, key: KeyPair): JsonObject {
    const { codec, params } = this.#world.rules;
    const payload = { kind: 'transfer', amount: 10n ** 17n, recipientId: '1L' } as const;
    const transaction = makeTransaction(params, this.#world.network.accounts[0]!, payload, { timestamp: 1 });
    return codec.blockToJson(signBlock({ ...block, transactions: [transaction], numberOfTransactions: 1 }, {}, key));
  }

  #handlers(model: SimNode): TransportHandlers {
    return silentHandlers({
      answer: (_peerId, request) =>
        request.kind === 'peers'
          ? Promise.resolve([{ ip: '172.31.0.1', wsPort: 1 }])
          : this.#answer(model, request.kind, request),
    });
  }

  async #answer(model: SimNode, kind: string, request: object): Promise<unknown> {
    const ids: readonly string[] = 'blockIds' in request ? (request.blockIds as string[]) : [];
    switch (this.#answers) {
      case 'silence':
        return new Promise(() => undefined);
      case 'error':
        throw new PeerOffence('MALFORMED_MESSAGE', 'no');
      case 'nothing':
        return kind === 'blocksAfter' || kind === 'transactions' ? [] : undefined;
      case 'rubbish':
        return kind === 'highestCommonBlock' ? { id: ids.at(-1), height: 3 } : [{ rubbish: true }, 7];
      case 'unlinked':
      case 'endless':
      case 'truth':
        if (kind === 'highestCommonBlock') return { id: this.#random.pick(ids), height: 1 };
        if (kind !== 'blocksAfter' || !model.isRunning) return [];
        return this.#blocksAfter(model, String(Reflect.get(request, 'blockId')));
    }
  }

  #blocksAfter(model: SimNode, blockId: string): readonly unknown[] {
    const { codec } = this.#world.rules;
    const known = model.store.heightOf(blockId);
    if (this.#answers === 'truth') {
      const block = known === undefined ? undefined : model.store.block(known + 1);
      return block === undefined ? [] : [codec.blockToJson(block)];
    }
    const tip = this.#seen(model);
    if (this.#answers === 'unlinked') return [codec.blockToJson(tip)];
    if (this.#invented >= INVENTED_BLOCKS_MAX) return [];
    const blocks: JsonObject[] = [];
    let previous: Block = { ...tip, id: blockId, height: (known ?? tip.height) + this.#invented };
    for (let count = 34; count > 0; count -= 1) {
      const { id: previousBlockId, height, timestamp } = previous;
      const following = { ...previous, ...EMPTY, previousBlockId, height: height + 1, timestamp: timestamp + 1 };
      previous = signBlock(following, {}, this.#random.pick(this.#keys));
      blocks.push(codec.blockToJson(previous));
    }
    if (known === undefined) this.#invented += 34;
    return blocks;
  }

  #seen(node: SimNode): Block {
    return node.store.block(node.tip.height)!;
  }
}

const EMPTY_PAYLOAD_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const EMPTY = {
  transactions: [],
  numberOfTransactions: 0,
  totalAmount: 0n,
  totalFee: 0n,
  payloadLength: 0,
  payloadHash: EMPTY_PAYLOAD_HASH,
} as const;

function infoOf(height: number, isBoaster: boolean): NodeInfo {
  return {
    os: 'sim',
    version: '3.0.2',
    wsPort: 6000,
    httpPort: 0,
    protocolVersion: '2.0',
    nonce: 'stranger00000000',
    height,
    blockVersion: 2,
    maxHeightPrevoted: isBoaster ? height : 0,
    lastBlockId: '42',
  };
}

function addressOf(node: SimNode): { ip: string; wsPort: number } {
  const [ip = '', wsPort = ''] = node.peerId.split(':');
  return { ip, wsPort: Number(wsPort) };
}
