/** Makes a chain with many accounts, for benchmarks that fork a devnet from this chain. */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf } from '../../src/crypto/keys.ts';
import { chainDirectory, openChain } from '../../src/node/chain-tool.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { emptyAccount } from '../../src/protocol/state.ts';
import { openChainStore } from '../../src/store/chain/open.ts';
import { madeChain, locationIn, writeNetworkFolder } from '../support/chain-folder.ts';
import { benchKey } from './filled-store.ts';

const HEIGHT = 150;

export interface ForkSource {
  readonly dataDirectory: string;
  /** Network folder. */
  readonly network: string;
  readonly accounts: number;
  readonly height: number;
  /** Size of the store file in bytes. */
  readonly bytes: number;
  dispose(): void;
}

/**
 * Makes a chain of valid blocks. When the function applies the genesis block, it adds further accounts to the state.
 * The genesis block does not contain these accounts. The argument `accounts` is their number.
 */
export async function makeForkSource(accounts: number): Promise<ForkSource> {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-fork-'));
  const dispose = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const { network, blocks } = madeChain(HEIGHT, { blockTimeS: 10 });
    const place = locationIn(join(folder, 'data'), network);
    const directory = chainDirectory(place);
    const rules = createRules(network.params);
    const store = await openChainStore({ directory, codec: rules.codec, params: network.params, durable: false });
    store.transact((writer) =>
      writer.append(network.genesis, (state) => {
        rules.applyGenesis(state, network.genesis);
        for (let number = 0; number < accounts; number += 1) {
          const publicKey = benchKey(number);
          state.setAccount({ ...emptyAccount(addressOf(publicKey)), publicKey, balance: BigInt(number) * 1000n });
        }
      }),
    );
    await store.close();
    const { chain, close } = await openChain(place, false);
    await chain.append(blocks.slice(1));
    await close();
    const { size } = statSync(join(directory, 'data.mdb'));
    const networkFolder = writeNetworkFolder(join(folder, 'network'), network);
    return {
      ...{ dataDirectory: join(folder, 'data'), network: networkFolder, accounts, height: HEIGHT, bytes: size },
      dispose,
    };
  } catch (error) {
    dispose();
    throw error;
  }
}
