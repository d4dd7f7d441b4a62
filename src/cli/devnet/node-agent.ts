/** The part of a devnet node that executes the requests of the supervisor (the process of `bloomery devnet`). */

import type { ControlledParts, NodeControl } from '../../node/node-control.ts';
import { markUnsigned } from '../../node/unsigned-chain.ts';
import { MovableClock, skewed, type ClockSetting } from '../../node/movable-clock.ts';
import { defaultEd25519, type Ed25519 } from '../../crypto/ed25519.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import type { Transport } from '../../ports/transport.ts';
import type { Verifier } from '../../ports/verifier.ts';
import { slotAt } from '../../protocol/slots.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { JsonObject, Transaction } from '../../protocol/types.ts';
import { copyState, writePool } from './node-state.ts';
import { FaultyTransport } from './faulty-transport.ts';
import type { NodeFaults } from './faults.ts';
import { PageControls } from './page-controls.ts';
import { Impersonation } from './impersonation.ts';
import { nodeOfDelegate, SubstituteKey, substituteKeyOf } from './fork/substitute-key.ts';
import {
  BLOCKS_GIVEN_MAX,
  type AgentAccount,
  type AgentEvent,
  type AgentRequest,
  type AgentStart,
  type AgentState,
  type ForkShare,
} from './messages.ts';

export interface AgentOptions extends AgentStart {
  /** Clock of the machine. */
  readonly clock: Clock;
  /** Random numbers that decide which messages a lossy link loses. */
  readonly random: Random;
  readonly emit: (event: AgentEvent) => void;
  /**
   * Undefined for a node that runs in memory and has no folder. The requests `snapshot`, `close` and `open` fail for
   * such a node.
   */
  readonly host?: AgentHost;
}

/** The data folder of the node, and the functions that close and open the node. */
export interface AgentHost {
  /** Data folder of the node, with the chain and the journals. */
  readonly dataDirectory: string;
  close(): Promise<void>;
  /** Builds and starts the node. */
  open(): Promise<void>;
}

const CLOSED: AgentState = { tip: { id: '', height: 0, slot: 0 }, peers: 0, poolSize: 0 };

export class NodeAgent implements NodeControl {
  readonly chainClock: MovableClock;
  readonly ed25519: Ed25519;
  /** Present if the dashboard of this node offers operations of the devnet (those that `page-controls.ts` lists). */
  readonly devnet?: PageControls;
  readonly #impersonation: Impersonation;
  readonly #substituteKey: SubstituteKey | undefined;
  readonly #fork: ForkShare | undefined;
  readonly #emit: (event: AgentEvent) => void;
  #isHeld: boolean;
  readonly #host: AgentHost | undefined;
  readonly #machine: { readonly clock: Clock; readonly random: Random };
  #setting: ClockSetting;
  #faults: NodeFaults;
  #wire: FaultyTransport | undefined;
  #parts: ControlledParts | undefined;
  #isChainChecked: boolean;
  #isStoppedBriefly = false;
  /**
   * Promise that resolves at the next change of the clock. The first call of `clockMoved` before this change creates
   * the promise.
   */
  #nextMove: { readonly moved: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(options: AgentOptions) {
    const { clock, random, setting, isHeld, impersonated, faults, fork, isChainChecked = false, emit, host } = options;
    if (options.hasPageControls === true) this.devnet = new PageControls(emit);
    this.#isChainChecked = isChainChecked;
    this.#impersonation = new Impersonation(impersonated);
    this.#fork = fork;
    this.#substituteKey = fork === undefined ? undefined : new SubstituteKey();
    this.ed25519 = this.#impersonation.ed25519(this.#substituteKey?.ed25519(defaultEd25519()) ?? defaultEd25519());
    this.#machine = { clock, random };
    this.#setting = setting;
    this.#faults = faults;
    this.chainClock = new MovableClock(clock, skewed(setting, faults.skewMs));
    this.#isHeld = isHeld;
    this.#emit = emit;
    this.#host = host;
  }

  get isChainChecked(): boolean {
    return this.#isChainChecked;
  }

  isForgingSuspended(): boolean {
    return this.#isHeld;
  }

  clockMoved(): Promise<void> | undefined {
    if (!this.#isStoppedBriefly) return undefined;
    if (this.#nextMove === undefined) {
      let resolve = (): void => undefined;
      const moved = new Promise<void>((done) => (resolve = done));
      this.#nextMove = { moved, resolve };
    }
    return this.#nextMove.moved;
  }

  verifier(over: Verifier): Verifier {
    return this.#impersonation.verifier(this.#substituteKey?.verifier(over) ?? over);
  }

  wire(over: Transport): Transport {
    this.#wire = new FaultyTransport({ over, ...this.#machine, links: this.#faults.links });
    return this.#wire;
  }

  built(parts: ControlledParts): void {
    this.#parts = parts;
    // The supervisor's check of the chain counts only for the first start, because the running node changes the chain.
    this.#isChainChecked = false;
    if (this.#fork !== undefined || !this.#impersonation.isEmpty) markUnsigned(parts.store);
    const arrived = (transaction: Transaction): void =>
      this.#emit({ event: 'transaction', id: transaction.id, transaction: this.#json(transaction) });
    parts.engine.listenToTransactions(arrived);
    parts.engine.listenToCompleted(arrived);
    if (this.#fork === undefined) return;
    const enable = (): void => this.#enableForging();
    parts.engine.chain.listen({ applied: enable, reverted: enable });
  }

  /**
   * Reports to the supervisor that the node is ready. In a forked devnet, the function first enables forging for
   * delegates of the node. The caller must not call `ready` before the node runs.
   */
  ready(): void {
    this.#enableForging();
    this.#emit({ event: 'ready', state: this.state() });
  }

  /**
   * Executes a request, and returns the state of the node. After `outcome` and `close`, the result is the constant
   * `CLOSED`. Before the node is built, and after it is closed, the result of `faults` is also `CLOSED`.
   *
   * @throws ProtocolError `DEVNET_NODE_STARTING` while the node is not built or is closed. The requests `faults`,
   *   `outcome`, `close` and `open` never fail with this error. The requests `set` and `impersonate` take effect before
   *   they throw the error
   * @throws ProtocolError `DEVNET_TRANSACTION_REFUSED` if the pool refuses the transaction of a request `transaction`;
   *   `DEVNET_NODE_FLEETING` for the requests `snapshot`, `close` and `open` to a node in memory
   * @throws TransactionRejected for JSON that is not a transaction
   * @throws BlockRejected for a block that the rules refuse
   */
  async handle(request: AgentRequest): Promise<AgentState> {
    switch (request.op) {
      case 'set': {
        this.#setting = request.setting;
        this.#isHeld = request.isHeld;
        this.#isStoppedBriefly = request.isBrief === true;
        this.#moveClock();
        break;
      }
      case 'faults': {
        this.#faults = request.faults;
        this.#wire?.set(request.faults.links);
        this.#moveClock();
        if (this.#parts === undefined) return CLOSED;
        break;
      }
      case 'outcome':
        this.devnet?.ended(request.operation, request.outcome);
        return CLOSED;
      case 'state':
        break;
      case 'forge': {
        const block = await this.#engine.forging.forgeNow();
        if (block === undefined) break;
        return { ...this.state(), forged: this.#engine.chain.rules.codec.blockToJson(block) };
      }
      case 'take': {
        const { chain, importer } = this.#engine;
        for (const json of request.blocks) {
          const block = chain.rules.codec.blockFromJson(json);
          // A block that is not above the tip is skipped: the node has possibly received this block from a peer
          // already.
          if (block.height > chain.tip.header.height) await importer.import(block);
        }
        break;
      }
      case 'give':
        return { ...this.state(), blocks: this.#blocksAbove(request.aboveHeight) };
      case 'transaction':
        this.#takeIn(request.transaction);
        break;
      case 'account':
        return { ...this.state(), ...this.#accountOf(request.address) };
      case 'confirmed': {
        const isConfirmed = this.#built.store.transactionPlace(request.id) !== undefined;
        return { ...this.state(), isConfirmed };
      }
      case 'impersonate':
        // From now on, the chain can get blocks and transactions without valid signatures. `markUnsigned` therefore
        // writes a mark into the store. A node outside a devnet refuses a store with this mark. If the node is not
        // built yet, the method `built` writes the mark later.
        if (this.#parts !== undefined) markUnsigned(this.#parts.store);
        this.#impersonation.add(request.publicKeys);
        break;
      case 'snapshot': {
        const { chain, importer, pool } = this.#engine;
        await importer.idle();
        // The code below has no `await`, so the node writes nothing during the copy.
        copyState(this.#lasting.dataDirectory, request.directory);
        writePool(request.directory, pool, chain.rules.codec);
        return { ...this.state(), digest: this.#digest() };
      }
      case 'close':
        await this.#lasting.close();
        this.#parts = undefined;
        return CLOSED;
      case 'open': {
        await this.#lasting.open();
        this.#enableForging();
        const { pool } = this.#engine;
        for (const transaction of request.transactions) pool.submit(transaction);
        return { ...this.state(), digest: this.#digest() };
      }
    }
    return this.state();
  }

  state(): AgentState {
    const { chain, pool, peers } = this.#engine;
    const { id, height, timestamp } = chain.tip.header;
    const { received, validated, verified, ready } = pool.sizes();
    return {
      tip: { id, height, slot: slotAt(timestamp, chain.rules.params) },
      peers: peers.knownPeers().filter(({ state }) => state === 'connected').length,
      poolSize: received + validated + verified + ready,
    };
  }

  /** @throws ProtocolError `DEVNET_TRANSACTION_REFUSED` */
  #takeIn(json: JsonObject): void {
    const { pool, chain } = this.#engine;
    const { id, signatures } = chain.rules.codec.transactionFromJson(json);
    const before = pool.get(id);
    // The pool possibly contains an old copy of the transaction. The new copy replaces the old copy only if two
    // conditions hold: the old copy lacks signatures of group members, and the new copy has more signatures than the
    // old copy.
    if (before !== undefined && !(pool.lacksSignatures(id) && signatures.length > before.signatures.length)) return;
    pool.take([id]);
    const result = pool.submit(json);
    if (result.accepted) return;
    if (before !== undefined) pool.submit(this.#json(before));
    const reason = result.errors[0]?.message ?? result.message;
    throw new ProtocolError('DEVNET_TRANSACTION_REFUSED', { id }, `the transaction is refused: ${reason}`);
  }

  /** In a forked devnet, enables forging for those delegates of the next block's round that belong to this node. */
  #enableForging(): void {
    const fork = this.#fork;
    if (fork === undefined) return;
    const { chain, forging } = this.#engine;
    for (const publicKey of chain.rules.forgers(chain.state, chain.tip.header.height + 1)) {
      if (nodeOfDelegate(publicKey, fork.nodes) !== fork.index || forging.isEnabled(publicKey)) continue;
      forging.enable(substituteKeyOf(publicKey));
    }
  }

  #moveClock(): void {
    this.chainClock.set(skewed(this.#setting, this.#faults.skewMs));
    this.#nextMove?.resolve();
    this.#nextMove = undefined;
    const engine = this.#parts?.engine;
    // The slots that a new clock setting skips do not count as missed in `ownSlotOutcomes`, because the user chose to
    // skip these slots.
    engine?.ownSlotOutcomes.skipTo(engine.chain.currentSlot());
    engine?.forging.check();
  }

  get #engine() {
    return this.#built.engine;
  }

  get #built(): ControlledParts {
    if (this.#parts === undefined) throw new ProtocolError('DEVNET_NODE_STARTING', {}, 'the node is not up yet');
    return this.#parts;
  }

  get #lasting(): AgentHost {
    if (this.#host === undefined) throw new ProtocolError('DEVNET_NODE_FLEETING', {}, 'the node has no folder');
    return this.#host;
  }

  #blocksAbove(height: number): readonly JsonObject[] {
    const { chain } = this.#engine;
    const { store } = this.#built;
    const last = Math.min(chain.tip.header.height, height + BLOCKS_GIVEN_MAX);
    const heights = Array.from({ length: Math.max(0, last - height) }, (_, index) => height + 1 + index);
    return heights.flatMap((each) => store.block(each) ?? []).map((block) => chain.rules.codec.blockToJson(block));
  }

  #accountOf(address: string): { readonly account?: AgentAccount } {
    const account = this.#built.store.account(address);
    if (account === undefined) return {};
    const { balance, publicKey, secondPublicKey, group } = account;
    return {
      account: {
        balance: balance.toString(),
        isGroup: group !== undefined,
        ...(publicKey === undefined ? {} : { publicKey }),
        ...(secondPublicKey === undefined ? {} : { secondPublicKey }),
      },
    };
  }

  #digest(): string {
    return this.#built.store.stateDigest();
  }

  #json(transaction: Transaction) {
    return this.#engine.chain.rules.codec.transactionToJson(transaction);
  }
}
