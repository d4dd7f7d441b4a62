/**
 * A key that can sign for every account of a forked devnet. The keys of the accounts stay valid. With the substitute
 * key, a forked devnet can forge for delegates whose own keys the devnet does not have. Only a devnet uses this key:
 * `bloomery start` does not load this file.
 */

import { defaultEd25519, type Ed25519 } from '../../../crypto/ed25519.ts';
import { keyPairOfPassphrase } from '../../../crypto/keys.ts';
import { bytesOfHex } from '../../../primitives/bytes.ts';
import type { Verifier } from '../../../ports/verifier.ts';
import type { KeyPair, PublicKey, SignatureCheck } from '../../../protocol/types.ts';

/**
 * The passphrase is public, because it is in the source code. The passphrase never changes, because the chains of
 * existing forked devnets contain signatures that were made with this passphrase.
 */
const FORK_PASSPHRASE = 'the stand-in of all accounts of a forked devnet, worthless elsewhere';

/**
 * Returns a key pair with the public key of the account, and the private key of `FORK_PASSPHRASE`. Only a forked
 * devnet accepts signatures of this pair.
 */
export function substituteKeyOf(publicKey: PublicKey): KeyPair {
  return { publicKey: bytesOfHex(publicKey), privateKey: keyPairOfPassphrase(FORK_PASSPHRASE).privateKey };
}

/**
 * Index (from 0) of the node that forges for a delegate. A delegate keeps its node for the whole life of a devnet, even
 * if the votes change.
 */
export function nodeOfDelegate(publicKey: PublicKey, nodes: number): number {
  return Number.parseInt(publicKey.slice(0, 8), 16) % nodes;
}

export class SubstituteKey {
  readonly #publicKey = keyPairOfPassphrase(FORK_PASSPHRASE).publicKey;
  readonly #verify = defaultEd25519().verify;

  ed25519(over: Ed25519): Ed25519 {
    return {
      backend: over.backend,
      sign: (message, privateKey) => over.sign(message, privateKey),
      keyPairOfSeed: (seed) => over.keyPairOfSeed(seed),
      verify: (check) => over.verify(check) || this.#passes(check),
    };
  }

  verifier(over: Verifier): Verifier {
    return {
      backend: over.backend,
      get spentMs() {
        return over.spentMs;
      },
      verify: (check) => over.verify(check) || this.#passes(check),
      verifyAll: async (checks) => {
        const answers = await over.verifyAll(checks);
        return checks.map((check, index) => answers[index] === true || this.#passes(check));
      },
      close: () => over.close(),
    };
  }

  #passes(check: SignatureCheck): boolean {
    return this.#verify({ ...check, publicKey: this.#publicKey });
  }
}
