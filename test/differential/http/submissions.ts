/** Valid and mutated requests that submit transactions or signatures, or that switch forging on or off. */

import type { RandomBelow } from '../../fuzz/mutate.ts';
import type { Untyped } from '../../support/untyped.ts';
import { mutate, pick, textOf } from '../mutations.ts';
import type { HttpLab } from './lab.ts';
import type { HttpRequest } from './queries.ts';
import { pickSeldom } from './seldom.ts';

const LSK = 100_000_000n;
const BODIES = [
  '',
  '{',
  '[]',
  '"x"',
  '1',
  'null',
  '{}',
  '[{}]',
  '{"a":1}',
  '{"id":"1"',
  '\ufeff{}',
  ' {} ',
  '{"id":1,}',
  '[1]',
  '[{"type":0}]',
  '{"type":0}',
  '{"type":-0}',
  '{"type":8e0}',
  '{"type":1e400}',
  '{"__proto__":{"type":0}}',
  '{"toString":1}',
  '{"a":01}',
  '\u0000{}',
  'type=0&amount=1',
];
const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json;charset=utf-8',
  'application/json; charset="UTF-8"',
  'application/json; a=b',
  'application/vnd.api+json',
  'application/octet-stream',
  '',
  'a/b',
];
/** Content types that cause a difference. `known-http-differences.ts` lists these differences. */
const LISTED_TYPES = [
  'application/json; charset=latin1',
  'application/json; charset=utf-32',
  'application/json;',
  'application/x-www-form-urlencoded; charset=x',
  'APPLICATION/JSON',
];
/**
 * In generation 2, one of this many signature objects is mutated. Every fault in a signature object leads to status 500
 * in generation 2, so a few mutated objects are enough.
 */
const CORRUPTED_ONE_IN = 6;

/**
 * Returns whether a transaction may crash a real node of generation 3. The node accepts a transaction into its pool
 * even if the unknown member `asset.amount`, which no signature covers, is not a number. The node crashes when it adds
 * up the spending of a sender with two transactions in the pool.
 */
export function endsRealNode(body: string): boolean {
  const { type, asset } = JSON.parse(body) as { type?: unknown; asset?: { amount?: unknown } | null };
  const amount = asset?.amount;
  return type !== 8 && amount !== undefined && !/^-?[0-9]{1,15}$/.test(`${JSON.stringify(amount)}`.replaceAll('"', ''));
}

export class Submissions {
  readonly #lab: HttpLab;
  readonly #startedS = Math.floor(Date.now() / 1000);
  #made = 0;

  constructor(lab: HttpLab) {
    this.#lab = lab;
  }

  next(below: RandomBelow): HttpRequest {
    const kind = below(10);
    if (kind < 5) return this.#posted('/api/transactions', this.#transaction(below), below(4) > 0, below);
    if (kind < 7) {
      const isCorrupted = this.#lab.generation === 3 ? below(4) > 0 : below(CORRUPTED_ONE_IN) === 0;
      return this.#posted('/api/signatures', this.#signature(below), isCorrupted, below);
    }
    if (kind < 9) return this.#switch(below);
    const target = pick(['/api/transactions', '/api/signatures', '/api/node/status/forging'], below);
    const method = target.endsWith('forging') ? 'PUT' : 'POST';
    const type = below(2) === 0 ? {} : { headers: { 'content-type': pickSeldom(LISTED_TYPES, TYPES, below) } };
    return { method, target, body: pick(BODIES, below), ...type };
  }

  #posted(target: string, document: Untyped, isCorrupted: boolean, below: RandomBelow): HttpRequest {
    const copy = structuredClone(document) as Record<string, unknown>;
    if (isCorrupted) mutate(copy, below);
    const body = textOf(copy, below);
    // The mutated document may crash the real node, and then all later requests would fail. Send the document without
    // mutations instead.
    if (endsRealNode(body)) return this.#posted(target, document, false, below);
    const extra = below(15) === 0 ? '?x=1&limit=' : '';
    return { method: 'POST', target: target + extra, body };
  }

  /** Returns a transaction. About two of seven exceed the sender's balance, so that the pools fill more slowly. */
  #transaction(below: RandomBelow): Untyped {
    const { wallet } = this.#lab;
    this.#made += 1;
    const [one, other] = [
      wallet.account(pick(['account_1', 'account_3', 'account_6'], below)),
      wallet.account('account_4'),
    ];
    const own = { passphrase: one.passphrase, timeOffset: this.#ownSecond() };
    switch (below(7)) {
      case 0:
        return wallet.transfer(one, other, LSK, { ...own, data: `number ${this.#made}` });
      case 1:
        return wallet.make('registerSecondPassphrase', { ...own, secondPassphrase: `second ${this.#made}` });
      case 2:
        return wallet.make('registerDelegate', { ...own, username: `name_${this.#made}` });
      case 3:
        return wallet.make('castVotes', { ...own, votes: [wallet.account('genesis_3').publicKey] });
      case 4:
        return wallet.make('registerMultisignature', {
          ...own,
          keysgroup: [other.publicKey],
          lifetime: 24,
          minimum: 1,
        });
      default:
        return wallet.transfer(one, other, 1_000_000_000n * LSK, { ...own, data: `number ${this.#made}` });
    }
  }

  /**
   * Returns the offset in seconds from the present time to a second that no other transaction uses as its timestamp.
   * Two equal transactions would have the same id, and a node would refuse one of them. Only every other second is
   * used, because the clock may advance before the transaction is made.
   */
  #ownSecond(): number {
    return this.#startedS - 2 * this.#made - Math.floor(Date.now() / 1000);
  }

  #signature(below: RandomBelow): Untyped {
    const { publicKey } = this.#lab.wallet.account(`account_${1 + below(9)}`);
    const odd = ['0', '007', '18446744073709551615', '99999999999999999999'];
    const transactionId = below(30) === 0 ? pick(odd, below) : String(1 + below(2 ** 31));
    return { transactionId, publicKey, signature: pick(['ab', 'AB', '0f'], below).repeat(64) };
  }

  /**
   * The password is always wrong. With the correct password, a node would start to forge. The two nodes that the test
   * compares would then have different chains.
   */
  #switch(below: RandomBelow): HttpRequest {
    const { delegates } = this.#lab.world;
    const publicKey = pick([delegates[0]?.publicKey ?? '', delegates[50]?.publicKey ?? '', 'ab'.repeat(32)], below);
    const document: Record<string, unknown> = { publicKey, password: 'not the password', forging: below(2) === 0 };
    if (below(6) > 0) mutate(document, below);
    return { method: 'PUT', target: '/api/node/status/forging', body: textOf(document, below) };
  }
}
