/** Transactions of generation 2 made by the reference package of generation 2. */

import type { fc } from './fast-check.ts';
import {
  type BaseTransaction,
  DappTransaction,
  DelegateTransaction,
  MultisignatureTransaction,
  SecondSignatureTransaction,
  TransferTransaction,
  VoteTransaction,
} from 'lisk-transactions-2';
import type { JsonObject } from '../../src/protocol/types.ts';
import { anyContent, type Content, type Signer } from './reference-transactions.ts';

const CLASSES = {
  0: TransferTransaction,
  1: SecondSignatureTransaction,
  2: DelegateTransaction,
  3: VoteTransaction,
  4: MultisignatureTransaction,
  5: DappTransaction,
} as const;

export type Gen2Type = keyof typeof CLASSES;

/** The content of a transaction without signatures. */
export interface Gen2Content {
  readonly type: Gen2Type;
  readonly timestamp: number;
  readonly sender: Signer;
  readonly members: {
    readonly amount: string;
    readonly fee: string;
    readonly recipientId: string;
    readonly asset: JsonObject;
  };
}

/**
 * Makes the reference's transaction object from a valid or invalid JSON document. The object keeps the asset of the
 * document and changes it. The function therefore passes a copy of the document.
 */
export function reference2Of(json: { readonly type: Gen2Type; readonly [member: string]: unknown }): BaseTransaction {
  return new CLASSES[json.type](structuredClone(json));
}

/** A transaction that the reference signed. A registration of a second key is never signed with a second key. */
export function signedReference2(content: Gen2Content, second?: Signer): BaseTransaction {
  const { type, timestamp, sender, members } = content;
  const transaction = reference2Of({
    type,
    timestamp,
    ...members,
    senderPublicKey: sender.publicKey,
    senderId: sender.address,
  });
  transaction.sign(sender.passphrase, type === 1 ? undefined : second?.passphrase);
  return transaction;
}

/**
 * The transaction as a node receives it: the result of converting the transaction to JSON text and parsing this text.
 */
export function json2Of(transaction: BaseTransaction): Record<string, unknown> {
  return JSON.parse(JSON.stringify(transaction.toJSON())) as Record<string, unknown>;
}

/**
 * Converts the content of a transaction from generation 3 to generation 2. In generation 3, amount and recipient are in
 * the asset. In generation 2, they are members of the transaction.
 */
export function gen2ContentOf({ type, timestamp, sender, asset }: Content): Gen2Content {
  const nothing = { amount: '0', recipientId: '' };
  const content = asset as JsonObject;
  switch (type) {
    case 8: {
      const { amount, recipientId, data } = content as { amount: string; recipientId: string; data?: string };
      const members = { amount, recipientId, fee: '10000000', asset: data === undefined ? {} : { data } };
      return { type: 0, timestamp, sender, members };
    }
    case 9:
      return { type: 1, timestamp, sender, members: { ...nothing, fee: '500000000', asset: { signature: content } } };
    case 10:
      return { type: 2, timestamp, sender, members: { ...nothing, fee: '2500000000', asset: { delegate: content } } };
    case 11:
      return {
        type: 3,
        timestamp,
        sender,
        members: { amount: '0', recipientId: sender.address, fee: '100000000', asset: content },
      };
    case 12: {
      const { keysgroup } = content as { keysgroup: readonly string[] };
      const fee = String(500_000_000 * (keysgroup.length + 1));
      return { type: 4, timestamp, sender, members: { ...nothing, fee, asset: { multisignature: content } } };
    }
  }
}

/** Valid content of types 0 to 4. */
export const anyGen2Content: fc.Arbitrary<Gen2Content> = anyContent.map(gen2ContentOf);
