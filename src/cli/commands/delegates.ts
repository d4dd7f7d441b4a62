/** `bloomery delegates`: delegates of a node's chain by rank. */

import { nodeAsker } from '../ask-node.ts';
import { DELEGATES, type DelegateJson } from '../explore/shapes.ts';
import { lsk } from '../explore/words.ts';
import type { ListFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';

/** @throws ProtocolError as asking does */
export async function delegates({ node: url, limit, offset, json }: ListFlags): Promise<void> {
  const path = `delegates?sort=rank:asc&limit=${limit}&offset=${offset}`;
  const all = await nodeAsker(url).ask<readonly DelegateJson[]>(path, DELEGATES);
  if (json === true) {
    printJson({ delegates: all });
    return;
  }
  printLines([HEADING, ...all.map(lineOf)]);
}

const HEADING = `${'rank'.padStart(5)}  ${'delegate'.padEnd(20)}  ${'address'.padEnd(22)}  ${'votes'.padStart(22)}  forged  missed`;

function lineOf({ rank, username, account, vote, producedBlocks, missedBlocks }: DelegateJson): string {
  const counts = `${String(producedBlocks).padStart(6)}  ${String(missedBlocks).padStart(6)}`;
  return `${String(rank).padStart(5)}  ${username.padEnd(20)}  ${account.address.padEnd(22)}  ${lsk(vote).padStart(22)}  ${counts}`;
}
