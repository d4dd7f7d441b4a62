/**
 * Makes the JSON form of a transaction's asset for the generation of the dialect. Also checks whether the recipient in
 * the asset of a transaction is a given address.
 */

import { addressOf } from '../../crypto/keys.ts';
import { amountOf } from '../../protocol/tx/amounts.ts';
import { recipientOf } from '../../protocol/tx/recipient.ts';
import type { DappDescription, Payload, Transaction } from '../../protocol/types.ts';
import type { HttpDialect } from '../dialect.ts';

type Asset = Readonly<Record<string, unknown>>;

/**
 * True if the recipient in the asset of the transaction is `address`. If the transaction keeps the original JSON of its
 * asset (`written.asset`), the recipient in the asset is the member `recipientId` of this JSON. This member counts even
 * if the protocol rules ignore `recipientId` for the type of the transaction.
 */
export function namesRecipient(transaction: Transaction, address: string): boolean {
  const asset = transaction.written?.asset;
  if (asset === undefined) return recipientOf(transaction) === address;
  return (JSON.parse(asset) as Asset)['recipientId'] === address;
}

/**
 * Returns the asset of a confirmed transaction. For a delegate registration, the asset also contains the sender's
 * public key and address, which were not part of the signed asset. For a dialect of generation 2, the members of most
 * assets are in a nested object, for example in the object `multisignature`. For a dialect of generation 3, only the
 * assets of the application types (`dapp`, `inTransfer`, `outTransfer`) are nested in this way. If the transaction
 * keeps the original JSON of its asset (`written.asset`), the function does not change the nesting of this JSON. In one
 * case, it changes the nesting of the original JSON nevertheless: if the transaction is a delegate registration.
 */
export function confirmedAsset(transaction: Transaction, dialect: HttpDialect): Asset {
  const { payload, written } = transaction;
  // The original JSON, if there is one, also contains the members that no rule of the protocol uses.
  const asset = written?.asset === undefined ? undefined : (JSON.parse(written.asset) as Asset);
  if (payload.kind === 'delegate') {
    const delegate = {
      ...asset,
      username: payload.username,
      publicKey: transaction.senderPublicKey,
      address: addressOf(transaction.senderPublicKey),
    };
    return dialect.generation === 2 ? { delegate } : delegate;
  }
  if (asset !== undefined) return asset;
  return dialect.generation === 2 ? nestedAsset(payload) : flatAsset(transaction);
}

function nestedAsset(payload: Exclude<Payload, { kind: 'delegate' }>): Asset {
  switch (payload.kind) {
    case 'transfer':
      return payload.data === undefined ? {} : { data: payload.data };
    case 'secondSignature':
      return { signature: { publicKey: payload.publicKey } };
    case 'vote':
      return { votes: payload.votes };
    case 'multisignature':
      return { multisignature: groupTerms(payload) };
    case 'dapp':
      return { dapp: dappAsset(payload.dapp) };
    case 'inTransfer':
      return { inTransfer: { dappId: payload.dappId } };
    case 'outTransfer':
      return { outTransfer: { dappId: payload.dappId, transactionId: payload.transactionId } };
  }
}

function flatAsset(transaction: Transaction): Asset {
  const payload = transaction.payload as Exclude<Payload, { kind: 'delegate' }>;
  switch (payload.kind) {
    case 'transfer': {
      const data = payload.data === undefined ? {} : { data: payload.data };
      return { amount: payload.amount.toString(), recipientId: payload.recipientId, ...data };
    }
    case 'secondSignature':
      return { publicKey: payload.publicKey };
    case 'multisignature':
      return groupTerms(payload);
    case 'dapp':
      return nestedAsset(payload);
    default: {
      // The kinds that remain here are votes and application transfers. A vote of type 11 has no recipient. A vote of
      // type 3, and an application transfer, can have a recipient.
      const recipientId = recipientOf(transaction);
      const moved = recipientId === undefined ? {} : { amount: amountOf(transaction).toString(), recipientId };
      return { ...nestedAsset(payload), ...moved };
    }
  }
}

function groupTerms(payload: Extract<Payload, { kind: 'multisignature' }>): Asset {
  return { min: payload.min, lifetime: payload.lifetime, keysgroup: payload.keysgroup };
}

function dappAsset(dapp: DappDescription): Asset {
  return {
    category: dapp.category,
    name: dapp.name,
    ...(dapp.description === undefined ? {} : { description: dapp.description }),
    ...(dapp.tags === undefined ? {} : { tags: dapp.tags }),
    type: dapp.type,
    ...(dapp.link === undefined ? {} : { link: dapp.link }),
    ...(dapp.icon === undefined ? {} : { icon: dapp.icon }),
  };
}
