/** The first lines that `bloomery devnet` prints: addresses of the nodes, accounts with funds, and useful commands. */

import { packagedNetworkDirectory, type Network } from '../../config/network.ts';
import { readAccounts, type KnownAccount } from '../genesis/accounts-file.ts';
import { devnetDirectory } from './folder.ts';
import type { ForkFacts } from './fork/prepare.ts';
import { devnetNetworkName } from './network.ts';
import { DEVNET_HOST, type PlannedNode } from './plan.ts';
import type { MiningMode } from './mining.ts';

const ACCOUNTS_SHOWN = 10;
/** HTTP port that commands use by default. */
const HTTP_PORT = 4000;

export interface BannerFacts {
  readonly network: Network;
  readonly nodes: readonly PlannedNode[];
  readonly directory: string;
  readonly mode: MiningMode;
  /** Seconds between two blocks on the machine's clock. */
  readonly blockTimeS: number;
  readonly fork: ForkFacts | undefined;
}

const PACES: Readonly<Record<MiningMode, (blockTimeS: number) => string>> = {
  interval: (blockTimeS) => `a block every ${blockTimeS} s`,
  instant: () => 'a block when a transaction arrives',
  'on-demand': () => 'a block on request: bloomery devnet mine',
};

export function bannerLines({ network, nodes, directory, mode, blockTimeS, fork }: BannerFacts): readonly string[] {
  const count = nodes.length === 1 ? 'one node' : `${nodes.length} nodes`;
  const { activeDelegates } = network.params;
  const [first] = nodes;
  return [
    `${count} of ${network.name}, ${activeDelegates} delegates, ${PACES[mode](blockTimeS)}; Ctrl-C ends them`,
    ...(fork === undefined ? [] : [`forked     from ${fork.source} at height ${fork.height}, block ${fork.blockId}`]),
    `dashboard  http://${DEVNET_HOST}:${first?.httpPort ?? 0}/`,
    ...nodes.map(({ index, httpPort, wsPort, delegates }) => {
      const forging = delegates.length === 1 ? '1 delegate' : `${delegates.length} delegates`;
      return `node ${index}     http://${DEVNET_HOST}:${httpPort}/api/docs, peers on port ${wsPort}, ${forging}`;
    }),
    `data       ${directory} (logs: node-<i>/node.log)`,
    '',
    ...accountLines(network, first?.httpPort ?? HTTP_PORT),
    `next       bloomery devnet list | mine 10 | warp 1h | freeze | kill 1 | stop${placeWords(directory)} (bloomery devnet --help has them all)`,
  ];
}

/**
 * Returns a part of the line `next` of the banner. The line lists commands, and this part shows the flag that each of
 * these commands needs to find the devnet. The text is empty for a devnet of generation 3 in the default folder,
 * because commands use this devnet by default.
 */
function placeWords(directory: string): string {
  return directory === devnetDirectory({}, devnetNetworkName(3))
    ? ''
    : `, each with --data-dir ${shellText(directory)}`;
}

/**
 * Returns the flag with which commands find the network. The result is empty for the packaged network of generation 3,
 * because commands use this network by default.
 */
function networkWords({ directory, params }: Network): string {
  const packaged = devnetNetworkName(params.generation);
  if (directory !== packagedNetworkDirectory(packaged)) return ` --network ${shellText(directory)}`;
  return params.generation === 3 ? '' : ` --network ${packaged}`;
}

function shellText(path: string): string {
  return /^[\w./:@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function accountLines(network: Network, httpPort: number): readonly string[] {
  let accounts: readonly KnownAccount[];
  try {
    accounts = readAccounts(network.directory);
  } catch {
    // If the user has created the network, its folder can lack a file with passphrases. Without this file, the banner
    // shows no accounts.
    return [];
  }
  const node = httpPort === HTTP_PORT ? '' : ` --node http://${DEVNET_HOST}:${httpPort}`;
  return [
    'accounts   WORTHLESS: everybody knows these passphrases. Never use them on another network.',
    ...accounts
      .slice(0, ACCOUNTS_SHOWN)
      .map(({ name, address, passphrase }) => `  ${name.padEnd(10)} ${address.padEnd(21)} ${passphrase}`),
    `  all of them: bloomery devnet accounts${networkWords(network)}`,
    `  send: bloomery transfer --from account_1 ADDRESS 10${networkWords(network)}${node}`,
    '',
  ];
}
