/**
 * Checks a signed transaction against the accounts of a chain, without sending the transaction. The check covers the
 * signatures, the balance and the timestamp. The check also finds out whether a block or the pool already contains the
 * transaction. In generation 2, the check also covers the id and the fee that the transaction states. In generation 3,
 * nodes compute the id and the fee, and ignore stated values.
 */

import { lskText } from '../../primitives/amount.ts';
import type { TransactionSigner } from '../../protocol/sign.ts';
import { amountOf } from '../../protocol/tx/amounts.ts';
import type { Transaction } from '../../protocol/types.ts';
import { NODE_CLOCK } from '../answer-shapes.ts';
import { groupOfAccount } from './group-of-account.ts';
import { POOL_STATES, type PoolStateName } from './pool-states.ts';
import { ACCOUNTS, POOLED_TRANSACTIONS, TRANSACTIONS, type AccountJson, type TransactionJson } from './shapes.ts';
import type { Source } from './chain-source.ts';
import { isSet } from './format-rows.ts';

export interface TransactionCheck {
  /** Reasons why a node would refuse the transaction, as sentences. */
  readonly faults: readonly string[];
  /**
   * The signatures of group members that the transaction still needs: their number (`count`), and the public keys of
   * all members who have not signed (`of`). Undefined if enough members have signed, or if no group must sign.
   */
  readonly missing: { readonly count: number; readonly of: readonly string[] } | undefined;
  /**
   * Queue of the node's pool that has the transaction already. Undefined if no queue has the transaction, or if
   * `faults` is not empty.
   */
  readonly state: PoolStateName | undefined;
}

interface Group {
  readonly min: number;
  readonly members: readonly { readonly publicKey: string }[];
}

/** @throws ProtocolError in the same cases as `Source.ask` */
export async function checkTransaction(
  transaction: Transaction,
  signer: TransactionSigner,
  source: Source,
): Promise<TransactionCheck> {
  const { id, senderId, timestamp } = transaction;
  const [sender] = await source.ask<readonly AccountJson[]>(`accounts?address=${senderId}`, ACCOUNTS);
  const [confirmed] = await source.ask<readonly TransactionJson[]>(`transactions?id=${id}`, TRANSACTIONS);
  const { secondsSinceEpoch } = await source.ask<{ secondsSinceEpoch: number }>('node/status', NODE_CLOCK);
  const group = await groupOf(transaction, source);
  const faults = [
    ...signer.faultsOf(transaction),
    ...secondSignatureFaults(transaction, sender, signer),
    ...(group === undefined && transaction.signatures.length > 0
      ? ['it has signatures of members, but its sender has no group']
      : []),
    ...fundsFaults(transaction, sender),
    ...(timestamp > secondsSinceEpoch ? [`it is dated ${timestamp - secondsSinceEpoch} s in the future`] : []),
    ...(confirmed === undefined ? [] : [`the block at height ${confirmed.height} already contains it`]),
  ];
  return {
    faults,
    missing: group === undefined ? undefined : missingOf(transaction, group, signer),
    state: faults.length === 0 ? await poolStateOf(id, source) : undefined,
  };
}

async function poolStateOf(id: string, source: Source): Promise<PoolStateName | undefined> {
  for (const state of POOL_STATES.toReversed()) {
    const [waiting] = await source.ask<readonly unknown[]>(`node/transactions/${state}?id=${id}`, POOLED_TRANSACTIONS);
    if (waiting !== undefined) return state;
  }
  return undefined;
}

/**
 * Returns the multisignature group that must sign. If the transaction registers a group, this group must sign. For any
 * other transaction, the group of the sender must sign, if the sender has a group.
 */
async function groupOf({ payload, senderId }: Transaction, source: Source): Promise<Group | undefined> {
  if (payload.kind === 'multisignature') {
    const keys = payload.keysgroup.map((key) => ({ publicKey: key.slice(1) }));
    return { min: keys.length, members: keys };
  }
  return groupOfAccount(senderId, source);
}

function missingOf(transaction: Transaction, { min, members: all }: Group, signer: TransactionSigner) {
  const keys = all.map((member) => member.publicKey);
  const signed = signer.signersAmong(transaction, keys);
  if (signed.length >= min) return undefined;
  return { count: min - signed.length, of: keys.filter((key) => !signed.includes(key)) };
}

function secondSignatureFaults(
  transaction: Transaction,
  sender: AccountJson | undefined,
  signer: TransactionSigner,
): readonly string[] {
  const key = sender?.secondPublicKey;
  const isSigned = transaction.signSignature !== undefined;
  if (!isSet(key)) return isSigned ? ['it has a second signature, but its sender has no second passphrase'] : [];
  if (!isSigned) return ['its sender has a second passphrase, but it has no second signature'];
  return signer.isSignedBySecond(transaction, key)
    ? []
    : ["the second signature is not that of the sender's second key"];
}

function fundsFaults({ fee, payload, senderId }: Transaction, sender: AccountJson | undefined): readonly string[] {
  const balance = BigInt(sender?.balance ?? '0');
  const needed = fee + amountOf({ payload });
  return balance >= needed
    ? []
    : [`${senderId} has ${lskText(balance)} LSK, but the transaction needs ${lskText(needed)} LSK`];
}
