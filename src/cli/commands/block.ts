/** `bloomery block`: shows a block of a node's chain with its transactions. */

import { ProtocolError } from '../../primitives/errors.ts';
import { epochMsOf } from '../chain-query/epoch.ts';
import {
  BLOCKS,
  DELEGATES,
  TRANSACTIONS,
  type BlockJson,
  type DelegateJson,
  type TransactionJson,
} from '../chain-query/shapes.ts';
import { askSource, type Source } from '../chain-query/chain-source.ts';
import { descriptionOf, isSet, lsk, rowLines, timeText } from '../chain-query/format-rows.ts';
import type { QueryFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';

const HEIGHT_MAX = 4_294_967_295;
const TRANSACTIONS_SHOWN_MAX = 100;

/**
 * @param which a height, an id or `latest`
 * @throws ProtocolError `BLOCK_UNKNOWN`; errors of `askSource` and of `Source.ask`
 */
export async function block(which: string, flags: QueryFlags): Promise<void> {
  await askSource(flags, (source) => showBlock(source, which, flags));
}

async function showBlock(source: Source, which: string, flags: QueryFlags): Promise<void> {
  const found = await findBlock(source, which);
  const path = `transactions?blockId=${found.id}&limit=${TRANSACTIONS_SHOWN_MAX}`;
  const transactions =
    found.numberOfTransactions === 0 ? [] : await source.ask<readonly TransactionJson[]>(path, TRANSACTIONS);
  if (flags.json === true) {
    printJson({ block: found, transactions });
    return;
  }
  const { confirmations, previousBlockId, generatorPublicKey } = found;
  const [delegate] = await source.ask<readonly DelegateJson[]>(`delegates?publicKey=${generatorPublicKey}`, DELEGATES);
  const time = timeText(found.timestamp, await epochMsOf(source));
  printLines([
    ...rowLines([
      ['block', found.id],
      ['height', `${found.height}${confirmations === undefined ? '' : `, ${confirmations} confirmations`}`],
      ['time', time],
      ['forged by', delegate === undefined ? generatorPublicKey : `${delegate.username}, ${generatorPublicKey}`],
      ...(isSet(previousBlockId) ? [['after block', previousBlockId] as const] : []),
      ['reward', lsk(found.reward)],
      ['fees', lsk(found.totalFee)],
      ['transactions', `${found.numberOfTransactions}, ${lsk(found.totalAmount)}`],
    ]),
    ...transactions.map((each) => `  ${each.id.padEnd(20)}  ${each.senderId} ${descriptionOf(each)}`),
  ]);
}

/**
 * Finds a block by `latest`, height or id. For a number that can be a height or an id, the function first searches for
 * a block with this height, and then for a block with this id.
 */
async function findBlock(source: Source, which: string): Promise<BlockJson> {
  const isHeight = /^[0-9]{1,10}$/.test(which) && Number(which) >= 1 && Number(which) <= HEIGHT_MAX;
  const queries =
    which === 'latest' ? ['limit=1'] : [...(isHeight ? [`height=${Number(which)}`] : []), `blockId=${which}`];
  for (const query of queries) {
    const [found] = await source.ask<readonly BlockJson[]>(`blocks?${query}`, BLOCKS);
    if (found !== undefined) return found;
  }
  throw new ProtocolError('BLOCK_UNKNOWN', { which }, `${source.base} has no block ${which}`);
}
