/**
 * The forms of `npm run chaos`. A form is one of several long tests. Each form runs its test, prints the results, and
 * returns whether the test passed.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCutOff } from './cut-off.ts';
import { runDoctorLooks } from './doctor-looks.ts';
import { runAccepted } from './kept.ts';
import { killForger } from './kill-forger.ts';
import { runNotified } from './notified.ts';
import { haproxyProgram } from './haproxy.ts';
import { runReaderKills } from './reader-kills.ts';
import { runReplicas } from './replicas.ts';
import { RESTART_MS_MAX, chanceOf, runChaos } from './killed-nodes.ts';
import { reportDevnetRun } from './devnet-report.ts';
import { runLoad } from './steady-load.ts';

/**
 * Options of `npm run chaos`, which runs several tests (the forms, see `FORMS`). Each form has an option with the name
 * of the form. If this option is 0, the form does not run.
 */
export interface ChaosFlags {
  readonly kills: number;
  readonly lateBlocks: number;
  readonly cutBlocks: number;
  readonly kept: number;
  readonly notifyKills: number;
  readonly readerKills: number;
  readonly replicasMinutes: number;
  readonly doctorLooks: number;
  readonly hosts: number;
  readonly minutes: number;
  readonly devnetMinutes: number;
  readonly loadSeconds: number;
  readonly forgerKills: number;
  readonly generation: 2 | 3;
  readonly seed: number;
}

export interface Form {
  /**
   * Name of the form (one of the tests that `npm run chaos` runs), and of its option. The option sets how often the
   * test repeats its action, or how long the test takes; for `hosts`, the option sets the number of hosts.
   */
  readonly name: keyof ChaosFlags;
  /** @returns whether the test passed. @throws Error with the first failed check */
  readonly run: (flags: ChaosFlags) => Promise<boolean>;
}

/** The forms (the tests that `npm run chaos` runs), in the order in which they run. */
export const FORMS: readonly Form[] = [
  { name: 'kills', run: killNodes },
  { name: 'cutBlocks', run: cutNodeOff },
  { name: 'kept', run: killAfterAccepting },
  { name: 'notifyKills', run: killWhileNotifying },
  { name: 'readerKills', run: killReaders },
  { name: 'replicasMinutes', run: readFromReplicas },
  { name: 'doctorLooks', run: lookAtHealthy },
  { name: 'hosts', run: runOnHosts },
  { name: 'devnetMinutes', run: runFaultyDevnet },
  { name: 'loadSeconds', run: putUnderLoad },
  { name: 'forgerKills', run: killForgerOften },
];

const log = (line: string): void => console.log(line);

async function killNodes(flags: ChaosFlags): Promise<boolean> {
  log(`${flags.kills} kills, a node ${flags.lateBlocks} blocks late, seed ${flags.seed}`);
  const report = await runChaos({
    kills: flags.kills,
    lateBlocks: flags.lateBlocks,
    chance: chanceOf(flags.seed),
    log,
  });
  const slow = report.restarts.filter(({ answerMs }) => answerMs >= RESTART_MS_MAX);
  log(`${report.signedHeaders} signed headers, ${report.contradictions.length} contradictions`);
  for (const contradiction of report.contradictions) log(contradiction);
  for (const { node, answerMs } of slow) log(`node ${node} answered only after ${answerMs} ms`);
  return report.contradictions.length === 0 && slow.length === 0;
}

async function cutNodeOff(flags: ChaosFlags): Promise<boolean> {
  log(`one of five nodes cut off for ${flags.cutBlocks} blocks`);
  const { contradictions } = await runCutOff({ blocks: flags.cutBlocks, log });
  for (const contradiction of contradictions) log(contradiction);
  return contradictions.length === 0;
}

async function putUnderLoad(flags: ChaosFlags): Promise<boolean> {
  const { generation } = flags;
  const seconds = flags.loadSeconds;
  log(`five nodes of generation ${generation} under 5 transactions per second for ${seconds} s`);
  const { sent, confirmed, peersOfFifth, wrongs } = await runLoad({ generation, seconds, perSecond: 5, log });
  for (const [figure, value] of Object.entries(wrongs)) log(`${figure}: ${value}`);
  return confirmed >= sent && peersOfFifth >= 4 && Object.keys(wrongs).length === 0;
}

async function killAfterAccepting(flags: ChaosFlags): Promise<boolean> {
  log(`${flags.kept} kills of a node that has just accepted transactions, seed ${flags.seed}`);
  const { generation } = flags;
  const chance = chanceOf(flags.seed);
  const { accepted, lost, restored } = await runAccepted({ generation, kills: flags.kept, chance, log });
  log(`${accepted} transactions accepted, ${restored} restored after kills, ${lost.length} lost`);
  for (const id of lost) log(`lost: ${id}`);
  return lost.length === 0;
}

async function killWhileNotifying(flags: ChaosFlags): Promise<boolean> {
  const kills = flags.notifyKills;
  log(`a forging node and the receiver of its events, ${kills} kills, seed ${flags.seed}`);
  const report = await runNotified({ kills, chance: chanceOf(flags.seed), log });
  const { missed, reported, lost, twice, repeated, delaysMs, slotMs } = report;
  log(
    `${missed.length} slots missed, ${reported} reported, ${lost.length} lost, ${repeated} events came again under their id`,
  );
  const late = delaysMs.filter((each) => each >= 2 * slotMs).length;
  log(
    `from the end of the slot, with node and receiver up, to the webhook: ${figuresOf(delaysMs)}; ${late} of ${delaysMs.length} took two slots (${2 * slotMs} ms) or more`,
  );
  for (const slot of lost) log(`slot ${slot} was missed, and nobody was reported`);
  for (const line of twice) log(line);
  return missed.length > 0 && lost.length === 0 && twice.length === 0;
}

async function killReaders(flags: ChaosFlags): Promise<boolean> {
  const kills = flags.readerKills;
  log(`${kills} kills of processes that read beside a node, and ${kills} of the node, seed ${flags.seed}`);
  const chance = chanceOf(flags.seed);
  const { load, replacedMs, answeredMs, stale, wrong, readerLog, grown } = await runReaderKills({
    ...{ kills, nodeKills: kills, chance, log },
  });
  log(`${load.answered} requests answered, ${load.ofKilled} ended with their reader, ${load.lost.length} lost`);
  log(`replaced within ${figuresOf(replacedMs)}, the node answered within ${figuresOf(answeredMs)}`);
  log(`the store grew by ${grown.bytes} bytes in ${grown.blocks} blocks`);
  for (const line of [...load.lost, ...stale, ...wrong]) log(line);
  // `readerLog` contains the lines of the node's log about its readers. The lines can explain lost requests. For
  // example, the node has perhaps ended a reader that did not respond.
  if (load.lost.length > 0) for (const line of readerLog) if (!line.includes('HTTP_READER_LOST')) log(line);
  return load.lost.length + stale.length + wrong.length === 0;
}

async function readFromReplicas({ replicasMinutes: minutes, seed }: ChaosFlags): Promise<boolean> {
  const haproxy = haproxyProgram();
  if (haproxy === undefined) throw new Error('HAProxy is not installed: apt-get install haproxy');
  log(`64 clients of three nodes behind HAProxy for ${minutes} minutes, seed ${seed}`);
  const faults = ['kill', 'stop', 'pause', 'freeze', 'kill', 'cut'] as const;
  const report = await runReplicas({
    ...{
      minutes,
      clients: 64,
      reorganisations: Math.max(1, Math.floor(minutes / 4)),
      faults,
      haproxy,
      chance: chanceOf(seed),
      log,
    },
  });
  const { clients, reverted, early, balancer } = report;
  log(
    `${clients.answered} answers, ${clients.slow} after more than 5 s, the slowest after ${Math.round(clients.slowestMs)} ms`,
  );
  log(`faults: ${JSON.stringify(report.faults)}, reverted blocks: ${reverted.join()}`);
  log(`the balancer sent ${balancer?.retries} requests once more, and took nodes out ${balancer?.downs} times`);
  log(
    `${clients.back.length} answers went back, ${clients.failed.length} failed, ${early.length} nodes were ready early`,
  );
  log(`without minHeight ${clients.controlBack} answers went back`);
  for (const line of [...clients.back, ...clients.failed, ...early]) if (line !== '') log(line);
  if (clients.controlBack === 0) log('no client saw anything go back without minHeight: this run shows nothing');
  return clients.back.length + clients.failed.length + early.length === 0 && clients.controlBack > 0;
}

function figuresOf(timesMs: readonly number[]): string {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const [half = 0, most = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return `${Math.round(half)} ms in half of the cases, ${Math.round(most)} ms in all`;
}

async function lookAtHealthy(flags: ChaosFlags): Promise<boolean> {
  const { generation } = flags;
  log(`${flags.doctorLooks} looks of the doctor at a healthy network one of whose nodes caught up twice`);
  const { looks, alarms, ofMachine } = await runDoctorLooks({
    looks: flags.doctorLooks,
    generation,
    log,
  });
  log(`${looks} looks, ${alarms.length} alarms, ${ofMachine.length} more by the other work of the machine`);
  return alarms.length === 0;
}

/**
 * Runs nodes on simulated hosts. The run needs the permission to create network namespaces, and a kernel with VXLAN.
 */
async function runOnHosts(flags: ChaosFlags): Promise<boolean> {
  log(`${flags.hosts} hosts, 20 to 150 ms from one another, for ${flags.minutes} minutes`);
  const { hosts, minutes, generation } = flags;
  const program = fileURLToPath(new URL('./hosts/main.js', import.meta.url));
  const args = [program, '--hosts', `${hosts}`, '--minutes', `${minutes}`, '--generation', `${generation}`];
  const child = spawn('unshare', ['--net', process.execPath, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

async function killForgerOften(flags: ChaosFlags): Promise<boolean> {
  log(`${flags.forgerKills} kills of a node that forges a hundred blocks a second, seed ${flags.seed}`);
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-kills-'));
  try {
    const kills = flags.forgerKills;
    const report = await killForger({ kills, directory, chance: chanceOf(flags.seed), log });
    log(
      `height ${report.height}, ${report.signedHeaders} signed headers, ${report.contradictions.length} contradictions`,
    );
    const wrong = [
      ...report.contradictions,
      ...report.complaints,
      ...(report.deviation === undefined ? [] : [report.deviation]),
    ];
    for (const each of wrong) log(each);
    return wrong.length === 0;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runFaultyDevnet({ devnetMinutes, generation, seed }: ChaosFlags): Promise<boolean> {
  log(`a devnet of generation ${generation} for ${devnetMinutes} minutes, its nodes stopped and killed, seed ${seed}`);
  return reportDevnetRun({ minutes: devnetMinutes, generation, chance: chanceOf(seed), log });
}
