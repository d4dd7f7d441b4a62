/**
 * Makes sure that the store begins with the genesis block of the network. The network defines the genesis block, so the
 * node does not check this block against the rules.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { ChainStore } from '../ports/store.ts';
import type { Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';

/**
 * Writes the genesis block into an empty store. If the store is not empty, the function checks that the first block of
 * the store is the genesis block.
 *
 * @throws ProtocolError `GENESIS_MISMATCH` if the first block of the store is another block
 */
export function openGenesis(store: ChainStore, rules: Rules, genesis: Block): void {
  const first = store.header(1);
  if (first === undefined) {
    store.transact((writer) => {
      writer.append(genesis, (state) => {
        rules.applyGenesis(state, genesis);
      });
    });
    return;
  }
  if (first.id !== genesis.id || first.payloadHash !== genesis.payloadHash) {
    throw new ProtocolError(
      'GENESIS_MISMATCH',
      { stored: first.id, configured: genesis.id },
      `the data folder belongs to a network with genesis block ${first.id}, not ${genesis.id}: ` +
        'choose another data folder, or the network of this data folder',
    );
  }
}
