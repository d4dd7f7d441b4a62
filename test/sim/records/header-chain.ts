/**
 * A chain of headers without transactions, for tests of the signing record. The network has four delegates, so a block
 * becomes final after few slots. A chain is a value: several chains can share their older headers.
 */

import { ProtocolError } from '../../../src/primitives/errors.ts';
import { saveBftState } from '../../../src/protocol/gen3/bft-state.ts';
import { addHeader, bftLimits, emptyBftState, headerFault, type BftState } from '../../../src/protocol/gen3/bft.ts';
import { createGen2Rules } from '../../../src/protocol/gen2/rules.ts';
import { createGen3Rules } from '../../../src/protocol/gen3/rules.ts';
import type { ChainParams, Generation } from '../../../src/protocol/params.ts';
import type { Rules, SignedHeader } from '../../../src/protocol/rules.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import type { StateReader, StateWriter } from '../../../src/protocol/state.ts';
import type { BlockHeader, PublicKey } from '../../../src/protocol/types.ts';
import { headerWith, keyNumber, paramsWith } from '../../support/fixtures.ts';

export const DELEGATES = 4;
export const BLOCK_TIME_S = 10;
/** The delegate whose signatures the test collects. The other delegates are honest, and have one node each. */
export const OWN: PublicKey = keyNumber(1);
const ORDER: readonly PublicKey[] = Array.from({ length: DELEGATES }, (_, index) => keyNumber(index + 1));
const LIMITS = bftLimits(DELEGATES);

/** The rules of a generation, with a fixed order of the delegates. */
export function rulesOf(generation: Generation): Rules {
  const params: ChainParams = paramsWith({ generation, blockTimeS: BLOCK_TIME_S, activeDelegates: DELEGATES });
  const rules = generation === 2 ? createGen2Rules(params) : createGen3Rules(params);
  return { ...rules, forgers: () => ORDER };
}

export function ownerOf(slot: number): PublicKey {
  return ORDER[slot % DELEGATES]!;
}

export class HeaderChain {
  readonly tip: BlockHeader;
  /** Headers from height 1 on. Longer chains may share the list, so it may be longer than this chain. */
  readonly #headers: BlockHeader[];
  readonly #bftState: BftState;
  readonly state: StateReader;
  /** The chain without its newest block; undefined for the genesis block. */
  readonly parent: HeaderChain | undefined;

  private constructor(headers: BlockHeader[], tip: BlockHeader, bftState: BftState, parent?: HeaderChain) {
    this.#headers = headers;
    this.tip = tip;
    this.#bftState = bftState;
    this.parent = parent;
    let bytes: Uint8Array | undefined;
    const writer = { setBftState: (saved: Uint8Array) => (bytes = saved) };
    saveBftState(writer as unknown as StateWriter, bftState);
    // The state needs only these members. Neither the double-forging guard nor the rules that `rulesOf` returns read
    // any other member of the state.
    this.state = {
      header: (height: number) => (height <= tip.height ? headers[height - 1] : undefined),
      bftState: () => bytes,
      account: () => ({ producedBlocks: 1, missedBlocks: 0 }),
    } as unknown as StateReader;
  }

  static begin(): HeaderChain {
    const genesis = headerWith({ id: 'genesis', height: 1, timestamp: 0, generatorPublicKey: keyNumber(99) });
    return new HeaderChain([genesis], genesis, addHeader(emptyBftState(0), genesis, 1, LIMITS));
  }

  /** The chain with one more header. */
  #next(id: string, generatorPublicKey: PublicKey, slot: number, maxHeightPreviouslyForged: number): HeaderChain {
    const header = headerWith({
      id,
      height: this.tip.height + 1,
      timestamp: slot * BLOCK_TIME_S,
      previousBlockId: this.tip.id,
      generatorPublicKey,
      maxHeightPreviouslyForged,
      maxHeightPrevoted: this.#bftState.maxPrevoted,
    });
    const isLongest = this.#headers.length === this.tip.height;
    const headers = isLongest ? this.#headers : this.#headers.slice(0, this.tip.height);
    headers.push(header);
    return new HeaderChain(headers, header, addHeader(this.#bftState, header, 1, LIMITS), this);
  }

  /** The headers of this chain that another chain lacks, oldest first. */
  headersBeyond(other: HeaderChain): readonly BlockHeader[] {
    const found: BlockHeader[] = [];
    for (let { height } = this.tip; height > 1; height -= 1) {
      const header = this.state.header(height);
      if (header === undefined || other.state.header(height)?.id === header.id) break;
      found.unshift(header);
    }
    return found;
  }

  /**
   * Returns this chain with the block of an honest delegate, the owner of the slot. The block names the delegate's
   * newest block on this chain as the previously forged block, as if the delegate had signed no block of another chain.
   */
  extend(slot: number): HeaderChain {
    const owner = ownerOf(slot);
    let height = this.tip.height;
    while (height > 1 && this.state.header(height)?.generatorPublicKey !== owner) height -= 1;
    return this.#next(`block of slot ${slot}`, owner, slot, height > 1 ? height : 0);
  }

  /**
   * The next block of the own delegate, as `Rules.forge` builds it.
   *
   * @param id no other header has this id, because the blocks of two nodes differ at least in their transactions
   * @throws ProtocolError `FORGING_CONTRADICTS` if the new header contradicts `previous`, or if the checks of the BFT
   *   state refuse the new header; `FORGER_SLOT_TAKEN` if `previous` has the same slot
   */
  forge(rules: Rules, slot: number, previous: SignedHeader | undefined, id: string): HeaderChain {
    const isFinal = rules.params.generation === 3;
    const named = previous === undefined ? 0 : Math.max(previous.height, previous.maxHeightPreviouslyForged);
    const next = this.#next(id, OWN, slot, isFinal ? named : 0);
    const header = signedHeaderOf(next.tip);
    const reason =
      (previous && rules.contradiction(previous, header)) ??
      (isFinal ? headerFault(this.#bftState, next.tip, LIMITS) : undefined);
    if (reason !== undefined) throw new ProtocolError('FORGING_CONTRADICTS', { reason });
    if (previous?.timestamp === header.timestamp) throw new ProtocolError('FORGER_SLOT_TAKEN', { slot });
    return next;
  }

  slotOfTip(rules: Rules): number {
    return slotAt(this.tip.timestamp, rules.params);
  }
}

export function signedHeaderOf(header: BlockHeader): SignedHeader {
  const { id, height, timestamp, maxHeightPrevoted, maxHeightPreviouslyForged } = header;
  return { blockId: id, height, timestamp, maxHeightPrevoted, maxHeightPreviouslyForged };
}

/** A chain with a block in each slot. */
export function chainUntil(slot: number): HeaderChain {
  let chain = HeaderChain.begin();
  for (let each = 1; each <= slot; each += 1) chain = chain.extend(each);
  return chain;
}
