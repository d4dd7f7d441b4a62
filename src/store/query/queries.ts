/**
 * Answers queries over a stored chain, in pages. The HTTP interface prescribes the sort orders, the tie-breaks, the
 * place of null values in a sort order, and the meaning of `total` in a page.
 */

import type { ChainQueries } from '../../ports/queries.ts';
import type { ChainParams } from '../../protocol/params.ts';
import type { BlockHeader } from '../../protocol/types.ts';
import type { StoredChain } from '../chain/stored-chain.ts';
import { BACKGROUND_QUERY_DEFAULTS, BackgroundQueries, type BackgroundQueryOptions } from './background-queries.ts';
import { AccountQueries } from './query-accounts.ts';
import { BlockQueries } from './query-blocks.ts';
import { DelegateQueries } from './query-delegates.ts';
import { TransactionQueries } from './query-transactions.ts';

/**
 * Creates the queries over a store. A query that runs immediately shows the chain at the moment of the call. A query
 * that runs in the background shows the chain at the moment when it begins to run. Call a query only while no database
 * transaction of the store is running. During a database transaction, a query could read changes that are rolled back
 * later.
 *
 * @param options limits of background queries; `pause` lets other work run between chunks
 */
export function createQueries(
  store: StoredChain,
  params: ChainParams,
  options: Partial<BackgroundQueryOptions> = {},
): ChainQueries {
  const work = new BackgroundQueries(store, { ...BACKGROUND_QUERY_DEFAULTS, ...options });
  const delegates = new DelegateQueries(store, params);
  const accounts = new AccountQueries(store, delegates, work);
  const blocks = new BlockQueries(store, params, work);
  const transactions = new TransactionQueries(store, work);
  return {
    tip: () => store.tip(),
    latestHeaders: (limit) => latestHeaders(store, limit),
    blockByHeight: (height) => store.block(height),
    accounts: (query) => accounts.accounts(query),
    delegates: (query) => delegates.delegates(query),
    blocks: (query) => blocks.blocks(query),
    transactions: (query) => transactions.transactions(query),
    accountBy: (identity) => accounts.accountBy(identity),
    voters: (publicKey, query) => accounts.voters(publicKey, query),
    votes: (account, query) => accounts.votes(account, query),
    group: (address) => accounts.group(address),
    memberships: (account) => accounts.memberships(account),
    dapps: (query) => transactions.dapps(query),
    transactionCount: () => transactions.count(),
    blockForgingStatistics: (publicKey, fromTimestampS, toTimestampS) =>
      blocks.forgingStatistics(publicKey, fromTimestampS, toTimestampS),
    roundForgingStatistics: (publicKey, fromTimestampS, toTimestampS) =>
      blocks.roundStatistics(publicKey, fromTimestampS, toTimestampS),
  };
}

function latestHeaders(store: StoredChain, limit: number): readonly BlockHeader[] {
  const headers: BlockHeader[] = [];
  for (let height = store.tip()?.height ?? 0; height >= 1 && headers.length < limit; height -= 1) {
    const header = store.header(height);
    if (header !== undefined) headers.push(header);
  }
  return headers;
}
