/**
 * The members of a group that have signed a waiting transaction. Signatures do not say whose they are: each is tried with the
 * members, which takes up to 210 checks for a full group, and more for copies with junk. The checks are charged to the client
 * that asks, as those of what clients hand in are, and are done a few in a turn of the event loop.
 */

import type { Payer } from '../engine/pool/verification-budget.ts';
import { LruMap } from '../primitives/bounded.ts';
import { ProtocolError } from '../primitives/errors.ts';
import type { GroupSigners } from '../ports/node-api.ts';
import type { Rules } from '../protocol/rules.ts';
import type { StateReader } from '../protocol/state.ts';
import type { PublicKey, Signature, SignatureOracle, Transaction } from '../protocol/types.ts';

/** Searches that are remembered, finished or not: as many as transactions may wait in a queue of the pool. */
const REMEMBERED_MAX = 1_000;
/** Checks in a turn of the event loop: 2 ms with the native back end, 40 ms with the portable one. */
const CHECKS_PER_TURN = 8;
/** Time of a check besides the signature: to make and hash the signed bytes. It is charged even if the cache has the result. */
const HANDLING_MS = 0.05;

export interface GroupSignersParts {
  readonly rules: Pick<Rules, 'addMemberSignature'>;
  /** At the tip. */
  readonly state: () => StateReader;
  readonly verify: SignatureOracle;
  /** See `Verifier.spentMs`. */
  readonly spentMs: () => number;
  /** Lets other work have its turn. */
  readonly pause: () => Promise<void>;
}

/** Tells the signers of a transaction; undefined for one that no group signs. Rejects as `createGroupSigners` says. */
export type TellSigners = (transaction: Transaction, payer: Payer) => Promise<GroupSigners | undefined>;

/**
 * A client that has used up its budget is refused, and what was found until then is kept: as long as no signature is added, no
 * pair of member and signature is tried twice, however many ask.
 *
 * @returns rejects with ProtocolError `VERIFICATION_LIMIT` when checks are needed and the payer may ask for no more
 */
export function createGroupSigners(parts: GroupSignersParts): TellSigners {
  const known = new LruMap<string, Search>(REMEMBERED_MAX);

  const searchFor = (transaction: Transaction, group: Group): Search => {
    const before = known.get(transaction.id);
    // A group may change under a transaction that waits, and so may its signatures.
    if (before?.isOf(transaction, group) === true) return before;
    const search = new Search(transaction, group);
    known.set(transaction.id, search);
    return search;
  };

  return async (transaction, payer) => {
    let search: Search | undefined;
    for (;;) {
      const group = groupOf(transaction, parts.state());
      if (group === undefined) return undefined;
      // Another client may ask meanwhile of the transaction with one signature more: neither takes the search from the other.
      if (search?.isOf(transaction, group) !== true) search = searchFor(transaction, group);
      for (let checks = 0; checks < CHECKS_PER_TURN && search.signers === undefined; checks += 1) {
        if (!payer.mayAsk()) throw tooManyChecks();
        const beforeMs = parts.spentMs();
        search.step(parts);
        // To ask who has signed is no waste: it must not count against what the same client hands in.
        payer.charge(() => undefined, parts.spentMs() - beforeMs + HANDLING_MS);
      }
      if (search.signers !== undefined) return search.signers;
      await parts.pause();
    }
  };
}

interface Group {
  readonly min: number;
  readonly members: readonly PublicKey[];
}

/** A registration needs all of its members, whatever it says that its transactions will need. */
function groupOf({ payload, senderId }: Transaction, state: StateReader): Group | undefined {
  if (payload.kind === 'multisignature') {
    const members = payload.keysgroup.map((key) => key.slice(1).toLowerCase());
    return { min: members.length, members };
  }
  const group = state.account(senderId)?.group;
  return group === undefined || group.members.length === 0 ? undefined : { min: group.min, members: group.members };
}

/** Tries the members in their order with the signatures that are left, one pair at a time. */
class Search {
  /** When all pairs were tried. */
  signers: GroupSigners | undefined;
  readonly #transaction: Transaction;
  readonly #group: Group;
  /** The transaction without signatures: the rules refuse one that it has already. */
  readonly #bare: Transaction;
  readonly #unclaimed: Signature[];
  readonly #hasSigned: boolean[] = [];
  /** The next signature for the next member. */
  #at = 0;

  constructor(transaction: Transaction, group: Group) {
    this.#transaction = transaction;
    this.#group = group;
    this.#bare = { ...transaction, signatures: [] };
    this.#unclaimed = [...new Set(transaction.signatures)];
    this.#skip();
  }

  isOf({ signatures }: Transaction, { min, members }: Group): boolean {
    const same = (some: readonly string[], others: readonly string[]): boolean =>
      some === others || (some.length === others.length && some.every((each, at) => each === others[at]));
    return (
      min === this.#group.min && same(members, this.#group.members) && same(signatures, this.#transaction.signatures)
    );
  }

  /** Tries the next pair. Called only while `signers` is undefined. */
  step({ rules, state, verify }: GroupSignersParts): void {
    const publicKey = this.#group.members[this.#hasSigned.length];
    const signature = this.#unclaimed[this.#at];
    if (publicKey === undefined || signature === undefined) return;
    const given = { transactionId: this.#transaction.id, publicKey, signature };
    if ('errors' in rules.addMemberSignature(state(), this.#bare, given, verify)) {
      this.#at += 1;
    } else {
      this.#unclaimed.splice(this.#at, 1);
      this.#hasSigned.push(true);
      this.#at = 0;
    }
    this.#skip();
  }

  /** Passes the members for whom no signature is left, and ends behind the last. */
  #skip(): void {
    const { min, members } = this.#group;
    while (this.#hasSigned.length < members.length && this.#at >= this.#unclaimed.length) {
      this.#hasSigned.push(false);
      this.#at = 0;
    }
    if (this.#hasSigned.length < members.length) return;
    this.signers = {
      min,
      members: members.map((publicKey, at) => ({ publicKey, hasSigned: this.#hasSigned[at] === true })),
    };
  }
}

/** The sentence that clients know from what they hand in. */
function tooManyChecks(): ProtocolError {
  return new ProtocolError('VERIFICATION_LIMIT', {}, 'Too many signatures to verify, please try again later.');
}
