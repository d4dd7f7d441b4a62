/**
 * Finds out which members of a multisignature group have signed a transaction in the pool. A signature does not
 * identify its signer, so the search tries the signatures with the keys of the members. A group has at most 15 members.
 * With 15 signatures that 15 members made, the search takes up to 120 signature checks. With 15 signatures that no
 * member made, the search takes 225 signature checks. The node charges the time of the checks to the verification
 * budget of the HTTP client that asks for the signers. For each request of a client, the node makes only a few checks
 * in each iteration of the event loop.
 */

import type { Payer } from '../engine/pool/verification-budget.ts';
import { LruMap } from '../primitives/bounded.ts';
import { ProtocolError } from '../primitives/errors.ts';
import type { GroupSigners } from '../ports/node-api.ts';
import type { Rules } from '../protocol/rules.ts';
import type { StateReader } from '../protocol/state.ts';
import type { PublicKey, Signature, SignatureOracle, Transaction } from '../protocol/types.ts';

/**
 * Maximum number of finished and unfinished searches in the cache. A search finds out which members of a multisignature
 * group have signed a transaction. By default, a queue of the pool contains at most 1,000 transactions
 * (`pool.transactionsPerQueueMax`), so the cache has room for one search per transaction of one queue.
 */
const REMEMBERED_MAX = 1_000;
/**
 * Maximum number of signature checks that one request makes in one iteration of the event loop. These checks take about
 * 1 ms with the native library (`sodium`), and about 11 ms in JavaScript (see `CHECK_MS` and `HANDLING_MS`).
 */
const CHECKS_PER_TURN = 8;
/**
 * Time, in milliseconds, that a check takes to make and hash the bytes that the signature covers. The node charges this
 * time for every check, also if the signature cache has the result of the check. If the cache does not have the result,
 * the node charges the time for verifying the signature in addition.
 */
const HANDLING_MS = 0.05;

export interface GroupSignersParts {
  readonly rules: Pick<Rules, 'addMemberSignature'>;
  /** Returns the state at the tip. */
  readonly state: () => StateReader;
  readonly verify: SignatureOracle;
  /** See `Verifier.spentMs`. */
  readonly spentMs: () => number;
  /** Yields to the event loop, so that other work can run. */
  readonly pause: () => Promise<void>;
}

/**
 * Finds the signers of a transaction. The result is undefined when the transaction needs no signatures of members. The
 * argument `payer` charges the signature checks to the verification budget of the HTTP client that asks for the
 * signers. This budget limits the time for signature checks. The promise rejects with ProtocolError
 * `VERIFICATION_LIMIT` if the search needs signature checks and the budget is used up.
 */
export type FindSigners = (transaction: Transaction, payer: Payer) => Promise<GroupSigners | undefined>;

/**
 * Creates the function that finds the signers of transactions. A cache keeps one search for each transaction, even
 * after the search has ended, so that later requests of all clients can use this search. The function begins a new
 * search when the signatures or the group of the transaction have changed.
 *
 * @returns a function that rejects with ProtocolError `VERIFICATION_LIMIT` when signature checks are needed and the
 *   verification budget of the HTTP client is used up
 */
export function createGroupSigners(parts: GroupSignersParts): FindSigners {
  const known = new LruMap<string, Search>(REMEMBERED_MAX);

  const searchFor = (transaction: Transaction, group: Group): Search => {
    const before = known.get(transaction.id);
    // While a transaction waits in the pool, its group and its signatures can change. In this case, the cached search
    // is out of date.
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
      // During a call of `pause`, the transaction can get another signature, and the request of another client can
      // replace the search in the cache. Each request therefore keeps a reference to its own search.
      if (search?.isOf(transaction, group) !== true) search = searchFor(transaction, group);
      for (let checks = 0; checks < CHECKS_PER_TURN && search.signers === undefined; checks += 1) {
        if (!payer.mayAsk()) throw tooManyChecks();
        const beforeMs = parts.spentMs();
        search.step(parts);
        // A client that asks for signers does nothing wrong, so the checks must not use up the `waste` bucket of the
        // client. The time of the checks is therefore added to the second argument `handlingMs`. `charge` does not take
        // the time in this argument from the `waste` bucket (see `Payer`). The first argument of `charge` is a
        // function. If this function made the signature checks, `charge` would take their time from the `waste` bucket.
        // Therefore the function does no work.
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

/**
 * A transaction that registers a group needs the signatures of all members, even if the group requires fewer signatures
 * for later transactions.
 */
function groupOf({ payload, senderId }: Transaction, state: StateReader): Group | undefined {
  if (payload.kind === 'multisignature') {
    const members = payload.keysgroup.map((key) => key.slice(1).toLowerCase());
    return { min: members.length, members };
  }
  const group = state.account(senderId)?.group;
  return group === undefined || group.members.length === 0 ? undefined : { min: group.min, members: group.members };
}

/**
 * Finds for each member of the group, in order, the signature that the member made. `#unassigned` contains the
 * signatures for which no signer has been found yet. One step checks one of these signatures with the key of one
 * member.
 */
class Search {
  /** The result; undefined until the search ends. */
  signers: GroupSigners | undefined;
  readonly #transaction: Transaction;
  readonly #group: Group;
  /**
   * The transaction without signatures. The search checks each signature with this copy. With the transaction itself,
   * the rules would refuse each signature, because the transaction already has it.
   */
  readonly #bare: Transaction;
  readonly #unassigned: Signature[];
  readonly #hasSigned: boolean[] = [];
  /**
   * Index in `#unassigned` of the next signature to try. The search tries this signature with the key of the first
   * member for whom `#hasSigned` has no result yet.
   */
  #at = 0;

  constructor(transaction: Transaction, group: Group) {
    this.#transaction = transaction;
    this.#group = group;
    this.#bare = { ...transaction, signatures: [] };
    this.#unassigned = [...new Set(transaction.signatures)];
    this.#skip();
  }

  isOf({ signatures }: Transaction, { min, members }: Group): boolean {
    const same = (some: readonly string[], others: readonly string[]): boolean =>
      some === others || (some.length === others.length && some.every((each, at) => each === others[at]));
    return (
      min === this.#group.min && same(members, this.#group.members) && same(signatures, this.#transaction.signatures)
    );
  }

  /** Tries the next pair of a member and a signature. The caller calls `step` only while `signers` is undefined. */
  step({ rules, state, verify }: GroupSignersParts): void {
    const publicKey = this.#group.members[this.#hasSigned.length];
    const signature = this.#unassigned[this.#at];
    if (publicKey === undefined || signature === undefined) return;
    const given = { transactionId: this.#transaction.id, publicKey, signature };
    if ('errors' in rules.addMemberSignature(state(), this.#bare, given, verify)) {
      this.#at += 1;
    } else {
      this.#unassigned.splice(this.#at, 1);
      this.#hasSigned.push(true);
      this.#at = 0;
    }
    this.#skip();
  }

  /**
   * Skips each member for whom all signatures in `#unassigned` were tried, because such a member has not signed. When
   * no member is left, the method sets `signers`.
   */
  #skip(): void {
    const { min, members } = this.#group;
    while (this.#hasSigned.length < members.length && this.#at >= this.#unassigned.length) {
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

/**
 * Makes the error for a client whose verification budget is used up. If this client sends a new transaction, it gets
 * the same error.
 */
function tooManyChecks(): ProtocolError {
  return new ProtocolError('VERIFICATION_LIMIT', {}, 'Too many signatures to verify, please try again later.');
}
