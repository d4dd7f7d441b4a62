/** Names the folder of a node's chain. */

import { join } from 'node:path';

/** @param dataDirectory folder of a node for one network */
export function chainDirectory({ dataDirectory }: { readonly dataDirectory: string }): string {
  return join(dataDirectory, 'chain');
}
