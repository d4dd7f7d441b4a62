/**
 * `npm run chaos -- [--kills 20] [--late-blocks 100] [--cut-blocks 60] [--forger-kills 100] [--kept 30]
 * [--notify-kills 30] [--reader-kills 50] [--doctor-looks 100] [--hosts 5] [--minutes 5] [--load-seconds 600] [--generation 3] [--seed N]`: the long forms of the tests in which nodes are
 * killed, cut off and put under load. 0 kills, blocks, looks, hosts or seconds leave that form out.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { killForger } from './kill-forger.ts';
import { runCutOff } from './cut-off.ts';
import { runDoctorLooks } from './doctor-looks.ts';
import { runKept } from './kept.ts';
import { runNotified } from './notified.ts';
import { runReaderKills } from './reader-kills.ts';
import { reportStands } from './stands-report.ts';
import { runLoad } from './steady-load.ts';
import { RESTART_MS_MAX, chanceOf, runChaos } from './scenario.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    'late-blocks': { type: 'string', default: '100' },
    'cut-blocks': { type: 'string', default: '60' },
    'forger-kills': { type: 'string', default: '100' },
    kept: { type: 'string', default: '30' },
    'notify-kills': { type: 'string', default: '30' },
    'reader-kills': { type: 'string', default: '50' },
    'doctor-looks': { type: 'string', default: '100' },
    hosts: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '5' },
    'devnet-minutes': { type: 'string', default: '30' },
    'load-seconds': { type: 'string', default: '600' },
    generation: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

const say = (line: string): void => console.log(line);
process.exitCode = 0;
try {
  if (values.kills !== '0') await killNodes();
  if (values['cut-blocks'] !== '0') await cutNodeOff();
  if (values.kept !== '0') await killAfterAccepting();
  if (values['notify-kills'] !== '0') await killWhileTelling();
  if (values['reader-kills'] !== '0') await killReaders();
  if (values['doctor-looks'] !== '0') await lookAtHealthy();
  if (values.hosts !== '0') await runOnHosts();
  if (values['devnet-minutes'] !== '0') {
    const options = { minutes: Number(values['devnet-minutes']), generation: 3, chance: chanceOf(Number(values.seed)), say } as const;
    if (!(await reportStands(options))) process.exitCode = 1;
  }
  if (values['load-seconds'] !== '0') await putUnderLoad();
  if (values['forger-kills'] !== '0') await killForgerOften();
} catch (error) {
  console.error(`chaos failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
console.log(process.exitCode === 0 ? 'chaos passed' : 'chaos failed');

async function killNodes(): Promise<void> {
  say(`${values.kills} kills, a node ${values['late-blocks']} blocks late, seed ${values.seed}`);
  const report = await runChaos({
    kills: Number(values.kills),
    lateBlocks: Number(values['late-blocks']),
    chance: chanceOf(Number(values.seed)),
    say,
  });
  const slow = report.restarts.filter(({ answerMs }) => answerMs >= RESTART_MS_MAX);
  say(`${report.signedHeaders} signed headers, ${report.contradictions.length} contradictions`);
  for (const contradiction of report.contradictions) say(contradiction);
  for (const { node, answerMs } of slow) say(`node ${node} answered only after ${answerMs} ms`);
  if (report.contradictions.length > 0 || slow.length > 0) process.exitCode = 1;
}

async function cutNodeOff(): Promise<void> {
  say(`one of five nodes cut off for ${values['cut-blocks']} blocks`);
  const { contradictions } = await runCutOff({ blocks: Number(values['cut-blocks']), say });
  for (const contradiction of contradictions) say(contradiction);
  if (contradictions.length > 0) process.exitCode = 1;
}

async function putUnderLoad(): Promise<void> {
  const generation = values.generation === '2' ? 2 : 3;
  const seconds = Number(values['load-seconds']);
  say(`five nodes of generation ${generation} under 5 transactions per second for ${seconds} s`);
  const { sent, confirmed, peersOfFifth, wrongs } = await runLoad({ generation, seconds, perSecond: 5, say });
  for (const [figure, value] of Object.entries(wrongs)) say(`${figure}: ${value}`);
  if (confirmed < sent || peersOfFifth < 4 || Object.keys(wrongs).length > 0) process.exitCode = 1;
}

async function killAfterAccepting(): Promise<void> {
  say(`${values.kept} kills of a node that has just accepted transactions, seed ${values.seed}`);
  const generation = values.generation === '2' ? 2 : 3;
  const chance = chanceOf(Number(values.seed));
  const { accepted, lost, restored } = await runKept({ generation, kills: Number(values.kept), chance, say });
  say(`${accepted} transactions accepted, ${restored} taken back after kills, ${lost.length} lost`);
  for (const id of lost) say(`lost: ${id}`);
  if (lost.length > 0) process.exitCode = 1;
}

async function killWhileTelling(): Promise<void> {
  const kills = Number(values['notify-kills']);
  say(`a forging node and the receiver of its events, ${kills} kills, seed ${values.seed}`);
  const report = await runNotified({ kills, chance: chanceOf(Number(values.seed)), say });
  const { missed, told, lost, twice, repeated } = report;
  say(`${missed.length} slots missed, ${told} told, ${lost.length} lost, ${repeated} events came again under their id`);
  for (const slot of lost) say(`slot ${slot} was missed, and nobody was told`);
  for (const line of twice) say(line);
  if (missed.length === 0 || lost.length > 0 || twice.length > 0) process.exitCode = 1;
}

async function killReaders(): Promise<void> {
  const kills = Number(values['reader-kills']);
  say(`${kills} kills of processes that read beside a node, and ${kills} of the node, seed ${values.seed}`);
  const chance = chanceOf(Number(values.seed));
  const { load, replacedMs, answeredMs, stale, wrong, grown } = await runReaderKills({
    ...{ kills, nodeKills: kills, chance, say },
  });
  say(`${load.answered} requests answered, ${load.ofKilled} ended with their reader, ${load.lost.length} lost`);
  say(`replaced within ${figuresOf(replacedMs)}, the node answered within ${figuresOf(answeredMs)}`);
  say(`the store grew by ${grown.bytes} bytes in ${grown.blocks} blocks`);
  for (const line of [...load.lost, ...stale, ...wrong]) say(line);
  if (load.lost.length + stale.length + wrong.length > 0) process.exitCode = 1;
}

function figuresOf(timesMs: readonly number[]): string {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const [half = 0, most = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return `${Math.round(half)} ms in half of the cases, ${Math.round(most)} ms in all`;
}

async function lookAtHealthy(): Promise<void> {
  const generation = values.generation === '2' ? 2 : 3;
  say(`${values['doctor-looks']} looks of the doctor at a healthy network one of whose nodes caught up twice`);
  const { looks, alarms, ofMachine } = await runDoctorLooks({
    looks: Number(values['doctor-looks']),
    generation,
    say,
  });
  say(`${looks} looks, ${alarms.length} alarms, ${ofMachine.length} more by the other work of the machine`);
  if (alarms.length > 0) process.exitCode = 1;
}

/** Needs the right to make network namespaces, and a kernel with VXLAN. */
async function runOnHosts(): Promise<void> {
  say(`${values.hosts} hosts, 20 to 150 ms from one another, for ${values.minutes} minutes`);
  const { hosts, minutes, generation } = values;
  const program = fileURLToPath(new URL('./hosts/main.js', import.meta.url));
  const args = [program, '--hosts', hosts, '--minutes', minutes, '--generation', generation];
  const child = spawn('unshare', ['--net', process.execPath, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) process.exitCode = 1;
}

async function killForgerOften(): Promise<void> {
  say(`${values['forger-kills']} kills of a node that forges a hundred blocks a second, seed ${values.seed}`);
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-kills-'));
  try {
    const kills = Number(values['forger-kills']);
    const report = await killForger({ kills, directory, chance: chanceOf(Number(values.seed)), say });
    say(
      `height ${report.height}, ${report.signedHeaders} signed headers, ${report.contradictions.length} contradictions`,
    );
    const wrong = [
      ...report.contradictions,
      ...report.complaints,
      ...(report.deviation === undefined ? [] : [report.deviation]),
    ];
    for (const each of wrong) say(each);
    if (wrong.length > 0) process.exitCode = 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
