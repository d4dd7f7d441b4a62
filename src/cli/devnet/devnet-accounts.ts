/**
 * Funds accounts of a devnet, sends transfers from accounts whose passphrases are in the network folder, and makes the
 * nodes accept any signature for chosen accounts.
 */

import type { Network } from '../../config/network.ts';
import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { addressFault, addressOf, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { createSigner } from '../../protocol/sign.ts';
import type { JsonObject, KeyPair, PublicKey } from '../../protocol/types.ts';
import { epochTimeS } from '../../protocol/slots.ts';
import { readAccounts, type KnownAccount } from '../genesis/accounts-file.ts';
import { usageError } from '../error-lines.ts';
import { substituteKeyOf } from './fork/substitute-key.ts';
import { readImpersonated, writeImpersonated } from './folder.ts';
import type { Timekeeper } from './timekeeper.ts';
import { UnusedTimestamps } from './unused-timestamps.ts';

export interface DevnetAccountsParts {
  /** Folder of the devnet; undefined for a devnet in memory. */
  readonly directory: string | undefined;
  readonly network: Network;
  readonly timekeeper: Timekeeper;
  /**
   * Known accounts: the accounts in `accounts.json` of the network folder, with their passphrases. Without this member,
   * `known` reads this file. Pass this member if it is possible that the network folder no longer exists.
   */
  readonly accounts?: readonly KnownAccount[];
  /**
   * In a forked devnet, public keys of rich accounts for which the devnet can sign with the substitute key
   * (`fork/substitute-key.ts`). The account that was the richest at the fork comes first.
   */
  readonly funders?: readonly PublicKey[];
  /**
   * Source of the timestamps of transactions. If other code also makes transactions for the devnet, that code must use
   * the same source.
   */
  readonly timestamps?: UnusedTimestamps;
}

export interface FundedAccount {
  readonly address: string;
  /** Balance of the account after the transfer, in beddows. */
  readonly balance: string;
  readonly transactionId: string;
  /** Height of the block with the transaction. */
  readonly height: number;
}

export interface ImpersonatedAccount {
  readonly address: string;
  readonly publicKey: string;
  readonly secondPublicKey?: string;
}

export interface Transfer {
  /** Name of a known account. */
  readonly from: string;
  readonly address: string;
  /** Amount of the transfer, in beddows. */
  readonly amount: string;
  /** Text that the transfer contains as its data. An empty text is allowed. */
  readonly data: string;
}

interface TransferText {
  readonly data?: string;
}

interface SignedTransfer {
  readonly id: string;
  readonly json: JsonObject;
}

/**
 * Amount that a funder of a forked devnet must have for fees, in addition to the sent amount: ten times the fee of a
 * transfer.
 */
const FEES_BEDDOWS_MAX = 100_000_000n;
/** Maximum size of the text of a transfer, in bytes of UTF-8, in generations 2 and 3 (`protocol/tx/`). */
const DATA_BYTES_MAX = 64;
const BEDDOWS = /^[1-9][0-9]{0,18}$/;

export class DevnetAccounts {
  readonly #parts: DevnetAccountsParts;
  readonly #timestamps: UnusedTimestamps;
  #impersonated: readonly string[];

  /** @throws ProtocolError `DEVNET_UNREADABLE` for an unreadable file with impersonated accounts */
  constructor(parts: DevnetAccountsParts) {
    this.#parts = parts;
    this.#timestamps = parts.timestamps ?? new UnusedTimestamps();
    this.#impersonated = parts.directory === undefined ? [] : readImpersonated(parts.directory);
  }

  /** Public keys for which the nodes accept any signature. */
  get impersonated(): readonly string[] {
    return this.#impersonated;
  }

  /**
   * Sends beddows to an address. Then mines slots until a block contains the transaction, but at most two rounds of
   * slots. The sender is the first known account, usually `genesis`, which has nearly all funds. In a forked devnet,
   * the sender is one of the `funders`.
   *
   * @throws ProtocolError `USAGE` for an invalid address or amount, and for an empty list of known accounts;
   *   `NETWORK_UNREADABLE` for a network without known passphrases; in a forked devnet, `DEVNET_FUNDS_MISSING` if no
   *   funder has enough funds; errors of `Timekeeper.confirm` and `Timekeeper.ask`
   */
  async fund(address: string, amount: string): Promise<FundedAccount> {
    checkAddress(address);
    if (!BEDDOWS.test(amount)) throw usageError('the amount must be a number of beddows');
    const { timekeeper } = this.#parts;
    const { id, json } = await this.#newTransferBy(await this.#funder(BigInt(amount)), address, BigInt(amount));
    const { height } = await timekeeper.confirm(id, json);
    const { account } = await timekeeper.ask({ op: 'account', address });
    return { address, balance: account?.balance ?? '0', transactionId: id, height };
  }

  /**
   * Puts a transfer of a known account into the pool of the node with the greatest height. The function itself mines no
   * block. In the mining mode `instant`, the devnet mines one or more slots as soon as the node has accepted the
   * transfer.
   *
   * @throws ProtocolError `USAGE` for an unknown account, an invalid address or amount, or a text that is too long;
   *   errors of `Timekeeper.ask`, for example the refusal of the node
   */
  async send({ from, address, amount, data }: Transfer): Promise<{ readonly id: string }> {
    const payer = this.#accountsIfKnown().find(({ name }) => name === from);
    if (payer === undefined)
      throw usageError(`\`${from}\` is not an account of this devnet: bloomery devnet accounts lists them`);
    checkAddress(address);
    if (!BEDDOWS.test(amount)) throw usageError('the amount must be a number of beddows');
    const bytes = Buffer.byteLength(data);
    if (bytes > DATA_BYTES_MAX)
      throw usageError(`the text has ${bytes} bytes: a transfer takes at most ${DATA_BYTES_MAX}`);
    const text = data === '' ? {} : { data };
    const { id, json } = await this.#newTransferBy(
      keyPairOfPassphrase(payer.passphrase),
      address,
      BigInt(amount),
      text,
    );
    const { timekeeper } = this.#parts;
    // The request runs in the queue of the timekeeper, so no slot is mined during the request. While a slot is mined,
    // the clocks of the nodes stand still, and a node could refuse the transaction because its timestamp is in the
    // future.
    await timekeeper.exclusively(() => timekeeper.ask({ op: 'transaction', transaction: json }));
    return { id };
  }

  /**
   * Accounts that `send` accepts as senders, without their passphrases. The list is empty for a network without known
   * passphrases.
   */
  payers(): readonly Omit<KnownAccount, 'passphrase'>[] {
    return this.#accountsIfKnown().map(({ name, address, publicKey }) => ({ name, address, publicKey }));
  }

  #accountsIfKnown(): readonly KnownAccount[] {
    try {
      return this.known();
    } catch (error) {
      if (error instanceof ProtocolError && error.code === 'NETWORK_UNREADABLE') return [];
      throw error;
    }
  }

  /**
   * Returns the known accounts, with their passphrases.
   *
   * @throws ProtocolError `NETWORK_UNREADABLE` for a network without known passphrases
   */
  known(): readonly KnownAccount[] {
    return this.#parts.accounts ?? readAccounts(this.#parts.network.directory);
  }

  /**
   * Makes a transfer with the present time of the chain clock, and signs the transfer. If an earlier equal transfer got
   * the same timestamp, the new transfer gets an earlier timestamp, so that the ids differ.
   */
  transfer(from: KnownAccount, address: string, amount: bigint): SignedTransfer {
    return this.#transferBy(keyPairOfPassphrase(from.passphrase), address, amount);
  }

  /**
   * Returns the key pair that signs the transfer of `fund`. In a devnet that is not a fork of another chain, the first
   * known account is the sender. In a forked devnet, the first suitable funder is the sender. A funder is not suitable
   * if it now has too few funds, has a second key, or is a multisignature account.
   */
  async #funder(amount: bigint): Promise<KeyPair> {
    const { timekeeper, network, funders } = this.#parts;
    if (funders === undefined) {
      const [funder] = this.known();
      if (funder === undefined) throw usageError(`${network.directory}: its accounts.json names no account`);
      return keyPairOfPassphrase(funder.passphrase);
    }
    for (const publicKey of funders) {
      const { account } = await timekeeper.ask({ op: 'account', address: addressOf(publicKey) });
      if (account?.secondPublicKey !== undefined || account?.isGroup === true) continue;
      if (BigInt(account?.balance ?? 0) >= amount + FEES_BEDDOWS_MAX) return substituteKeyOf(publicKey);
    }
    const message =
      'no account that the devnet can sign for has so much: the chain must know its public key from an earlier transaction';
    throw new ProtocolError('DEVNET_FUNDS_MISSING', { amount: amount.toString() }, message);
  }

  /**
   * Makes a transfer that is not in the chain yet. The chain can contain an equal transfer with the same timestamp from
   * an earlier run of the devnet, or from another program. In this case, the function tries again with an earlier
   * timestamp.
   */
  async #newTransferBy(keyPair: KeyPair, address: string, amount: bigint, text: TransferText = {}) {
    for (;;) {
      const transfer = this.#transferBy(keyPair, address, amount, text);
      const { isConfirmed = false } = await this.#parts.timekeeper.ask({ op: 'confirmed', id: transfer.id });
      if (!isConfirmed) return transfer;
    }
  }

  #transferBy(keyPair: KeyPair, address: string, amount: bigint, text: TransferText = {}): SignedTransfer {
    const { timekeeper, network } = this.#parts;
    const signer = createSigner(network.params, defaultEd25519());
    const payload = { kind: 'transfer', amount, recipientId: address, ...text } as const;
    const timestamp = this.#timestamps.next(keyPair, payload, epochTimeS(timekeeper.nowMs(), network.params));
    const transaction = signer.sign({ payload, timestamp, keyPair });
    return { id: transaction.id, json: signer.toJson(transaction) };
  }

  /**
   * Makes the nodes of the devnet accept any signature for transactions of the account.
   *
   * @throws ProtocolError `USAGE` for an invalid address; `DEVNET_ACCOUNT_UNKNOWN` if the chain has no account with the
   *   address; `DEVNET_KEY_UNKNOWN` for an account that has sent nothing yet; `DEVNET_ACCOUNT_GROUP` for a
   *   multisignature account; the errors of `Timekeeper.ask` and `Timekeeper.impersonate`
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
    // A later run of the devnet reads the impersonated keys from the folder.
    if (directory !== undefined) writeImpersonated(directory, this.#impersonated);
    await timekeeper.impersonate(keys);
    return { address, publicKey, ...(secondPublicKey === undefined ? {} : { secondPublicKey }) };
  }
}

function checkAddress(address: string): void {
  const fault = addressFault(address);
  if (fault !== undefined) throw usageError(`\`${address}\` is not an address: ${fault}`);
}

function refusal(code: string, address: string, reason: string): ProtocolError {
  return new ProtocolError(code, { address }, `${address} ${reason}`);
}
