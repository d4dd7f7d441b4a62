/** `bloomery devnet`: several nodes of a private network on this machine. */

import { bloomeryHome } from '../../config/network.ts';
import { systemClock } from '../../node/system.ts';
import {
  checkDevnetFolder,
  devnetDirectory,
  lockDevnetFolder,
  placedNetwork,
  wipeDevnetFolder,
  writeDevnetFolder,
} from '../devnet/folder.ts';
import { chooseNetwork, type ChosenNetwork } from '../devnet/network.ts';
import { paceOf } from '../devnet/pace.ts';
import { DEVNET_HOST, planDevnet } from '../devnet/plan.ts';
import { runSession } from '../devnet/session.ts';
import { plainScreen, terminalScreen } from '../devnet/table.ts';
import { checkPortsFree } from '../ports.ts';
import { welcomeLines } from '../devnet/welcome.ts';
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
  const directory = devnetDirectory(flags, chosen.network.name);
  const pace = paceOf(flags.blockTime, flags.mine);
  const network = placedNetwork(chosen, pace.slotS, directory);
  const { httpPort, wsPort } = flags;
  const nodes = planDevnet({ nodes: flags.nodes, httpPort, wsPort, directory, network });
  await checkPortsFree(
    nodes.flatMap((node) => [node.httpPort, node.wsPort]).map((port) => ({ host: DEVNET_HOST, port })),
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
    const blockTimeS = (pace.intervalMs ?? network.params.blockTimeS * 1000) / 1000;
    // Where the output is data, the same lines would be in everybody's way.
    const lines = welcomeLines({ network, nodes, directory, mode: flags.mine, blockTimeS });
    for (const line of flags.json === true ? lines.slice(0, 1) : lines) say(line);
    const { untilHeight } = flags;
    const result = await runSession({
      ...{ directory, network, nodes, httpPort, wsPort, stop },
      restart: flags.restart,
      mode: flags.mine,
      screen:
        outputIsTerminal() && flags.json !== true
          ? terminalScreen(drawOnTerminal)
          : plainScreen(say, SUMMARY_INTERVAL_MS, () => systemClock.nowMs()),
      ...(pace.intervalMs === undefined ? {} : { intervalMs: pace.intervalMs }),
      ...(untilHeight === undefined ? {} : { untilHeight }),
      ...(flags.json === true && untilHeight === undefined ? { onReady: printJson } : {}),
    });
    if (result !== undefined && flags.json === true) printJson(result);
    else if (result !== undefined) say(`all nodes hold block ${result.nodes[0]?.blockId} at height ${untilHeight}`);
    else if (untilHeight !== undefined) process.exitCode = EXIT.failed;
    else
      note(`devnet stopped; its chain is kept in ${directory}: the same command goes on with it, --fresh begins anew`);
  } finally {
    lock.release();
  }
}
