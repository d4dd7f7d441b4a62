/** `bloomery devnet`: several nodes of a private network on this machine. */

import { join, resolve } from 'node:path';
import { bloomeryHome } from '../../config/network.ts';
import { systemClock } from '../../node/system.ts';
import {
  checkDevnetFolder,
  lockDevnetFolder,
  placedNetwork,
  wipeDevnetFolder,
  writeDevnetFolder,
} from '../devnet/folder.ts';
import { chooseNetwork, type ChosenNetwork } from '../devnet/network.ts';
import { DEVNET_HOST, planDevnet } from '../devnet/plan.ts';
import { processParts, runDevnet } from '../devnet/supervisor.ts';
import { plainScreen, terminalScreen } from '../devnet/table.ts';
import { checkPortsFree } from '../ports.ts';
import { EXIT } from '../problems.ts';
import { STOP_SIGNALS } from '../stop-request.ts';
import type { DevnetFlags } from '../flags.ts';
import { drawOnTerminal, note, outputIsTerminal, printJson, printLine } from '../output.ts';

const SUMMARY_INTERVAL_MS = 10_000;

/** @throws ProtocolError for what is wrong with the flags, a port that is taken, or a devnet that fails */
export async function devnet(flags: DevnetFlags): Promise<void> {
  const chosen = await chooseNetwork(flags, bloomeryHome(process.env));
  try {
    await run(flags, chosen);
  } finally {
    chosen.dispose();
  }
}

async function run(flags: DevnetFlags, chosen: ChosenNetwork): Promise<void> {
  const directory =
    flags.dataDir === undefined ? join(bloomeryHome(process.env), chosen.network.name) : resolve(flags.dataDir);
  const network = placedNetwork(chosen, flags.blockTime, directory);
  const nodes = planDevnet({ nodes: flags.nodes, httpPort: flags.httpPort, wsPort: flags.wsPort, directory, network });
  await checkPortsFree(
    nodes.flatMap(({ httpPort, wsPort }) => [httpPort, wsPort]).map((port) => ({ host: DEVNET_HOST, port })),
  );
  if (flags.fresh !== true) checkDevnetFolder(directory, nodes.length, network);

  const lock = lockDevnetFolder(directory);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  const say = flags.json === true ? note : printLine;
  try {
    if (flags.fresh === true) wipeDevnetFolder(directory);
    writeDevnetFolder(directory, nodes, chosen.network, network);
    const count = nodes.length === 1 ? 'one node' : `${nodes.length} nodes`;
    const { activeDelegates, blockTimeS } = network.params;
    say(`${count} of ${network.name}, ${activeDelegates} delegates, block time ${blockTimeS} s; Ctrl-C ends them`);
    say(`logs: ${join(directory, 'node-<i>', 'node.log')}`);
    const result = await runDevnet({
      nodes,
      network,
      restart: flags.restart,
      screen:
        outputIsTerminal() && flags.json !== true
          ? terminalScreen(drawOnTerminal)
          : plainScreen(say, SUMMARY_INTERVAL_MS, () => systemClock.nowMs()),
      stop: stop.signal,
      parts: processParts(network, process.argv[1] ?? '', () => systemClock.nowMs()),
      ...(flags.untilHeight === undefined ? {} : { untilHeight: flags.untilHeight }),
      ...(flags.json === true && flags.untilHeight === undefined ? { onReady: printJson } : {}),
    });
    if (result !== undefined && flags.json === true) printJson(result);
    else if (result !== undefined)
      say(`all nodes hold block ${result.nodes[0]?.blockId} at height ${flags.untilHeight}`);
    else if (flags.untilHeight !== undefined) process.exitCode = EXIT.failed;
  } finally {
    lock.release();
  }
}
