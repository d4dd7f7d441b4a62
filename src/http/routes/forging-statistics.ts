/** Declares the route for the earnings of a delegate. */

import type { NodeApi } from '../../ports/node-api.ts';
import type { ForgingStatistics } from '../../ports/queries.ts';
import type { Account } from '../../protocol/state.ts';
import type { HttpDialect } from '../dialect.ts';
import { addressInPath, integerParameter, TOO_MANY_QUERIES } from '../parameters.ts';
import { invalidRequest } from '../problems.ts';
import type { CheckedRequest, Route } from '../route.ts';
import { AMOUNT, INTEGER, objectOf, TEXT } from '../views/shapes.ts';

export function forgingStatisticsRoute(dialect: HttpDialect): Route {
  return {
    method: 'GET',
    path: '/delegates/{address}/forging_statistics',
    summary:
      dialect.generation === 2
        ? 'Shows the earnings of a delegate. With `fromTimestamp` or `toTimestamp`, the answer covers the payments and the forged blocks of the rounds that ended in this time span, so `count` does not include the blocks of the present round. Without a time span, `count` includes these blocks.'
        : 'Shows the earnings of a delegate. Without a time span, `rewards` and `fees` are the amounts that the delegate got for all finished rounds. `fees` is then the share of the delegate in the fees of these rounds. `count` also includes the blocks of the present round. With `fromTimestamp` or `toTimestamp`, the answer covers only the blocks that the delegate forged in this time span. `fees` is then the sum of all fees in these blocks, not the share of the delegate. A node of lisk-sdk 3.0.2 computes `fees` in the same two ways.',
    parameters: [
      addressInPath(
        dialect.generation === 2
          ? 'Address of the delegate. The node answers 400 if the account is unknown or not a delegate.'
          : 'Address of the delegate. The node answers 400 if the account is unknown. Without `fromTimestamp` and `toTimestamp`, the node also answers 400 if the account is not a delegate.',
        {},
      ),
      integerParameter(
        'fromTimestamp',
        0,
        'Start of the time span, as Unix time in milliseconds. If the value is absent or 0, the time span begins at the epoch of the network.',
      ),
      integerParameter(
        'toTimestamp',
        1,
        'End of the time span, as Unix time in milliseconds. If the value is absent, the time span ends at the present time of the node.',
      ),
    ],
    unknownParameters: 'ignored',
    answer: {
      meta: objectOf({ fromTimestamp: INTEGER, toTimestamp: INTEGER }),
      data: objectOf({
        fees: AMOUNT,
        rewards: AMOUNT,
        forged: AMOUNT,
        count: { ...TEXT, description: 'Number of forged blocks.' },
      }),
    },
    errors: { 503: TOO_MANY_QUERIES },
    handle: async (api, request) => {
      const fromMs = request.number('fromTimestamp') || undefined;
      const toMs = request.number('toTimestamp') || undefined;
      const account = api.chain.accountBy({ address: request.text('address') ?? '' });
      if (account === undefined) throw unfit('Account not found');
      const isBounded = fromMs !== undefined || toMs !== undefined;
      if (account.username === undefined && (!isBounded || dialect.generation === 2))
        throw unfit('Account is not a delegate');
      const { feesBeddows, rewardsBeddows, blocks } = isBounded
        ? await withinSpan(api, account, request, dialect)
        : { feesBeddows: account.forgedFees, rewardsBeddows: account.forgedRewards, blocks: account.producedBlocks };
      return {
        meta: { fromTimestamp: fromMs ?? api.params.epochMs, toTimestamp: toMs ?? (await api.status()).currentTimeMs },
        data: {
          fees: feesBeddows.toString(),
          rewards: rewardsBeddows.toString(),
          forged: (feesBeddows + rewardsBeddows).toString(),
          count: blocks.toString(),
        },
      };
    },
  };
}

async function withinSpan(
  api: NodeApi,
  account: Account,
  request: CheckedRequest,
  dialect: HttpDialect,
): Promise<ForgingStatistics> {
  if (account.publicKey === undefined) return { feesBeddows: 0n, rewardsBeddows: 0n, blocks: 0 };
  const fromS = epochSeconds(api, request.number('fromTimestamp') || api.params.epochMs);
  const toS = epochSeconds(api, request.number('toTimestamp') || (await api.status()).currentTimeMs);
  return dialect.generation === 2
    ? api.chain.roundForgingStatistics(account.publicKey, fromS, toS)
    : api.chain.blockForgingStatistics(account.publicKey, fromS, toS);
}

/**
 * Converts Unix time in milliseconds to seconds since the epoch of the chain. Timestamps of blocks have 32 bits. If the
 * result is beyond ±`TIME_MAX_S`, the function therefore returns the nearer of these two limits.
 */
function epochSeconds(api: NodeApi, unixMs: number): number {
  const seconds = Math.floor((unixMs - api.params.epochMs) / 1000);
  return Math.max(-TIME_MAX_S, Math.min(TIME_MAX_S, seconds));
}

const TIME_MAX_S = 0x7fff_ffff;

function unfit(message: string) {
  return invalidRequest([{ name: 'address', message, in: 'path', code: 'INVALID_PARAM' }]);
}
