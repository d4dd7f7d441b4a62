/**
 * Implements `bloomery/testing`, with which the test of an application starts a devnet inside the process of the test.
 * See docs/guides/test-applications.md.
 */

import { bloomeryHome } from '../config/network.ts';
import { chooseNetwork } from '../cli/devnet/network.ts';
import { readAccounts } from '../cli/genesis/accounts-file.ts';
import { SILENT } from '../ports/observer.ts';
import { createObserver } from '../telemetry/logger.ts';
import { checkOptions } from './checks.ts';
import { MemoryDevnet } from './memory-devnet.ts';
import type { DevnetOptions, TestDevnet } from './types.ts';

export type {
  DevnetOptions,
  Mined,
  MiningMode,
  NetworkFacts,
  SendOptions,
  SentTransaction,
  Snapshot,
  TestAccount,
  TestDevnet,
  TestNode,
  TransactionPayload,
} from './types.ts';

/**
 * Starts a devnet in this process. The nodes keep all data in memory, and listen for HTTP on free ports of the loopback
 * address. Any number of devnets can run at the same time. `close` ends the devnet. If a test declares a variable for
 * the devnet with `await using`, the devnet ends at the end of the scope of this variable.
 *
 * @throws an error that names the fault if the options, the network folder or its `accounts.json` are invalid
 */
export async function startDevnet(options: DevnetOptions = {}): Promise<TestDevnet> {
  checkOptions(options);
  const { nodes = 1, mine = 'instant', generation = 3, delegates, network: name, log } = options;
  const choice = {
    generation,
    ...(delegates === undefined ? {} : { delegates }),
    ...(name === undefined ? {} : { network: name }),
  };
  const chosen = await chooseNetwork(choice, bloomeryHome(process.env));
  let devnet: MemoryDevnet;
  try {
    const { network } = chosen;
    const accounts = readAccounts(network.directory);
    const observer = log === undefined ? SILENT : createObserver({ level: log, format: 'human' });
    devnet = new MemoryDevnet({ network, accounts, nodes, mode: mine, observer });
  } finally {
    chosen.dispose();
  }
  try {
    await devnet.start();
    return devnet;
  } catch (error) {
    await devnet.close().catch(() => undefined);
    throw error;
  }
}
