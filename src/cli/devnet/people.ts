/** Accounts of a devnet: giving them money, and acting in their names without their keys. */

import type { Network } from '../../config/network.ts';
import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { addressFault, addressOf, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { createSigner } from '../../protocol/sign.ts';
import type { JsonObject, KeyPair, PublicKey } from '../../protocol/types.ts';
import { epochTimeS } from '../../protocol/slots.ts';
import { readAccounts, type KnownAccount } from '../genesis/accounts-file.ts';
import { usageError } from '../problems.ts';
import { standInFor } from './fork/stand-in.ts';
import { readImpersonated, writeImpersonated } from './folder.ts';
import type { Timekeeper } from './timekeeper.ts';

export interface PeopleParts {
  /** Folder of the devnet; undefined for one that keeps nothing. */
  readonly directory: string | undefined;
  readonly network: Network;
  readonly timekeeper: Timekeeper;
  /** Where the folder of the network may be gone by now. */
  readonly accounts?: readonly KnownAccount[];
  /** Public keys of rich accounts of a forked chain, which the devnet can sign for. */
  readonly funders?: readonly PublicKey[];
}

export interface FundedAccount {
  readonly address: string;
  /** Beddows. */
  readonly balance: string;
  readonly transactionId: string;
  /** Of the block with the transaction. */
  readonly height: number;
}

export interface ImpersonatedAccount {
  readonly address: string;
  readonly publicKey: string;
  readonly secondPublicKey?: string;
}

interface SignedTransfer {
  readonly id: string;
  readonly json: JsonObject;
}

/** Several times what a transfer costs. */
const FEES_BEDDOWS_MAX = 100_000_000n;
const BEDDOWS = /^[1-9][0-9]{0,18}$/;

export class People {
  readonly #parts: PeopleParts;
  #impersonated: readonly string[];

  /** @throws ProtocolError `DEVNET_UNREADABLE` */
  constructor(parts: PeopleParts) {
    this.#parts = parts;
    this.#impersonated = parts.directory === undefined ? [] : readImpersonated(parts.directory);
  }

  /** Public keys whose signatures pass unseen. */
  get impersonated(): readonly string[] {
    return this.#impersonated;
  }

  /**
   * Sends beddows of the account `genesis`, which the genesis block gave nearly all, and mines the block with them.
   *
   * @throws ProtocolError `USAGE`, `NETWORK_UNREADABLE` for a network that tells no passphrases, and what the nodes refuse
   */
  async fund(address: string, amount: string): Promise<FundedAccount> {
    checkAddress(address);
    if (!BEDDOWS.test(amount)) throw usageError('the amount must be a number of beddows');
    const { timekeeper } = this.#parts;
    const { id, json } = this.#transferBy(await this.#funder(BigInt(amount)), address, BigInt(amount));
    const { height } = await timekeeper.confirm(id, json);
    const { account } = await timekeeper.ask({ op: 'account', address });
    return { address, balance: account?.balance ?? '0', transactionId: id, height };
  }

  /** @throws ProtocolError `NETWORK_UNREADABLE` for a network that tells no passphrases */
  accounts(): readonly KnownAccount[] {
    return this.#parts.accounts ?? readAccounts(this.#parts.network.directory);
  }

  /** A signed transfer of the chain's present moment. */
  transfer(from: KnownAccount, address: string, amount: bigint): SignedTransfer {
    return this.#transferBy(keyPairOfPassphrase(from.passphrase), address, amount);
  }

  /** Who pays: the account `genesis`, and in a forked devnet the richest that the devnet can sign for. */
  async #funder(amount: bigint): Promise<KeyPair> {
    const { timekeeper, network, funders } = this.#parts;
    if (funders === undefined) {
      const [funder] = this.accounts();
      if (funder === undefined) throw usageError(`${network.directory}: its accounts.json names no account`);
      return keyPairOfPassphrase(funder.passphrase);
    }
    for (const publicKey of funders) {
      const { account } = await timekeeper.ask({ op: 'account', address: addressOf(publicKey) });
      if (account?.secondPublicKey !== undefined || account?.isGroup === true) continue;
      if (BigInt(account?.balance ?? 0) >= amount + FEES_BEDDOWS_MAX) return standInFor(publicKey);
    }
    const message =
      'no account of the chain has so much and has sent something before, so that its public key is known';
    throw new ProtocolError('DEVNET_FUNDS_MISSING', { amount: amount.toString() }, message);
  }

  #transferBy(keyPair: KeyPair, address: string, amount: bigint): SignedTransfer {
    const { timekeeper, network } = this.#parts;
    const signer = createSigner(network.params, defaultEd25519());
    const transaction = signer.sign({
      payload: { kind: 'transfer', amount, recipientId: address },
      timestamp: epochTimeS(timekeeper.nowMs(), network.params),
      keyPair,
    });
    return { id: transaction.id, json: signer.toJson(transaction) };
  }

  /**
   * From now on the nodes of the devnet take transactions of the account with any signature.
   *
   * @throws ProtocolError `USAGE`, `DEVNET_ACCOUNT_UNKNOWN`, `DEVNET_KEY_UNKNOWN` or `DEVNET_ACCOUNT_GROUP`
   */
  async impersonate(address: string): Promise<ImpersonatedAccount> {
    checkAddress(address);
    const { timekeeper, directory } = this.#parts;
    const { account } = await timekeeper.ask({ op: 'account', address });
    if (account === undefined) throw refusal('DEVNET_ACCOUNT_UNKNOWN', address, 'has no account on this chain');
    const { publicKey, secondPublicKey, isGroup } = account;
    if (publicKey === undefined) {
      const reason = 'has sent nothing yet, so the chain does not know its public key, which a transaction must name';
      throw refusal('DEVNET_KEY_UNKNOWN', address, reason);
    }
    if (isGroup) throw refusal('DEVNET_ACCOUNT_GROUP', address, 'is a group, whose members sign');
    const keys = [publicKey, ...(secondPublicKey === undefined ? [] : [secondPublicKey])];
    this.#impersonated = [...new Set([...this.#impersonated, ...keys])];
    // Nodes that start from now on must know it, too.
    if (directory !== undefined) writeImpersonated(directory, this.#impersonated);
    await timekeeper.impersonate(keys);
    return { address, publicKey, ...(secondPublicKey === undefined ? {} : { secondPublicKey }) };
  }
}

function checkAddress(address: string): void {
  const fault = addressFault(address);
  if (fault !== undefined) throw usageError(`\`${address}\` is no address: ${fault}`);
}

function refusal(code: string, address: string, reason: string): ProtocolError {
  return new ProtocolError(code, { address }, `${address} ${reason}`);
}
