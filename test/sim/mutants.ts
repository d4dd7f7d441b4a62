/**
 * A list of mutants for mutation testing. A mutant is a copy of the compiled code with one small, realistic defect,
 * which the tests should detect. The defect replaces a piece of code (`from`) that occurs exactly once in its file.
 */

export interface Mutant {
  readonly name: string;
  /** Path below `dist/src`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Set only for a mutant that no test detects. It gives the reason why no test can detect the defect. */
  readonly reason?: string;
}

const BFT = 'protocol/gen3/bft.js';
const FORK_CHOICE = 'protocol/gen3/fork-choice.js';
const CHAIN = 'engine/chain.js';
const COMMIT = 'engine/commit.js';

export const MUTANTS: readonly Mutant[] = [
  // ---- finality -----------------------------------------------------------------------------------------------------
  {
    name: '67 of 101 votes are enough for finality',
    file: BFT,
    from: 'Math.ceil(2 * delegates / 3)',
    to: 'Math.floor(2 * delegates / 3)',
  },
  {
    name: 'finality needs one precommit more than the threshold',
    file: BFT,
    from: 'if (votes >= limits.threshold)\n            next.finalized',
    to: 'if (votes > limits.threshold)\n            next.finalized',
  },
  {
    name: 'the votes of a header count for one height too many',
    file: BFT,
    from: 'range: 3 * delegates - 1',
    to: 'range: 3 * delegates',
  },
  {
    name: 'a delegate prevotes the same height twice',
    file: BFT,
    from: 'lastPrevote + 1, header.height',
    to: '0, header.height',
  },
  {
    name: 'a delegate precommits blocks of a branch that it has left',
    file: BFT,
    from: 'minPrecommitHeight(next, header, limits), lastPrecommit + 1',
    to: 'lastPrecommit + 1',
  },
  {
    name: 'a header with a wrong `maxHeightPrevoted` is accepted',
    file: BFT,
    from: 'header.maxHeightPrevoted !== bftState.maxPrevoted',
    to: 'false',
  },
  {
    name: 'two headers of one delegate at one height do not contradict each other',
    file: BFT,
    from: 'earlier.height >= later.height',
    to: 'earlier.height > later.height',
  },
  {
    name: 'a header may state a `maxHeightPreviouslyForged` that is too low',
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
    name: 'a revert also reverts the finalized height',
    file: COMMIT,
    from: 'writer.setNote(FINALIZED_NOTE, note);',
    to: '',
  },
  {
    name: 'the node may revert a final block',
    file: CHAIN,
    from: 'if (commonHeight < this.#finalizedHeight) {',
    to: 'if (false) {',
  },
  // ---- fork choice --------------------------------------------------------------------------------------------------
  {
    name: 'the next block may have any parent',
    file: FORK_CHOICE,
    from: '&& tip.id === received.previousBlockId;',
    to: ';',
  },
  {
    name: 'the node does not detect double forging',
    file: FORK_CHOICE,
    from: 'return isDuplicate(tip, received) && tip.generatorPublicKey === received.generatorPublicKey;',
    to: 'return false;',
  },
  {
    name: 'in a tie, a block of an earlier slot replaces the tip',
    file: FORK_CHOICE,
    from: 'slotAt(tip.header.timestamp, params) < slotAt(received.header.timestamp, params)',
    to: 'slotAt(tip.header.timestamp, params) > slotAt(received.header.timestamp, params)',
  },
  {
    name: 'in a tie, a block replaces a tip that arrived in its own slot',
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
    name: 'fork choice compares length before prevotes',
    file: FORK_CHOICE,
    from: 'return tip.maxHeightPrevoted < received.maxHeightPrevoted || tip.maxHeightPrevoted === received.maxHeightPrevoted && tip.height < received.height;',
    to: 'return tip.height < received.height;',
  },
  {
    name: 'the node ignores a better chain',
    file: FORK_CHOICE,
    from: "return 'betterChain';",
    to: "return 'discard';",
  },
  // ---- rounds and slots ---------------------------------------------------------------------------------------------
  {
    name: 'rounds end one block late',
    file: 'protocol/rounds.js',
    from: 'height % activeDelegates === 0',
    to: 'height % activeDelegates === 1',
  },
  {
    name: 'the remainder of the fees is lost',
    file: 'protocol/payout.js',
    from: '(index === headers.length - 1 ? rest : 0n)',
    to: '0n',
  },
  {
    name: 'the earnings of a delegate do not raise vote weights',
    file: 'protocol/payout.js',
    from: 'addVoteWeight(state, vote, earned);',
    to: ';',
  },
  {
    name: 'an unvote does not lower vote weights',
    file: 'protocol/tx/vote-weight.js',
    from: 'add(publicKey, -sender.balance);',
    to: ';',
  },
  {
    name: 'a block may arrive one slot early',
    file: 'protocol/block/apply.js',
    from: 'slot > currentSlot ||',
    to: 'slot > currentSlot + 1 ||',
  },
  {
    name: 'any delegate may forge in any slot',
    file: 'protocol/block/apply.js',
    from: 'if (owner === block.generatorPublicKey)',
    to: 'if (owner !== undefined)',
  },
  {
    name: 'a block may claim any reward',
    file: 'protocol/block/apply.js',
    from: 'if (block.reward === expected ||',
    to: 'if (block.reward >= 0n ||',
  },
  // ---- store --------------------------------------------------------------------------------------------------------
  {
    name: 'undo does not revert the index of transactions',
    file: 'store/index/transaction-lists.js',
    from: 'keys.remove(TABLES.transactionIds.key(transaction.id));',
    to: ';',
  },
  {
    name: 'undo does not revert the index of blocks',
    file: 'store/chain/block-tables.js',
    from: 'keys.remove(TABLES.blockIds.key(block.id));',
    to: ';',
  },
  {
    name: 'undo does not revert the BFT state in memory',
    file: 'store/chain/state-tables.js',
    from: 'this.#bftState = before === void 0 ? void 0 : Buffer.from(before);',
    to: ';',
  },
  {
    name: 'undo does not revert a delegate list in memory',
    file: 'store/chain/state-tables.js',
    from: 'this.#roundLists.delete(TABLES.roundLists.read(key)[0]);',
    to: ';',
  },
  {
    name: 'a failed database transaction leaves the new tip in memory',
    file: 'store/chain/chain-store.js',
    from: 'this.#tip = tip;\n            this.#headers.clear();',
    to: 'this.#headers.clear();',
  },
  {
    name: 'the writes of a failed database transaction stay on the disk',
    file: 'store/disk/memory.js',
    from: 'for (const { key, before } of log.reverse())',
    to: 'for (const { key, before } of [])',
  },
  {
    name: 'the node deletes one undo record too many',
    file: COMMIT,
    from: 'return finalized > 0 ? finalized :',
    to: 'return finalized > 0 ? finalized + 1 :',
  },
  {
    name: 'a commit does not write the undo record of its block',
    file: 'store/chain/undo-records.js',
    from: 'writer.put(key, withChecksum(key, encodeUndo(overwritten)));',
    to: ';',
  },
  {
    name: 'undo records of a failed commit remain',
    file: 'store/chain/chain-store.js',
    from: 'this.#state.rollback(bftState);\n            this.#undo.rollback();',
    to: 'this.#state.rollback(bftState);',
  },
  // ---- forging, gossip, synchronisation -----------------------------------------------------------------------------
  {
    name: 'the node does not write the signing journal',
    file: 'engine/forge/block-builder.js',
    from: 'journal.record(publicKey, signedHeaderOf(block));',
    to: ';',
  },
  {
    name: 'the node writes the signing journal after it has sent the block',
    file: 'engine/forge/block-builder.js',
    from: 'journal.record(publicKey, signedHeaderOf(block));',
    to: 'queueMicrotask(() => queueMicrotask(() => journal.record(publicKey, signedHeaderOf(block))));',
  },
  {
    name: 'the node does not flush the signing journal',
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
    name: 'a newer watermark is ignored',
    file: 'engine/forge/watermarked-journal.js',
    from: 'if (watermark !== void 0 && last !== void 0 && isLater(watermark, last))',
    to: 'if (false)',
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
    from: 'fingerprint !== void 0 && (!fingerprint.isSameFile || !hasNamedLine)',
    to: 'false',
  },
  {
    name: 'a watermark without a record is ignored',
    file: 'engine/forge/double-forging-guard.js',
    from: '!isOfChain(this.#dependencies.chain.state, recalled)',
    to: 'true',
  },
  {
    name: 'the times of the next check are computed from another time than that of the last check',
    file: 'engine/forge/scheduler.js',
    from: 'this.#arm(checkedMs);',
    to: 'this.#arm(this.#dependencies.clock.nowMs());',
  },
  {
    name: 'the node forges again in the slot of the tip',
    file: 'engine/forge/block-builder.js',
    from: 'if (slot <= tipSlot)',
    to: 'if (slot < tipSlot)',
    reason: 'a block is rehearsed before it is signed, and the rehearsal refuses a slot that is taken',
  },
  {
    name: 'the node drops a whole branch because of its invalid last block',
    file: CHAIN,
    from: 'error instanceof BranchRejected ? branch.slice(0, branch.indexOf(error.block)) : []',
    to: '[]',
  },
  {
    name: 'the node applies the valid part of a branch although the part is not better',
    file: CHAIN,
    from: 'if (this.prefers(sound.at(-1)))',
    to: 'if (sound.length > 0)',
  },
  {
    name: 'an answer with blocks begins with the named block, not with the next one',
    file: 'engine/answer-requests.js',
    from: 'store.block(height + answer.length + 1)',
    to: 'store.block(height + answer.length)',
  },
  {
    name: 'the node answers with the lowest common block instead of the highest',
    file: 'engine/answer-requests.js',
    from: 'highest = Math.max(highest, store.heightOf(id) ?? 0)',
    to: 'highest = highest || (store.heightOf(id) ?? 0)',
  },
  {
    name: 'the engine does not learn that a sync has ended',
    file: 'engine/sync/synchronizer.js',
    from: 'this.#onSyncEnd();',
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
    name: 'the node starts a sync for a tip that it has not checked',
    file: 'engine/block-importer.js',
    from: 'rules.screenBlock(block, verify);\n                this.#refuseFuture(block);',
    to: '',
  },
  // ---- moves of the signing record ----------------------------------------------------------------------------------
  {
    name: 'a node writes no watermark',
    file: 'engine/forge/watermarked-journal.js',
    from: 'this.#watermarks?.write(publicKey, watermarkOf(header, this.#firstBlockId()));',
    to: ';',
  },
  {
    name: 'a node signs although another node of its machine has signed since',
    file: 'engine/forge/watermarked-journal.js',
    from: 'this.#refuseOtherSigner(publicKey);',
    to: ';',
  },
  {
    name: 'a watermark from a backup counts as the last one',
    file: 'node/watermark-files.js',
    from: 'isCopied = !isSameFile(descriptor, entry)',
    to: 'isCopied = false',
  },
  {
    name: 'a delegate signs in a folder from which its record was exported',
    file: 'engine/forge/double-forging-guard.js',
    from: 'if (movedAtS !== void 0) {',
    to: 'if (false) {',
  },
  {
    name: 'a delegate without a complete record does not wait for finality',
    file: 'engine/forge/hand-overs.js',
    from: 'if (foreign === void 0 && !isIncomplete(journal, publicKey)) return void 0;',
    to: 'return void 0;',
  },
  {
    name: 'a block that another node signed begins no wait',
    file: 'engine/forge/waits.js',
    from: 'if (last === void 0 && heldSinceS === void 0) return true;',
    to: 'return true;',
  },
  {
    name: 'a block of another node that fork choice discards begins no wait',
    file: 'engine/block-importer.js',
    from: 'case "discard":\n        unapplied?.note(block);',
    to: 'case "discard":',
  },
  {
    name: 'a block that a delegate signed in another network begins a wait',
    file: 'engine/forge/unapplied-blocks.js',
    from: 'if (!this.#isLinked(block) || ',
    to: 'if (',
  },
  {
    name: 'both nodes that signed in one slot wait',
    file: 'engine/forge/unapplied-waits.js',
    from: 'if (!this.#isOtherToWait(block))',
    to: 'if (true)',
  },
  {
    name: 'the hand-over does not cover the slot left unused',
    file: 'engine/forge/waits.js',
    from: 'if (hasFinality && (journal.heldSinceS(publicKey) ?? 0) < endS)',
    to: 'if (false)',
  },
  {
    name: 'an incomplete last line of the journal stays',
    file: 'node/journal-content.js',
    from: 'if (whole.bytes < content.length) writeTruncated(file, whole.bytes);',
    to: ';',
  },
  {
    name: 'the import of a copy begins no wait',
    file: 'node/signing-record.js',
    from: 'const isDoubtful = record.isCopy || isOfCopy || journal.isCopied && !isNewest;',
    to: 'const isDoubtful = false;',
  },
  {
    name: 'an import does not mark the file of the record',
    file: 'node/record-import.js',
    from: 'writeInstead(file, textOfRecord({ ...record, isCopy: true }));',
    to: ';',
  },
  {
    name: 'an export with --keep makes a record that is no copy',
    file: 'node/record-export.js',
    from: 'isCopy: isKept || doubt !== ""',
    to: 'isCopy: doubt !== ""',
  },
  {
    name: 'an export does not end signing',
    file: 'node/record-export.js',
    from: 'moveRecord(journal, record);',
    to: ';',
  },
  {
    name: 'a second export of a record makes no copy',
    file: 'node/record-export.js',
    from: 'if (delegates.some((publicKey) => journal.movedAtS(publicKey) !== void 0))',
    to: 'if (false)',
  },
  {
    name: 'the wait of an adopted record never ends',
    file: 'node/journal-lines.js',
    from: '{ delegate, heldSinceS: 0 }',
    to: '{ delegate, heldSinceS: 9e9 }',
  },
  {
    name: 'a delegate signs a second block for a slot',
    file: 'protocol/gen3/forge.js',
    from: 'slotAt(previous.timestamp, params) === slot ?',
    to: 'false ?',
  },
];
