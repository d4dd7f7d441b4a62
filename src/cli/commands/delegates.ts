/** `bloomery delegates`: lists delegates of a chain by rank. */

import { ProtocolError } from '../../primitives/errors.ts';
import { DELEGATES, votesOf, type DelegateJson } from '../chain-query/shapes.ts';
import { askSource, type Source } from '../chain-query/chain-source.ts';
import { lsk } from '../chain-query/format-rows.ts';
import type { ListFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';
import { tableLines, type Column } from '../table.ts';

const BAD_REQUEST = 400;

/** @throws ProtocolError in the same cases as `askSource` and `Source.ask` */
export async function delegates(flags: ListFlags): Promise<void> {
  const { limit, offset, json } = flags;
  const all = await askSource(flags, (source) => byRank(source, `limit=${limit}&offset=${offset}`));
  if (json === true) printJson({ delegates: all });
  else printLines(tableLines(COLUMNS, all));
}

/**
 * A lisk-sdk node of generation 3 has no ranks, and refuses a request to sort by rank. If the request names no order,
 * such a node sorts by votes.
 */
async function byRank(source: Source, page: string): Promise<readonly DelegateJson[]> {
  try {
    return await source.ask(`delegates?sort=rank:asc&${page}`, DELEGATES);
  } catch (error) {
    const isRefused = error instanceof ProtocolError && error.data['status'] === BAD_REQUEST;
    if (!isRefused) throw error;
    return source.ask(`delegates?${page}`, DELEGATES);
  }
}

const COLUMNS: readonly Column<DelegateJson>[] = [
  { heading: 'rank', of: ({ rank }) => String(rank ?? '-'), isNumber: true },
  { heading: 'delegate', of: ({ username }) => username },
  { heading: 'address', of: ({ account }) => account.address },
  { heading: 'votes', of: (each) => lsk(votesOf(each)), isNumber: true },
  { heading: 'forged', of: ({ producedBlocks }) => String(producedBlocks), isNumber: true },
  { heading: 'missed', of: ({ missedBlocks }) => String(missedBlocks), isNumber: true },
  { heading: 'productivity', of: ({ productivity }) => `${productivity} %`, isNumber: true },
];
