/**
 * Switches forging on and off for the configured delegates of this node. The configuration contains their encrypted
 * passphrases.
 */

import { hexOf } from '../../primitives/bytes.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { ForgingDelegate } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { Address, KeyPair, PublicKey } from '../../protocol/types.ts';
import type { ForgingScheduler } from './scheduler.ts';

export interface ConfiguredDelegate {
  readonly publicKey: PublicKey;
  readonly encryptedPassphrase: string;
}

export interface ForgingDelegatesDependencies {
  /** The delegates in the order of the configuration. */
  readonly configured: readonly ConfiguredDelegate[];
  readonly scheduler: Pick<ForgingScheduler, 'enable' | 'disable' | 'isEnabled' | 'waiting' | 'paused'>;
  readonly state: () => StateReader;
  /**
   * Returns the key pair of an encrypted passphrase. The promise rejects if the password is wrong or the encrypted
   * passphrase is malformed.
   */
  readonly unlock: (encryptedPassphrase: string, password: string) => Promise<KeyPair>;
  readonly addressOf: (publicKey: PublicKey) => Address;
  readonly observer: Observer;
}

export class ForgingDelegates {
  readonly #dependencies: ForgingDelegatesDependencies;

  constructor(dependencies: ForgingDelegatesDependencies) {
    this.#dependencies = dependencies;
  }

  list(): readonly ForgingDelegate[] {
    const { configured, scheduler } = this.#dependencies;
    if (!configured.some(({ publicKey }) => scheduler.isEnabled(publicKey)))
      return configured.map(({ publicKey }) => ({ publicKey, forging: false }));
    const paused = scheduler.paused();
    return configured.map(({ publicKey }) => {
      if (!scheduler.isEnabled(publicKey)) return { publicKey, forging: false };
      const waiting = scheduler.waiting(publicKey);
      return {
        ...{ publicKey, forging: true },
        ...(waiting === undefined ? {} : { waiting }),
        ...(paused === undefined ? {} : { paused }),
      };
    });
  }

  /**
   * Enables all configured delegates, for a node that forges unattended from its start.
   *
   * @throws ProtocolError `FORGING_PASSPHRASE_INVALID` if the password does not decrypt the passphrase of a delegate,
   *   or if the passphrase belongs to another public key. The error contains the public key of the delegate. In this
   *   case, the method enables no delegate
   * @throws ProtocolError from `SigningJournal.hold`. When this error is thrown, `enableAll` has enabled only the
   *   delegates that precede the failing delegate in the configuration
   */
  async enableAll(password: string): Promise<void> {
    const { configured, scheduler, state, observer, addressOf } = this.#dependencies;
    const keyPairs = await Promise.all(configured.map((delegate) => this.#unlock(delegate, password)));
    for (const keyPair of keyPairs) {
      const publicKey = hexOf(keyPair.publicKey);
      const account = state().account(addressOf(publicKey));
      if (account?.username === undefined) {
        observer.log('warn', 'FORGING_NOT_A_DELEGATE', 'a configured key belongs to no delegate yet', {
          delegate: publicKey,
        });
      }
      scheduler.enable(keyPair);
    }
  }

  /**
   * Switches forging of one delegate on or off. Both operations require the password.
   *
   * @throws ProtocolError `FORGING_DELEGATE_UNKNOWN` if the configuration does not contain the delegate;
   *   `FORGING_PASSWORD_WRONG` if the password does not decrypt the passphrase of the delegate, or if the passphrase
   *   belongs to another public key; `FORGING_NOT_A_DELEGATE` if the state has no delegate with this public key. If
   *   `forging` is true, the method also throws `FORGING_MOVED` for a delegate that was handed over to another node,
   *   and the errors of `SigningJournal.hold`
   */
  async set(publicKey: PublicKey, password: string, forging: boolean): Promise<ForgingDelegate> {
    const { configured, scheduler, state, observer, addressOf } = this.#dependencies;
    const delegate = configured.find((one) => one.publicKey === publicKey);
    if (delegate === undefined) {
      throw new ProtocolError(
        'FORGING_DELEGATE_UNKNOWN',
        { publicKey },
        `Delegate with publicKey: ${publicKey} not found`,
      );
    }
    let keyPair: KeyPair;
    try {
      keyPair = await this.#unlock(delegate, password);
    } catch (error) {
      throw new ProtocolError('FORGING_PASSWORD_WRONG', { publicKey }, 'Invalid password and public key combination', {
        cause: error,
      });
    }
    if (state().account(addressOf(publicKey))?.username === undefined) {
      throw new ProtocolError('FORGING_NOT_A_DELEGATE', { publicKey }, 'Delegate not found');
    }
    const waiting = forging ? scheduler.waiting(publicKey) : undefined;
    if (waiting?.code === 'FORGING_MOVED') {
      throw new ProtocolError(
        'FORGING_MOVED',
        { publicKey },
        `Delegate ${publicKey} cannot forge here: ${waiting.reason}`,
      );
    }
    if (forging) scheduler.enable(keyPair);
    else scheduler.disable(publicKey);
    if (forging) observer.log('info', 'FORGING_ENABLED', 'forging was switched on', { delegate: publicKey });
    else observer.log('info', 'FORGING_DISABLED', 'forging was switched off', { delegate: publicKey });
    return { publicKey, forging };
  }

  async #unlock(delegate: ConfiguredDelegate, password: string): Promise<KeyPair> {
    const invalid = (reason: string, cause?: unknown) =>
      new ProtocolError(
        'FORGING_PASSPHRASE_INVALID',
        { publicKey: delegate.publicKey },
        `Invalid encryptedPassphrase for publicKey: ${delegate.publicKey}. ${reason}`,
        { cause },
      );
    let keyPair: KeyPair;
    try {
      keyPair = await this.#dependencies.unlock(delegate.encryptedPassphrase, password);
    } catch (error) {
      throw invalid(messageOf(error), error);
    }
    if (hexOf(keyPair.publicKey) !== delegate.publicKey) throw invalid('Public keys do not match');
    return keyPair;
  }
}
