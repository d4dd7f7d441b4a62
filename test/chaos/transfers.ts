/**
 * Sends transfers from the funded account of a devnet, as clients do, and checks whether the transfers are in a block.
 */

import { readAccounts } from '../../src/cli/genesis/accounts-file.ts';
import { keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import type { Network } from '../../src/config/network.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { epochTimeS } from '../../src/protocol/slots.ts';
import type { JsonObject, KeyPair, Transaction } from '../../src/protocol/types.ts';
import { makeTransaction } from '../support/chain-maker.ts';

const ANSWER_MS_MAX = 60_000;
/** The timestamps of the transactions are this far in the past, so that a node accepts them if its clock is behind. */
const BEFORE_S = 5;

/** @param name name of a funded account */
export function fundedAccount(network: Network, name = 'genesis'): KeyPair {
  const account = readAccounts(network.directory).find((each) => each.name === name);
  if (account === undefined) throw new Error(`the devnet has no account ${name}`);
  return keyPairOfPassphrase(account.passphrase);
}

/**
 * Makes a transfer from the funded account. The recipient and the amount depend on `number`, so that different numbers
 * give different transfers.
 *
 * @param recipients number of accounts that receive in turn; by default each transfer has its own recipient
 */
export function transfer(network: Network, number: number, recipients = Infinity): Transaction {
  const recipient = number % recipients;
  const content = { kind: 'transfer', amount: BigInt(number + 1), recipientId: `${1_000_000 + recipient}L` } as const;
  return makeTransaction(network.params, fundedAccount(network), content, { timestamp: recentS(network) });
}

/** Chain time of `BEFORE_S` seconds ago. */
export function recentS({ params }: Network): number {
  return epochTimeS(Date.now(), params) - BEFORE_S;
}

/** Sends a transaction to `POST /api/transactions`. @throws Error if the node refuses the transaction */
export async function postTransaction(url: string, network: Network, transaction: Transaction): Promise<void> {
  await post(`${url}/api/transactions`, createRules(network.params).codec.transactionToJson(transaction));
}

/** @throws Error if the node refuses the request */
export async function post(url: string, body: JsonObject): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  if (!answer.ok) throw new Error(`${url} refused: ${await answer.text()}`);
}

export async function isConfirmed(url: string, id: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/transactions?id=${id}`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  const { data } = (await answer.json()) as { readonly data?: readonly unknown[] };
  return data?.length === 1;
}
