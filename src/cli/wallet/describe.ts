/** Describes a transaction in words, for example for a user who is about to send the transaction. */

import { lskText } from '../../primitives/amount.ts';
import type { Payload, Transaction } from '../../protocol/types.ts';

/**
 * Returns lines with the network, the sender, the content (which depends on the type), and the fee of the transaction.
 *
 * @param where text for the row `network`, for example `mainnet, generation 3` or `of the node`
 */
export function describe({ senderId, fee, payload }: Transaction, where: string): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['network', where],
    ['sender', senderId],
    ...contentOf(payload),
    ['fee', `${lskText(fee)} LSK`],
  ];
  return rows.map(([label, value]) => `  ${label.padEnd(12)}${value}`);
}

function contentOf(payload: Payload): readonly (readonly [string, string])[] {
  switch (payload.kind) {
    case 'transfer':
      return [
        ['recipient', payload.recipientId],
        ['amount', `${lskText(payload.amount)} LSK`],
        ...(payload.data === undefined ? [] : [['data', JSON.stringify(payload.data)] as const]),
      ];
    case 'secondSignature':
      return [['second key', payload.publicKey]];
    case 'delegate':
      return [['delegate', payload.username]];
    case 'vote':
      return payload.votes.map((vote) => ['vote', vote] as const);
    case 'multisignature':
      return [
        ['signatures', `${payload.min} of ${payload.keysgroup.length} for every transaction, from now on for ever`],
        ['lifetime', `${payload.lifetime} h`],
        ...payload.keysgroup.map((key) => ['member', key.slice(1)] as const),
      ];
    case 'dapp':
    case 'inTransfer':
    case 'outTransfer':
      return [['kind', payload.kind]];
  }
}
