/**
 * `bloomery start`: runs a node. Five events can end the node: a signal, the end of the supervisor that started the
 * process (see `stopRequest`), damage of the store, an uncaught error, and a stop by the watchdog.
 */

import { join } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { bloomeryHome, findNetworkDirectory, loadNetwork, type Network } from '../../config/network.ts';
import type { Config } from '../../config/schema.ts';
import { decryptPassphrase, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { chainDirectory } from '../../node/chain-tool.ts';
import { checkTlsFiles } from '../../node/http-options.ts';
import { checkMemoryLimit } from '../../node/memory-budget.ts';
import { startNode } from '../../node/node.ts';
import { endLeftoverReaders } from '../../node/readers/leftover-readers.ts';
import { systemClock } from '../../node/system.ts';
import { webhookSecretOf } from '../../node/notify/secret.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { ProtocolError, messageOf } from '../../primitives/errors.ts';
import { dataFolderOf } from '../chain-location.ts';
import { storeInUse, storeOwner } from '../../store/disk/environment.ts';
import { beginNodeProgram } from '../node-program.ts';
import { checkPortsFree, endpointsOf } from '../ports.ts';
import type { StartFlags } from '../flags.ts';
import { defaultProcesses } from '../default-processes.ts';
import { withDamageReport } from '../damage-report.ts';
import { printLine } from '../output.ts';
import { systemdNotifier } from '../systemd.ts';

/**
 * @throws ProtocolError if a port is in use, or if one of the following is invalid: the network folder, `--data-dir`,
 *   the configuration, the webhook secret, the TLS key, the TLS certificate, or a forging passphrase. When one of these
 *   errors occurs, the node has written nothing
 * @throws ProtocolError if the node cannot start, or if damage of the store ends the node
 */
export async function start(flags: StartFlags): Promise<void> {
  const home = bloomeryHome(process.env);
  const network = loadNetwork(findNetworkDirectory(flags.network, home));
  const config = loadConfig({
    network,
    environment: process.env,
    flags: flagValues(flags),
    processes: defaultProcesses(),
    ...(flags.config === undefined ? {} : { file: flags.config }),
  });
  checkMemoryLimit(config);
  webhookSecretOf(config.notify);
  checkTlsFiles(config.http);
  await checkForgingKeys(config.forging);
  const dataDirectory = join(dataFolderOf(flags.dataDir, home), network.name);
  await endLeftoverReaders(dataDirectory, systemClock);
  await checkPorts(config, chainDirectory({ dataDirectory }));

  const program = beginNodeProgram(config);
  const { metrics, observer, onProgress } = program;
  const node = await program.whenStarted(
    withDamageReport(chainDirectory({ dataDirectory }), () =>
      startNode({ network, dataDirectory, config, observer, metrics, onProgress }),
    ),
  );
  if (node === undefined) return;
  const systemd = systemdNotifier(process.env, observer.module('systemd'));
  systemd.ready();
  const lack = forgingLack(network, config);
  try {
    printLine(startedLine(network.name, node.httpPort, node.wsPort, dataDirectory));
    if (lack !== undefined) printLine(lack);
  } catch (error) {
    await node.close();
    throw error;
  }
  await program.untilEnd({
    damaged: node.damaged,
    close: () => node.close(),
    stopping: () => systemd.stopping(),
  });
}

/**
 * @param directory folder of the chain store
 * @throws ProtocolError `STORE_IN_USE` if a port is in use and another process uses the store. This process is usually
 *   another node, which also uses the port. A different port alone would therefore not help
 * @throws ProtocolError in the same cases as `checkPortsFree`
 */
async function checkPorts(config: Config, directory: string): Promise<void> {
  try {
    await checkPortsFree(endpointsOf(config));
  } catch (error) {
    const owner = storeOwner(directory, systemClock);
    throw owner === undefined ? error : storeInUse(directory, owner);
  }
}

/**
 * Returns a text for the user if everybody knows the passphrases of the network's delegates (`Forgers.arePublished`),
 * as on a devnet. The text says that no block is forged, because no delegate forges on this node and no peer is
 * configured. The text also names two ways to forge blocks. Returns undefined for any other network. Also returns
 * undefined if peers are configured, if `forging.force` is set, or if forging is disabled.
 */
function forgingLack({ name, directory, forgers }: Network, { forging, p2p }: Config): string | undefined {
  if (forgers?.arePublished !== true || p2p.fixedPeers.length + p2p.seedPeers.length > 0) return undefined;
  if (!forging.enabled || forging.force) return undefined;
  return (
    `${name}: no delegate forges here and no peer is configured, so no block is forged: ` +
    `bloomery devnet --network ${directory} runs all delegates; forging.force: true runs the delegates of this node`
  );
}

function startedLine(name: string, httpPort: number, wsPort: number, dataDirectory: string): string {
  const http = httpPort === 0 ? 'no HTTP' : `HTTP on port ${httpPort}`;
  const peers = wsPort === 0 ? 'no peers' : `peers on port ${wsPort}`;
  return `${name}: ${http}, ${peers}, data in ${dataDirectory}`;
}

function flagValues(flags: StartFlags): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  if (flags.httpPort !== undefined) values.set('http.port', flags.httpPort);
  if (flags.wsPort !== undefined) values.set('p2p.port', flags.wsPort);
  if (flags.peer !== undefined) values.set('p2p.fixedPeers', flags.peer);
  if (!flags.peers) values.set('p2p.enabled', false);
  if (!flags.forging) values.set('forging.enabled', false);
  if (flags.riskDoubleForging === true) values.set('forging.riskDoubleForging', true);
  return values;
}

/**
 * If both `forging.enabled` and `forging.force` are set, checks that `forging.defaultPassword` decrypts the passphrase
 * of each configured delegate. No part of the node is open yet, so an error needs no clean-up.
 *
 * @throws ProtocolError `FORGING_PASSPHRASE_INVALID` with the first delegate whose passphrase cannot be decrypted with
 *   the password, or belongs to a public key other than the configured public key
 */
async function checkForgingKeys({ enabled, force, delegates, defaultPassword }: Config['forging']): Promise<void> {
  if (!enabled || !force) return;
  for (const { publicKey, encryptedPassphrase } of delegates) {
    let reason: string | undefined;
    try {
      const passphrase = await decryptPassphrase(encryptedPassphrase, defaultPassword);
      const actual = hexOf(keyPairOfPassphrase(passphrase).publicKey);
      if (actual !== publicKey) reason = 'it belongs to another public key';
    } catch (error) {
      reason = messageOf(error);
    }
    if (reason === undefined) continue;
    throw new ProtocolError(
      'FORGING_PASSPHRASE_INVALID',
      { publicKey },
      `forging.delegates: the encrypted passphrase of ${publicKey} cannot be used (${reason}): ` +
        'correct it or forging.defaultPassword, or start with --no-forging',
    );
  }
}
