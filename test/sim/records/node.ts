/**
 * A node with one delegate, on the chain of headers (`header-chain.ts`). The parts that decide about a signature are
 * those of a real node: the guard, the check of the tip, the journal and the watermarks. Like the scheduler of a real
 * node, this node asks the guard, builds the header, writes it to the journal, and then sends it.
 */

import { DoubleForgingGuard } from '../../../src/engine/forge/double-forging-guard.ts';
import { createSigningJournal } from '../../../src/engine/forge/signing-journal.ts';
import { TipCheck } from '../../../src/engine/forge/tip-check.ts';
import { WaitUpdates } from '../../../src/engine/forge/wait-updates.ts';
import type { ChainListener } from '../../../src/engine/chain-listeners.ts';
import { openJournal, type JournalFile } from '../../../src/node/journal-file.ts';
import { WatermarkFiles } from '../../../src/node/watermark-files.ts';
import type { ChainReader } from '../../../src/ports/store.ts';
import type { SigningJournal } from '../../../src/ports/journal.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import type { AnnouncedTip, Rules, SignedHeader } from '../../../src/protocol/rules.ts';
import { epochTimeS, slotAtMs } from '../../../src/protocol/slots.ts';
import type { Block } from '../../../src/protocol/types.ts';
import { OWN, ownerOf, signedHeaderOf, type HeaderChain } from './header-chain.ts';

export interface ModelNodeOptions {
  readonly rules: Rules;
  readonly journalFile: string;
  readonly watermarkFolder: string | undefined;
  /** Unix time in milliseconds by the clock of the node's machine. */
  readonly nowMs: () => number;
  /** The chain in the data folder. */
  readonly chain: HeaderChain;
}

/** A header that the node has signed and sent, and the chain that ends with it. */
export interface Sent {
  readonly header: SignedHeader;
  readonly chain: HeaderChain;
}

const FIRST_FORGED_HEIGHT = 2;
const PEERS = 3;
/** The journal is often rewritten, so that kills also fall into this step. */
const SPARE_LINES_MAX = 3;

export class ModelNode {
  chain: HeaderChain;
  /** Why the delegate did not sign in its last slot. */
  refusal: string | undefined;
  readonly #options: ModelNodeOptions;
  readonly #file: JournalFile;
  readonly #journal: SigningJournal;
  readonly #guard: DoubleForgingGuard;
  readonly #tipCheck: TipCheck;
  readonly #waitUpdates: WaitUpdates;
  readonly #listeners: ChainListener[] = [];
  #connectedMs = Infinity;
  #peerTip: AnnouncedTip | undefined;

  /** Starts the node, and enables its delegate. The caller closes the journal file if this fails. */
  constructor(options: ModelNodeOptions, opened: (file: JournalFile) => void) {
    const { rules, journalFile, watermarkFolder, nowMs, chain } = options;
    this.#options = options;
    this.chain = chain;
    this.#file = openJournal(journalFile, { spareLinesMax: SPARE_LINES_MAX });
    opened(this.#file);
    const { networkIdentifier } = rules.params;
    this.#journal = createSigningJournal(false, {
      journal: this.#file,
      watermarks:
        watermarkFolder === undefined ? undefined : new WatermarkFiles(watermarkFolder, networkIdentifier, SILENT),
      observer: SILENT,
      nowS: epochTimeS(nowMs(), rules.params),
      firstBlockId: () => this.chain.state.header(FIRST_FORGED_HEIGHT)?.id,
    });
    const tip = () => ({ header: this.chain.tip });
    const state = () => this.chain.state as ChainReader;
    const chainView = {
      rules,
      get tip() {
        return tip();
      },
      get state() {
        return state();
      },
      currentSlot: () => slotAtMs(nowMs(), rules.params),
      nowS: () => epochTimeS(nowMs(), rules.params),
      listen: (listener: ChainListener) => void this.#listeners.push(listener),
    };
    this.#tipCheck = new TipCheck({
      chain: chainView,
      journal: this.#journal,
      clock: { nowMs },
      isEnabled: (publicKey) => publicKey === OWN,
      peerTips: (sinceMs) => {
        const tips = this.#peerTip === undefined || this.#connectedMs < sinceMs ? [] : Array(PEERS).fill(this.#peerTip);
        return {
          tips: tips as AnnouncedTip[],
          fixed: 0,
          fixedHeard: 0,
          areExpected: true,
          areDialsExpected: true,
          areChosen: tips.length > 0,
          namedTips: tips as AnnouncedTip[],
        };
      },
    });
    this.#guard = new DoubleForgingGuard({
      chain: chainView,
      journal: this.#journal,
      tipCheck: this.#tipCheck,
      riskDoubleForging: false,
    });
    this.#waitUpdates = new WaitUpdates(this.#guard, () => [OWN]);
    this.#guard.hold(OWN);
  }

  get isConnected(): boolean {
    return this.#peerTip !== undefined;
  }

  /** Peers announce the chain of the network; undefined if no peer is connected. */
  hear(announced: HeaderChain | undefined): void {
    if (announced === undefined) this.#connectedMs = Infinity;
    else if (this.#peerTip === undefined) this.#connectedMs = this.#options.nowMs();
    this.#peerTip = announced?.tip;
  }

  /** The node downloads the chain of the network if fork choice prefers this chain. */
  sync(network: HeaderChain): void {
    const { rules } = this.#options;
    if (network.tip.id === this.chain.tip.id || !rules.prefersTip(network.tip, this.chain.tip)) return;
    const added = network.headersBeyond(this.chain);
    this.chain = network;
    this.#waitUpdates.noteForeign(added);
    for (const { applied } of this.#listeners) applied?.([network.tip as Block], 'synced');
  }

  /** Checks, as the scheduler does every second, whether the delegate can sign. @param id id of the new header */
  check(id: string): Sent | undefined {
    this.#tipCheck.tick();
    const { rules, nowMs } = this.#options;
    const slot = slotAtMs(nowMs(), rules.params);
    if (ownerOf(slot) !== OWN || slot <= this.chain.slotOfTip(rules)) return undefined;
    // In generation 2, a node forges only if most of its peers have its tip.
    if (rules.params.generation === 2 && this.#peerTip?.height !== this.chain.tip.height) return undefined;
    const clearance = this.#guard.clearance(OWN, slot);
    this.refusal = clearance.granted ? undefined : clearance.code;
    if (!clearance.granted) return undefined;
    try {
      const next = this.chain.forge(rules, slot, clearance.previouslyForged, id);
      const header = signedHeaderOf(next.tip);
      this.#journal.record(OWN, header);
      this.chain = next;
      return { header, chain: next };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.refusal = error.code;
      return undefined;
    }
  }

  clockSetForward(byMs: number): void {
    this.#guard.clockSetForward([OWN], Math.ceil(byMs / 1000));
  }

  stop(): void {
    this.#journal.close();
  }
}
