/**
 * Makes a devnet node accept any signature for the impersonated accounts of the devnet. Only the agent of a devnet node
 * (`node-agent.ts`) uses this file: `bloomery start` does not load this file.
 */

import type { Ed25519 } from '../../crypto/ed25519.ts';
import { hexOf } from '../../primitives/bytes.ts';
import type { Verifier } from '../../ports/verifier.ts';
import type { PublicKey, SignatureCheck } from '../../protocol/types.ts';

export class Impersonation {
  readonly #publicKeys: Set<PublicKey>;

  constructor(publicKeys: readonly PublicKey[]) {
    this.#publicKeys = new Set(publicKeys);
  }

  add(publicKeys: readonly PublicKey[]): void {
    for (const publicKey of publicKeys) this.#publicKeys.add(publicKey);
  }

  get isEmpty(): boolean {
    return this.#publicKeys.size === 0;
  }

  passes({ publicKey }: Pick<SignatureCheck, 'publicKey'>): boolean {
    return this.#publicKeys.size > 0 && this.#publicKeys.has(hexOf(publicKey));
  }

  ed25519(over: Ed25519): Ed25519 {
    return {
      backend: over.backend,
      sign: (message, privateKey) => over.sign(message, privateKey),
      keyPairOfSeed: (seed) => over.keyPairOfSeed(seed),
      verify: (check) => this.passes(check) || over.verify(check),
    };
  }

  /** Returns a verifier that accepts any signature for an impersonated key, and passes all other checks to `over`. */
  verifier(over: Verifier): Verifier {
    return {
      backend: over.backend,
      get spentMs() {
        return over.spentMs;
      },
      verify: (check) => this.passes(check) || over.verify(check),
      verifyAll: async (checks) => {
        const open = checks.filter((check) => !this.passes(check));
        const answers = new Map(open.map((check, index) => [check, index] as const));
        const results = await over.verifyAll(open);
        return checks.map((check) => {
          const index = answers.get(check);
          return index === undefined || results[index] === true;
        });
      },
      close: () => over.close(),
    };
  }
}
