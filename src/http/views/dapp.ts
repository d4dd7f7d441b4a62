/** Shows registered applications as clients get them. */

import type { TransactionEntry } from '../../ports/queries.ts';

/** Shows the application that the transaction registers. If it registers none, the list is empty. */
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
