import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { runChecks } from '../../src/cli/doctor/run-checks.ts';
import type { DiagnosticState } from '../../src/cli/node-client.ts';
import {
  closeAfter,
  contradictions,
  highestHeight,
  startTestDevnet,
  waitFor,
  waitForCommonBlock,
  waitForCommonDigest,
} from '../support/devnet.ts';
import { limitFileSize } from '../support/full-disk.ts';

/** Limit on the file size that is too small for another block, but large enough for the signing record. */
const NO_ROOM_BYTES = 32_768;
/**
 * Maximum number of newest blocks of the node `full` that may be on another branch than the chain of the node `sound`.
 */
const TIP_BLOCKS = 2;

test('a node on a full disk answers, signs nothing, reports the fault, and catches up when it has room', async (t) => {
  t.timeout(600_000);
  const devnet = await startTestDevnet({ nodes: 2 });
  closeAfter(t, devnet);
  const [sound, full] = devnet.nodes;
  if (sound === undefined || full === undefined) return t.fail('the devnet has no two nodes');
  await waitForCommonBlock(devnet.nodes, 4, 150_000);
  const folder = join(full.plan.directory, devnet.network.name);
  const journal = join(folder, 'forging-journal');
  const store = statSync(join(folder, 'chain', 'data.mdb')).size;
  const pid = full.pid() ?? 0;
  const diagnosticOf = async (module: string, code: string): Promise<DiagnosticState | undefined> => {
    const answer = await fetch(`${full.url}/api/node/diagnostics?limit=500`);
    const { data } = (await answer.json()) as { data: DiagnosticState[] };
    return data.find((diagnostic) => diagnostic.module === module && diagnostic.code === code);
  };

  limitFileSize(pid, store);
  const failed = await waitFor('word of the failed write', () => diagnosticOf('chain', 'STORE_WRITE_FAILED'), 150_000);
  t.regex(failed.message, /free space on the disk/);
  t.regex(String(failed.fields['reason']), /could not be written: (File too large|Input.output error)/);

  // With the limit `store` (the size of the store file), the file may still have free pages for one more block. With
  // the limit `NO_ROOM_BYTES`, the node cannot write another block.
  limitFileSize(pid, NO_ROOM_BYTES);
  const { height } = await full.client.status();
  const tip = await full.client.blockId(height);
  const signed = readFileSync(journal, 'utf8');

  // During the next two waits, many slots of the delegates of `full` pass.
  await waitFor('blocks of the other node', async () => (await highestHeight([sound])) >= height + 6, 150_000);
  await waitFor('slots let pass', () => diagnosticOf('forge', 'FORGING_PAUSED'), 150_000);
  t.is(readFileSync(journal, 'utf8'), signed);
  t.is((await full.client.status()).height, height);
  t.is(await full.client.blockId(height), tip);
  // The tip of `full` and its predecessor may belong to a branch that `sound` has abandoned.
  const below = height - TIP_BLOCKS;
  t.is(await full.client.blockId(below), await sound.client.blockId(below));
  const findings = await runChecks({ url: full.url, environment: {} });
  t.is(findings[0]?.code, 'WRITES_FAIL', JSON.stringify(findings));

  limitFileSize(pid, undefined);
  await waitForCommonBlock(devnet.nodes, await highestHeight([sound]), 150_000);
  t.is(full.pid(), pid);
  await waitForCommonDigest(devnet.nodes, 150_000);
  await waitFor('a new signature', async () => readFileSync(journal, 'utf8') !== signed, 150_000);
  t.truthy(await diagnosticOf('chain', 'STORE_RECOVERED'));
  const after = await runChecks({ url: full.url, environment: {} });
  t.deepEqual(
    after.filter(({ code }) => code === 'WRITES_FAIL'),
    [],
  );
  t.deepEqual(contradictions(devnet), []);
});
