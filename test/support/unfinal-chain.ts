/**
 * Makes a chain on which no block becomes final, because too few delegates forge. Real nodes would need more than 20
 * minutes for 400 blocks; this module needs seconds.
 */

import { join } from 'node:path';
import { encryptPassphrase } from '../../src/crypto/keys.ts';
import { journalFileOf, openJournal } from '../../src/node/journal-file.ts';
import type { Block } from '../../src/protocol/types.ts';
import { locationIn, storeChain, writeNetworkFolder } from './chain-folder.ts';
import { ChainMaker, makeNetwork, publicKeyOf } from './chain-maker.ts';

export interface UnfinalChain {
  /** Folders of the network and of the node's data. */
  readonly network: string;
  readonly dataDir: string;
  /** Configuration section that enables further forging by the delegates that made the chain. */
  readonly forging: object;
}

/** Number of delegates that forge. A block can become final only if at least 68 delegates forge. */
const DELEGATES_ON = 60;
const PASSWORD = 'a password';

/**
 * Writes the network folder, the chain, and the signing journal (the file of signed headers) of a node. All blocks
 * after the genesis block were forged on this node, by the first `DELEGATES_ON` delegates of the network. The files
 * look as if the node had just stopped.
 */
export async function writeUnfinalChain(folder: string, height: number): Promise<UnfinalChain> {
  const made = makeNetwork();
  const delegates = made.delegates.slice(0, DELEGATES_ON);
  const maker = new ChainMaker({ ...made, delegates });
  const blocks: Block[] = [made.genesis];
  while (blocks.length < height) blocks.push(maker.forge());
  // Block timestamps are relative to the epoch. With this epoch, the tip is about one slot old.
  const epochMs = Math.floor(Date.now() / 1000 - maker.tip.timestamp - made.params.blockTimeS) * 1000;
  const network = { ...made, params: { ...made.params, epochMs } };
  const dataDir = join(folder, 'data');
  const place = locationIn(dataDir, network);
  await storeChain(place, blocks);
  const journal = openJournal(journalFileOf(place.dataDirectory));
  for (const block of blocks.slice(1)) journal.record(block.generatorPublicKey, { ...block, blockId: block.id });
  journal.close();
  const entries = delegates.map(async (keyPair, index) => ({
    publicKey: publicKeyOf(keyPair),
    // The name of a delegate is its passphrase, because the chain maker derives the delegate's keys from the name.
    encryptedPassphrase: await encryptPassphrase(`delegate ${index + 1}`, PASSWORD, ENCRYPTION),
  }));
  const forging = { force: true, defaultPassword: PASSWORD, delegates: await Promise.all(entries) };
  return { network: writeNetworkFolder(join(folder, 'network'), network), dataDir, forging };
}

const ENCRYPTION = { iterations: 1, salt: Buffer.alloc(16, 1), iv: Buffer.alloc(12, 1) };
