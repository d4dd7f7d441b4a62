/** Makes the JSON objects that show registered applications to clients of the HTTP API. */

import type { TransactionEntry } from '../../ports/queries.ts';

/**
 * Returns a list with the application that the transaction registers. If the transaction registers no application, the
 * list is empty.
 */
export function dappView({ transaction }: TransactionEntry): readonly Readonly<Record<string, unknown>>[] {
  const { payload } = transaction;
  if (payload.kind !== 'dapp') return [];
  const { dapp } = payload;
  return [
    {
      name: dapp.name,
      description: dapp.description ?? '',
      tags: dapp.tags ?? '',
      link: dapp.link ?? '',
      type: dapp.type,
      category: dapp.category,
      icon: dapp.icon ?? '',
      transactionId: transaction.id,
    },
  ];
}
