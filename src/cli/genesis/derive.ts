/** Derives the first accounts of a new network from a seed text. Equal seed texts give equal passphrases and keys. */

import { entropyToMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { sha256 } from '../../crypto/hash.ts';
import { addressOf, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { hexOf, utf8 } from '../../primitives/bytes.ts';
import type { KeyPair } from '../../protocol/types.ts';
import type { KnownAccount } from './accounts-file.ts';

export interface DerivedAccount extends KnownAccount {
  readonly keyPair: KeyPair;
}

export interface DerivedAccounts {
  /**
   * Account that forges the genesis block and pays out the supply. The balance of this account stays negative, so the
   * account cannot spend.
   */
  readonly generator: DerivedAccount;
  /** Account that receives the supply and votes for all delegates. */
  readonly genesis: DerivedAccount;
  /** Accounts that `genesis` funds. */
  readonly funded: readonly DerivedAccount[];
  readonly delegates: readonly DerivedAccount[];
}

const FUNDED_ACCOUNTS = 10;
/** Bytes of entropy for a passphrase of twelve words. */
const ENTROPY_BYTES = 16;

export function deriveAccounts(seed: string, delegates: number): DerivedAccounts {
  const many = (count: number, role: string, prefix: string): readonly DerivedAccount[] =>
    Array.from({ length: count }, (_, index) => derive(seed, role, index + 1, `${prefix}${index + 1}`));
  return {
    generator: derive(seed, 'generator', 0, 'generator'),
    genesis: derive(seed, 'genesis', 0, 'genesis'),
    funded: many(FUNDED_ACCOUNTS, 'account', 'account_'),
    delegates: many(delegates, 'delegate', 'genesis_'),
  };
}

/** Returns the first `count` bytes (at most 32) of the SHA-256 hash of the seed, a purpose and an index. */
export function seededBytes(seed: string, purpose: string, index: number, count: number): Buffer {
  return sha256(utf8(`${seed}|${purpose}|${index}`)).subarray(0, count);
}

function derive(seed: string, role: string, index: number, name: string): DerivedAccount {
  const passphrase = entropyToMnemonic(seededBytes(seed, role, index, ENTROPY_BYTES), wordlist);
  const keyPair = keyPairOfPassphrase(passphrase);
  const publicKey = hexOf(keyPair.publicKey);
  return { name, address: addressOf(publicKey), publicKey, passphrase, keyPair };
}
