/** `bloomery devnet`: runs several nodes of a private network on this machine. */

import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { bloomeryHome, type Network } from '../../config/network.ts';
import { systemClock } from '../../node/system.ts';
import type { ForkFacts } from '../devnet/fork/prepare.ts';
import type { ForkSource } from '../devnet/fork/source.ts';
import {
  checkDevnetFolder,
  checkForkFolder,
  devnetDirectory,
  lockDevnetFolder,
  placedNetwork,
  readForkFacts,
  wipeDevnetFolder,
  writeDevnetFolder,
  writeForkFacts,
} from '../devnet/folder.ts';
import { chooseNetwork, type ChosenNetwork } from '../devnet/network.ts';
import { blockTimingOf, blockTimingOfFork, type BlockTiming } from '../devnet/block-timing.ts';
import { DEVNET_HOST, planDevnet, type PlannedNode } from '../devnet/plan.ts';
import { runSession } from '../devnet/session.ts';
import { plainScreen, terminalScreen } from '../devnet/table.ts';
import { checkPortsFree } from '../ports.ts';
import { bannerLines } from '../devnet/startup-banner.ts';
import { EXIT, usageError } from '../error-lines.ts';
import { STOP_SIGNALS } from '../stop-request.ts';
import type { DevnetFlags } from '../flags.ts';
import { drawOnTerminal, printStderr, outputIsTerminal, printJson, printLine } from '../output.ts';

const SUMMARY_INTERVAL_MS = 10_000;

/**
 * @throws ProtocolError for wrong flags, a port in use, a folder that the devnet cannot use, or a failure of the devnet
 */
export async function devnet(flags: DevnetFlags): Promise<void> {
  if (flags.newNetworkId === true && flags.fork === undefined) throw usageError('--new-network-id needs --fork');
  if (flags.fork !== undefined) {
    const fork = await chooseFork(flags, flags.fork);
    return run(flags, fork).finally(() => fork.chosen.dispose());
  }
  const chosen = await chooseNetwork(flags, bloomeryHome(process.env));
  const blockTiming = blockTimingOf(flags.blockTime, flags.mine);
  return run(flags, { chosen, blockTiming }).finally(() => chosen.dispose());
}

/** Settings of a devnet that follow from its flags. */
interface Choice {
  readonly chosen: ChosenNetwork;
  readonly blockTiming: BlockTiming;
  readonly source?: ForkSource;
}

async function chooseFork(flags: DevnetFlags, path: string): Promise<Choice & { readonly source: ForkSource }> {
  if (flags.delegates !== undefined) throw usageError('--delegates: a fork has the delegates of its chain');
  // The modules that read chains are loaded on demand, because the modules are large and only a fork needs them.
  const { forkSourceOf, underNewIdentifier } = await import('../devnet/fork/source.ts');
  const source = await forkSourceOf(path, flags.network);
  const blockTiming = blockTimingOfFork(flags.blockTime, flags.mine, source.network.params.blockTimeS);
  if (flags.newNetworkId !== true) {
    // `isTemporary` makes the devnet copy the network folder of the forked chain. The copy is necessary, because the
    // user can remove or change the original folder while the devnet exists.
    return { source, blockTiming, chosen: { network: source.network, isTemporary: true, dispose: () => undefined } };
  }
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-network-'));
  const dispose = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const network = underNewIdentifier(source.network, join(folder, source.network.name));
    return { source, blockTiming, chosen: { network, isTemporary: true, dispose } };
  } catch (error) {
    dispose();
    throw error;
  }
}

async function run(flags: DevnetFlags, { chosen, blockTiming, source }: Choice): Promise<void> {
  const { name } = chosen.network;
  const directory = devnetDirectory(flags, source === undefined ? name : `${name}-fork`);
  if (source !== undefined) refuseSourceInside(directory, source);
  const network = placedNetwork(chosen, blockTiming.slotS, directory);
  const { httpPort, wsPort } = flags;
  const plan = (fork: ForkFacts | undefined): readonly PlannedNode[] => {
    const forkDelegates = source === undefined ? {} : { forkDelegates: fork?.forgers ?? [] };
    return planDevnet({ nodes: flags.nodes, httpPort, wsPort, directory, network, ...forkDelegates });
  };
  const planned = plan(undefined);
  await checkPortsFree(
    planned.flatMap((node) => [node.httpPort, node.wsPort]).map((port) => ({ host: DEVNET_HOST, port })),
  );
  if (flags.fresh !== true) {
    checkForkFolder(directory, source?.path);
    checkDevnetFolder(directory, planned.length, network);
  }

  const lock = lockDevnetFolder(directory);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  const print = flags.json === true ? printStderr : printLine;
  try {
    if (flags.fresh === true) wipeDevnetFolder(directory);
    const areChainsCopied = source !== undefined && readForkFacts(directory) === undefined;
    const fork = source === undefined ? undefined : await forkInto(directory, source, { network, nodes: planned });
    const nodes = fork === undefined ? planned : plan(fork);
    writeDevnetFolder(directory, nodes, chosen.network, network);
    const blockTimeS = (blockTiming.intervalMs ?? network.params.blockTimeS * 1000) / 1000;
    // With `--json`, only the first line of the banner is shown, on the standard error output.
    const lines = bannerLines({ network, nodes, directory, mode: flags.mine, blockTimeS, fork });
    for (const line of flags.json === true ? lines.slice(0, 1) : lines) print(line);
    const { untilHeight } = flags;
    const result = await runSession({
      ...{ directory, network, nodes, httpPort, wsPort, stop },
      restart: flags.restart,
      mode: flags.mine,
      screen:
        outputIsTerminal() && flags.json !== true
          ? terminalScreen(drawOnTerminal)
          : plainScreen(print, SUMMARY_INTERVAL_MS, () => systemClock.nowMs()),
      ...(fork === undefined ? {} : { fork, areChainsCopied }),
      ...(blockTiming.intervalMs === undefined ? {} : { intervalMs: blockTiming.intervalMs }),
      ...(untilHeight === undefined ? {} : { untilHeight }),
      ...(flags.json === true && untilHeight === undefined ? { onReady: printJson } : {}),
    });
    if (result !== undefined && flags.json === true) printJson(result);
    else if (result !== undefined) print(`all nodes hold block ${result.nodes[0]?.blockId} at height ${untilHeight}`);
    else if (untilHeight !== undefined) process.exitCode = EXIT.failed;
    else
      printStderr(
        `devnet stopped; its chain is kept in ${directory}: the same command continues it, and --fresh starts a new chain`,
      );
  } finally {
    lock.release();
  }
}

/** Refuses a source in the folder of the devnet, because the command can remove files from this folder. */
function refuseSourceInside(directory: string, { path, chain }: ForkSource): void {
  const place = chain.kind === 'folder' ? chain.dataDirectory : chain.file;
  const folder = existsSync(directory) ? realpathSync(directory) : directory;
  if (relative(folder, realpathSync(place)).startsWith('..')) return;
  throw usageError(`--fork ${path}: is in the folder of the devnet, ${directory}: choose another with --data-dir`);
}

/**
 * Copies the chain of the source to the nodes, unless an earlier run in `directory` has copied the chain. Returns the
 * facts about the fork.
 */
async function forkInto(
  directory: string,
  source: ForkSource,
  { network, nodes }: { readonly network: Network; readonly nodes: readonly PlannedNode[] },
): Promise<ForkFacts> {
  const earlier = readForkFacts(directory);
  if (earlier !== undefined) return earlier;
  const dataDirectories = nodes.map((node) => join(node.directory, network.name));
  try {
    const { prepareFork } = await import('../devnet/fork/prepare.ts');
    // The folder has no record of a complete copy. An earlier run has possibly left an incomplete copy, so the devnet
    // first removes the files of earlier runs.
    wipeDevnetFolder(directory);
    const facts = await prepareFork({ source, network, dataDirectories });
    writeForkFacts(directory, facts);
    return facts;
  } catch (error) {
    wipeDevnetFolder(directory);
    throw error;
  }
}
