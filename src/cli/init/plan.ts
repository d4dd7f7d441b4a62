/** Plans the files of `bloomery init`, from the flags and from the user's answers to the questions of the command. */

import { basename, join, resolve } from 'node:path';
import {
  findNetworkDirectory,
  homeNetworkDirectory,
  loadNetwork,
  networkNames,
  packagedNetworkDirectory,
  type Network,
} from '../../config/network.ts';
import type { InitFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { readDelegate, type DelegatePlan } from './delegate.ts';
import type { Interview } from './interview.ts';

export interface InitPlan {
  readonly network: Network;
  /** Value for `--network` that names the network from any working directory: a name, or an absolute path. */
  readonly networkFlag: string;
  /** `BLOOMERY_HOME` of the node. The node looks for the user's own networks in the subfolder `networks`. */
  readonly home: string;
  /**
   * Absolute path of the folder for data. (All paths in a plan are absolute.) The node stores its data in
   * `<folder>/<network>`.
   */
  readonly dataDirectory: string;
  readonly configFile: string;
  /** Path of the systemd unit; undefined if the command writes no unit. */
  readonly unitFile: string | undefined;
  readonly httpPort: number;
  readonly wsPort: number;
  readonly isPublic: boolean;
  /** Undefined for a node that does not forge. */
  readonly delegate: DelegatePlan | undefined;
}

const NETWORK_PRESET = 'devnet';

/**
 * @param interview undefined with `--yes`. In this case, a flag must name the network, and all other values without a
 *   flag have their defaults. If a delegate forges on the node, the command still asks for the password that encrypts
 *   the passphrase of the delegate. The command does not ask if `--password-file` or the environment supplies this
 *   password
 * @throws ProtocolError `USAGE`, and errors of `findNetworkDirectory`, `loadNetwork`, `Interview.ask` and
 *   `readDelegate`
 */
export async function planInit(flags: InitFlags, home: string, interview: Interview | undefined): Promise<InitPlan> {
  const names = networkNames(home);
  const networkFlag =
    flags.network ??
    (await interview?.ask({
      text: `Network (${names.join(', ')}, or the path of a folder)`,
      preset: NETWORK_PRESET,
      read: (answer) => (loadNetwork(findNetworkDirectory(answer, home)), answer),
    }));
  if (networkFlag === undefined) throw usageError('--network is required with --yes: name a network');
  const network = loadNetwork(findNetworkDirectory(networkFlag, home));
  const folder =
    flags.dataDir ?? (await interview?.ask({ text: 'Folder for data', preset: home, read: pathOf })) ?? home;
  const dataDirectory = resolve(folder);
  const port = (text: string, given: number | undefined, preset: number) =>
    given ?? interview?.ask({ text, preset: String(preset), read: portOf }) ?? preset;
  const httpPort = await port('Port of the HTTP interface', flags.httpPort, network.httpPort);
  const wsPort = await port('Port for peers', flags.wsPort, network.wsPort);
  if (httpPort === wsPort) throw usageError(`HTTP and peers cannot share port ${httpPort}: choose another one`);
  const isPublic =
    flags.public ?? (await interview?.isYes('May other machines ask the HTTP interface?', false)) ?? false;
  const delegate = await readDelegate(flags, dataDirectory, interview);
  const wantsUnit = flags.unit ?? (await interview?.isYes('Write a systemd unit?', process.platform === 'linux'));
  const unitFile = typeof wantsUnit === 'string' ? resolve(wantsUnit) : join(dataDirectory, 'bloomery.service');
  return {
    network,
    networkFlag: isFoundByName(networkFlag, network, home) ? networkFlag : network.directory,
    home: resolve(home),
    dataDirectory,
    configFile: resolve(flags.config ?? join(dataDirectory, 'config.json5')),
    unitFile: wantsUnit === undefined || wantsUnit === false ? undefined : unitFile,
    httpPort,
    wsPort,
    isPublic,
    delegate,
  };
}

/** Lines that show the plan to the user before any file is written. */
export function summaryOf(plan: InitPlan): readonly string[] {
  const { network, dataDirectory, configFile, unitFile, delegate } = plan;
  return [
    `network        ${network.name}, generation ${network.params.generation}`,
    `data           ${join(dataDirectory, network.name)}`,
    `configuration  ${configFile}`,
    `ports          HTTP ${plan.httpPort}${plan.isPublic ? ', for everybody' : ', for this machine'}; peers ${plan.wsPort}`,
    `forging        ${delegate === undefined ? 'no delegate' : delegate.publicKey}`,
    ...(delegate?.passphraseFile === undefined ? [] : [`passphrase     ${delegate.passphraseFile} (a new account)`]),
    ...(unitFile === undefined ? [] : [`systemd unit   ${unitFile}`]),
  ];
}

function pathOf(answer: string): string {
  if (answer === '') throw usageError('name a folder');
  return answer;
}

function portOf(answer: string): number {
  const port = Number(answer);
  if (/^[0-9]{1,5}$/.test(answer) && port >= 1 && port <= 65_535) return port;
  throw usageError('a port is a number from 1 to 65535');
}

/** True if `name` is not a path, and a node finds the network by this name in the package or in `home`. */
function isFoundByName(name: string, { directory }: Network, home: string): boolean {
  if (basename(name) !== name) return false;
  return [packagedNetworkDirectory(name), homeNetworkDirectory(name, home)].some((each) => resolve(each) === directory);
}
