/**
 * A reading process (a process that answers HTTP requests for a node) for stores whose headers and transactions
 * `FAKE_CODEC` encoded.
 */

import { runReader } from '../../src/node/readers/reader-process.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { FAKE_CODEC } from './fake-codec.ts';

runReader((params) => ({
  ...createRules(params),
  // The event log (`ChainLog`, the store's log of applied and reverted blocks) contains the finalized height, so this
  // function need not compute it.
  finalizedHeight: () => 0,
  codec: { ...FAKE_CODEC, transactionToJson: ({ id }) => ({ id, asset: { submitted: true } }) },
}));
