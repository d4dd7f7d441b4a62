/** A reading process for stores that contain the readable bytes of `FAKE_CODEC`. */

import { runReader } from '../../src/node/readers/reader-process.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { FAKE_CODEC } from './fake-codec.ts';

runReader((params) => ({
  ...createRules(params),
  // The log of the store contains the finalized height.
  finalizedHeight: () => 0,
  codec: { ...FAKE_CODEC, transactionToJson: ({ id }) => ({ id, asset: { submitted: true } }) },
}));
