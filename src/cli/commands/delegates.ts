/** `bloomery delegates`: lists delegates of a chain by rank. */

import { DELEGATES, type DelegateJson } from '../chain-query/shapes.ts';
import { askSource } from '../chain-query/chain-source.ts';
import { lsk } from '../chain-query/format-rows.ts';
import type { ListFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';
import { tableLines, type Column } from '../table.ts';

/** @throws ProtocolError in the same cases as `askSource` and `Source.ask` */
export async function delegates(flags: ListFlags): Promise<void> {
  const { limit, offset, json } = flags;
  const path = `delegates?sort=rank:asc&limit=${limit}&offset=${offset}`;
  const all = await askSource(flags, (source) => source.ask<readonly DelegateJson[]>(path, DELEGATES));
  if (json === true) printJson({ delegates: all });
  else printLines(tableLines(COLUMNS, all));
}

const COLUMNS: readonly Column<DelegateJson>[] = [
  // A delegate of generation 2 has no rank before the end of the round in which the delegate registered.
  { heading: 'rank', of: ({ rank }) => (rank === null ? '-' : String(rank)), isNumber: true },
  { heading: 'delegate', of: ({ username }) => username },
  { heading: 'address', of: ({ account }) => account.address },
  { heading: 'votes', of: ({ vote }) => lsk(vote), isNumber: true },
  { heading: 'forged', of: ({ producedBlocks }) => String(producedBlocks), isNumber: true },
  { heading: 'missed', of: ({ missedBlocks }) => String(missedBlocks), isNumber: true },
  { heading: 'productivity', of: ({ productivity }) => `${productivity} %`, isNumber: true },
];
