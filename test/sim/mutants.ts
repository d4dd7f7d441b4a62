/** Small, realistic faults: each a piece of compiled code that occurs once, and what stands there instead. */

export interface Mutant {
  readonly name: string;
  /** Below `dist/src`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Why nothing can notice it, of one that survives. */
  readonly reason?: string;
}

const BFT = 'protocol/gen3/bft.js';
const FORK_CHOICE = 'protocol/gen3/fork-choice.js';
const CHAIN = 'engine/chain.js';
const COMMIT = 'engine/commit.js';

export const MUTANTS: readonly Mutant[] = [
  // ---- finality ------------------------------------------------------------------------------------------------------
  {
    name: 'sixty-seven votes are enough',
    file: BFT,
    from: 'Math.ceil(2 * delegates / 3)',
    to: 'Math.floor(2 * delegates / 3)',
  },
  {
    name: 'one precommit more than the threshold is needed',
    file: BFT,
    from: 'if (votes >= limits.threshold)\n            next.finalized',
    to: 'if (votes > limits.threshold)\n            next.finalized',
  },
  {
    name: 'votes reach a height further back',
    file: BFT,
    from: 'range: 3 * delegates - 1',
    to: 'range: 3 * delegates',
  },
  {
    name: 'a delegate prevotes a height twice',
    file: BFT,
    from: 'lastPrevote + 1, header.height',
    to: '0, header.height',
  },
  {
    name: 'a delegate precommits what it left',
    file: BFT,
    from: 'minPrecommitHeight(next, header, limits), lastPrecommit + 1',
    to: 'lastPrecommit + 1',
  },
  {
    name: 'headers with a wrong prevoted height pass',
    file: BFT,
    from: 'header.maxHeightPrevoted !== ledger.maxPrevoted',
    to: 'false',
  },
  {
    name: 'a second header at one height does not contradict',
    file: BFT,
    from: 'earlier.height >= later.height',
    to: 'earlier.height > later.height',
  },
  {
    name: 'a header may skip over an earlier one',
    file: BFT,
    from: 'earlier.height > later.maxHeightPreviouslyForged',
    to: 'false',
  },
  {
    name: 'every header earns the full reward',
    file: BFT,
    from: 'if (previous === 0)\n        return true;',
    to: 'if (previous >= 0)\n        return true;',
  },
  {
    name: 'what was final is forgotten when blocks are reverted',
    file: COMMIT,
    from: 'writer.setNote(FINALIZED_NOTE, note);',
    to: '',
  },
  {
    name: 'a final block may be switched away',
    file: CHAIN,
    from: 'if (commonHeight < this.#finalizedHeight) {',
    to: 'if (false) {',
  },
  // ---- fork choice ---------------------------------------------------------------------------------------------------
  {
    name: 'the next block may have any parent',
    file: FORK_CHOICE,
    from: '&& tip.id === received.previousBlockId;',
    to: ';',
  },
  {
    name: 'double forging is not seen',
    file: FORK_CHOICE,
    from: 'return isDuplicate(tip, received) && tip.generatorPublicKey === received.generatorPublicKey;',
    to: 'return false;',
  },
  {
    name: 'a tie goes to the earlier slot',
    file: FORK_CHOICE,
    from: 'slotAt(tip.header.timestamp, params) < slotAt(received.header.timestamp, params)',
    to: 'slotAt(tip.header.timestamp, params) > slotAt(received.header.timestamp, params)',
  },
  {
    name: 'a tie is broken against a punctual tip',
    file: FORK_CHOICE,
    from: '!wasReceivedInSlot(tip, params)',
    to: 'true',
  },
  {
    name: 'an equal chain counts as better',
    file: FORK_CHOICE,
    from: 'tip.height < received.height',
    to: 'tip.height <= received.height',
  },
  {
    name: 'length beats prevotes',
    file: FORK_CHOICE,
    from: 'return tip.maxHeightPrevoted < received.maxHeightPrevoted || tip.maxHeightPrevoted === received.maxHeightPrevoted && tip.height < received.height;',
    to: 'return tip.height < received.height;',
  },
  {
    name: 'a better chain is discarded',
    file: FORK_CHOICE,
    from: "return 'betterChain';",
    to: "return 'discard';",
  },
  // ---- rounds and slots ----------------------------------------------------------------------------------------------
  {
    name: 'rounds end a block late',
    file: 'protocol/rounds.js',
    from: 'height % activeDelegates === 0',
    to: 'height % activeDelegates === 1',
  },
  {
    name: 'the remainder of the fees is dropped',
    file: 'protocol/payout.js',
    from: '(index === headers.length - 1 ? rest : 0n)',
    to: '0n',
  },
  {
    name: 'earnings carry no vote weight',
    file: 'protocol/payout.js',
    from: 'addVoteWeight(state, vote, earned);',
    to: ';',
  },
  {
    name: 'an unvote takes no weight away',
    file: 'protocol/tx/vote-weight.js',
    from: 'add(publicKey, -sender.balance);',
    to: ';',
  },
  {
    name: 'a block may come a slot early',
    file: 'protocol/block/apply.js',
    from: 'slot > currentSlot ||',
    to: 'slot > currentSlot + 1 ||',
  },
  {
    name: 'anybody may forge in any slot',
    file: 'protocol/block/apply.js',
    from: 'if (owner === block.generatorPublicKey)',
    to: 'if (owner !== undefined)',
  },
  {
    name: 'any reward is paid',
    file: 'protocol/block/apply.js',
    from: 'if (block.reward === expected ||',
    to: 'if (block.reward >= 0n ||',
  },
  // ---- store ---------------------------------------------------------------------------------------------------------
  {
    name: 'undo forgets the index of transactions',
    file: 'store/index/transaction-lists.js',
    from: 'keys.remove(TABLES.transactionIds.key(transaction.id));',
    to: ';',
  },
  {
    name: 'undo forgets the index of blocks',
    file: 'store/chain/block-tables.js',
    from: 'keys.remove(TABLES.blockIds.key(block.id));',
    to: ';',
  },
  {
    name: 'undo leaves the ledger in memory',
    file: 'store/chain/state-tables.js',
    from: 'this.#ledger = before === void 0 ? void 0 : Buffer.from(before);',
    to: ';',
  },
  {
    name: 'undo leaves a list of delegates in memory',
    file: 'store/chain/state-tables.js',
    from: 'this.#roundLists.delete(TABLES.roundLists.read(key)[0]);',
    to: ';',
  },
  {
    name: 'a failed transaction leaves the new tip in memory',
    file: 'store/chain/chain-store.js',
    from: 'this.#tip = tip;\n            this.#headers.clear();',
    to: 'this.#headers.clear();',
  },
  {
    name: 'a failed transaction is kept on the disk',
    file: 'store/disk/memory.js',
    from: 'for (const { key, before } of log.reverse())',
    to: 'for (const { key, before } of [])',
  },
  {
    name: 'one undo record too many is forgotten',
    file: COMMIT,
    from: 'return finalized > 0 ? finalized :',
    to: 'return finalized > 0 ? finalized + 1 :',
  },
  {
    name: 'undo records that outlive a commit are not written',
    file: 'store/chain/undo-records.js',
    from: 'writer.put(key, sealed(key, encodeUndo(overwritten)));',
    to: ';',
  },
  {
    name: 'undo records of a failed commit are kept',
    file: 'store/chain/chain-store.js',
    from: 'this.#state.forget(ledger);\n            this.#undo.drop();',
    to: 'this.#state.forget(ledger);',
  },
  // ---- forging, gossip, synchronisation --------------------------------------------------------------------------------
  {
    name: 'the journal is not written',
    file: 'engine/forge/scheduler.js',
    from: 'journal.record(publicKey, signedHeaderOf(block));',
    to: ';',
  },
  {
    name: 'the journal is written after the block has left',
    file: 'engine/forge/scheduler.js',
    from: 'journal.record(publicKey, signedHeaderOf(block));',
    to: 'queueMicrotask(() => queueMicrotask(() => journal.record(publicKey, signedHeaderOf(block))));',
  },
  {
    name: 'the journal is not flushed',
    file: 'node/journal-file.js',
    from: 'writeAll(this.#descriptor, lines);\n            fsyncSync(this.#descriptor);',
    to: 'writeAll(this.#descriptor, lines);',
  },
  {
    name: "the tip of an old folder counts as the network's",
    file: 'engine/forge/tip-check.js',
    from: 'if (this.#isShown) return void 0;',
    to: 'return void 0;',
  },
  {
    name: 'a watermark that tells of more is passed over',
    file: 'engine/forge/watermarked-journal.js',
    from: 'if (watermark !== void 0 && isLater(watermark, last)) {',
    to: 'if (false) {',
  },
  {
    name: 'a copied journal counts as whole',
    file: 'engine/forge/watermarked-journal.js',
    from: 'journal.isCopied && ',
    to: 'false && ',
  },
  {
    name: 'a journal that was put back into its file counts as whole',
    file: 'node/journal-file.js',
    from: 'marker !== void 0 && (!marker.isInPlace || !hasMarked)',
    to: 'false',
  },
  {
    name: 'a watermark without a record is passed over',
    file: 'engine/forge/guard.js',
    from: '!this.#isOfThisChain(recalled)',
    to: 'true',
  },
  {
    name: 'moments are reckoned from another time than that of the look',
    file: 'engine/forge/scheduler.js',
    from: 'this.#arm(lookedMs);',
    to: 'this.#arm(this.#dependencies.clock.nowMs());',
  },
  {
    name: 'the slot of the tip is filled again',
    file: 'engine/forge/scheduler.js',
    from: 'if (slot <= tipSlot)',
    to: 'if (slot < tipSlot)',
    reason: 'a block is rehearsed before it is signed, and the rehearsal refuses a slot that is taken',
  },
  {
    name: 'a branch with a bad end is dropped whole',
    file: CHAIN,
    from: 'error instanceof BranchRejected ? branch.slice(0, branch.indexOf(error.block)) : []',
    to: '[]',
  },
  {
    name: 'the sound part of a bad branch is taken though it is no better',
    file: CHAIN,
    from: 'if (this.prefers(sound.at(-1)))',
    to: 'if (sound.length > 0)',
  },
  {
    name: 'blocks are served from the one that was named',
    file: 'engine/serve.js',
    from: 'store.block(height + answer.length + 1)',
    to: 'store.block(height + answer.length)',
  },
  {
    name: 'the lowest common block is served',
    file: 'engine/serve.js',
    from: 'highest = Math.max(highest, store.heightOf(id) ?? 0)',
    to: 'highest = highest || (store.heightOf(id) ?? 0)',
  },
  {
    name: 'nobody is told what a download has brought',
    file: 'engine/sync/synchronizer.js',
    from: 'this.#ended();',
    to: ';',
  },
  {
    name: 'announcements are as frequent as those of generation 2',
    file: 'engine/gossip.js',
    from: 'return rateOf(this.#dependencies.generation, kind).own;',
    to: 'return { burst: 1, everyMs: 1000 };',
  },
  {
    name: 'claims of one signer are waited for again and again',
    file: 'engine/sync/claims.js',
    from: 'if (this.#waitedFor.get(signer) === round())',
    to: 'if (false)',
  },
  {
    name: 'a bait is followed unread',
    file: 'engine/block-importer.js',
    from: 'rules.screenBlock(block, verify);\n                this.#refuseFuture(block);',
    to: '',
  },
];
