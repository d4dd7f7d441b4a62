/**
 * Tests the alerts of `docs/deploy/prometheus-rules.yml` with `promtool test rules`. For each alert there are two sets
 * of time series: one with the fault that the alert reports, and one without it.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

export const RULES_FILE = join(packageDirectory(), 'docs', 'deploy', 'prometheus-rules.yml');

/**
 * Time series by name, each with one value for each minute. The values are in the notation of promtool: `1x3` means the
 * value 1 and three repetitions of it, and `_` means a missing value.
 */
type Figures = Readonly<Record<string, string>>;

export interface RuleCase {
  readonly alert: string;
  readonly faulty: Figures;
  readonly sound: Figures;
  /** At this minute, the alert must fire for the series of `faulty`, and must not fire for the series of `sound`. */
  readonly atMinutes: number;
}

const slots = (result: string): string => `bloomery_own_slots_total{result="${result}"}`;
const contradictions = 'bloomery_diagnostics_total{code="BLOCK_DOUBLE_FORGING"}';

export const RULE_CASES: readonly RuleCase[] = [
  { alert: 'BloomeryDown', faulty: { up: '1x3 0x9' }, sound: { up: '1x12' }, atMinutes: 8 },
  {
    alert: 'BloomerySlotMissed',
    faulty: { [slots('missed')]: '0x5 1x9' },
    sound: { [slots('missed')]: '3x14' },
    atMinutes: 7,
  },
  {
    alert: 'BloomeryBlockReverted',
    faulty: { [slots('reverted')]: '0x5 1x9' },
    sound: { [slots('reverted')]: '3x14' },
    atMinutes: 7,
  },
  {
    alert: 'BloomeryLag',
    faulty: { bloomery_chain_lag_blocks: '4x10' },
    sound: { bloomery_chain_lag_blocks: '3x10' },
    atMinutes: 8,
  },
  {
    alert: 'BloomeryChainStands',
    faulty: { bloomery_chain_tip_age_seconds: '121+60x9' },
    sound: { bloomery_chain_tip_age_seconds: '9x9' },
    atMinutes: 4,
  },
  {
    alert: 'BloomeryFinalityStands',
    faulty: { bloomery_chain_finalized_height: '50x60', bloomery_chain_height: '100+6x60' },
    // In generation 2, no block becomes final, so a finalized height of 0 is no fault.
    sound: { bloomery_chain_finalized_height: '0x60', bloomery_chain_height: '100+6x60' },
    atMinutes: 45,
  },
  {
    alert: 'BloomeryFewPeers',
    faulty: { bloomery_peers_connected: '1x20' },
    sound: { bloomery_peers_connected: '2x20' },
    atMinutes: 12,
  },
  {
    alert: 'BloomeryClock',
    faulty: { bloomery_clock_offset_seconds: '-2.5x9' },
    sound: { bloomery_clock_offset_seconds: '1.5x9' },
    atMinutes: 5,
  },
  // The series of this counter begins only when the node reports the code `BLOCK_DOUBLE_FORGING` for the first time
  // after its start. The alert must also fire for this first report, although the series has no earlier value.
  {
    alert: 'BloomeryDoubleForging',
    faulty: { [contradictions]: '_x25 1x9' },
    sound: { [contradictions]: '_x5 1x40' },
    atMinutes: 30,
  },
  {
    alert: 'BloomeryDiskLow',
    faulty: { bloomery_disk_free_bytes: '1900000000x9' },
    sound: { bloomery_disk_free_bytes: '3000000000x9' },
    atMinutes: 7,
  },
  {
    alert: 'BloomeryMemoryNearLimit',
    faulty: { bloomery_memory_own_bytes: '1800x9', bloomery_memory_limit_bytes: '2048x9' },
    sound: { bloomery_memory_own_bytes: '1500x9', bloomery_memory_limit_bytes: '2048x9' },
    atMinutes: 7,
  },
  {
    alert: 'BloomeryRestarts',
    faulty: { process_start_time_seconds: '1x2 2x2 3x2 4x9' },
    sound: { process_start_time_seconds: '1x2 2x13' },
    atMinutes: 12,
  },
  {
    alert: 'BloomeryNotifyFails',
    faulty: { bloomery_notify_failures_total: '0+1x15' },
    sound: { bloomery_notify_failures_total: '0x5 1x9' },
    atMinutes: 14,
  },
];

/**
 * @returns number of tested alerts
 * @throws Error with the output of promtool, if the rules file is invalid or a case fails
 */
export function checkRules(promtool: string): number {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-rules-'));
  try {
    run(promtool, ['check', 'rules', RULES_FILE]);
    const file = join(directory, 'test.json');
    // promtool expects YAML, and JSON is valid YAML.
    writeFileSync(file, JSON.stringify({ rule_files: [RULES_FILE], tests: RULE_CASES.map(testOf) }));
    run(promtool, ['test', 'rules', file]);
    return RULE_CASES.length;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function testOf({ alert, faulty, sound, atMinutes }: RuleCase) {
  const series = (figures: Figures, instance: string) =>
    Object.entries(figures).map(([name, values]) => ({ series: withLabels(name, instance), values }));
  return {
    interval: '1m',
    input_series: [...series(faulty, 'faulty'), ...series(sound, 'sound')],
    promql_expr_test: [
      {
        expr: `count by (instance) (ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: `${atMinutes}m`,
        exp_samples: [{ labels: '{instance="faulty"}', value: 1 }],
      },
    ],
  };
}

function withLabels(name: string, instance: string): string {
  const labels = `job="bloomery",instance="${instance}"`;
  return name.endsWith('}') ? `${name.slice(0, -1)},${labels}}` : `${name}{${labels}}`;
}

function run(program: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (error !== undefined) throw new Error(`${program} cannot be run: ${error.message}`);
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stdout}${stderr}`);
}
