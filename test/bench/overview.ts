/**
 * Measures signature checks per second, verified and applied blocks per second, and bytes on the disk per empty block
 * and per transfer.
 */

import { performance } from 'node:perf_hooks';
import { createNoble, loadSodium, selectEd25519, type Ed25519 } from '../../src/crypto/ed25519.ts';
import { sha256 } from '../../src/crypto/hash.ts';
import { utf8 } from '../../src/primitives/bytes.ts';
import { createInlineVerifier, createVerifierPool } from '../../src/workers/verifier-pool.ts';
import { applyChain, figure, makeChain, printTable, TRANSFERS_PER_BLOCK } from './chains.ts';

const FULL_BLOCKS = 600;
const EMPTY_BLOCKS = 3000;
/**
 * Maximum number of entries of the signature cache. The cache has room for all signatures of a run, so no signature is
 * checked twice. Each run starts with an empty cache.
 */
const ANSWERS_MAX = 100_000;

export async function benchBlocks(): Promise<void> {
  const backends = [loadSodium(), createNoble()].filter((backend): backend is Ed25519 => backend !== undefined);
  const rates = new Map(backends.map((backend) => [backend.backend, checksPerSecond(backend)]));
  const fastest = selectEd25519().backend;
  const limit = rates.get(fastest) ?? 0;
  printTable('Signature checks on one thread', [
    ['backend', 'checks/s', 'ratio'],
    ...[...rates].map(([name, rate]) => [name, figure(rate), figure(rate / limit, 2)]),
  ]);

  const full = makeChain(FULL_BLOCKS, TRANSFERS_PER_BLOCK);
  const empty = makeChain(EMPTY_BLOCKS, 0);
  const oneThread = await applyChain(full, createInlineVerifier(selectEd25519(), ANSWERS_MAX));
  const pool = createVerifierPool({ threads: 2, cacheEntriesMax: ANSWERS_MAX });
  const threads = await applyChain(full, pool);
  await pool.close();
  const emptyRun = await applyChain(empty, createInlineVerifier(selectEd25519(), ANSWERS_MAX));

  const signaturesPerFullBlock = TRANSFERS_PER_BLOCK + 1;
  const limitBlocks = limit / signaturesPerFullBlock;
  const row = (name: string, blocks: number, seconds: number, transfers: number) => [
    name,
    figure(blocks / seconds),
    figure((blocks * transfers) / seconds),
    figure(blocks / seconds / (transfers === 0 ? limit : limitBlocks), 2),
  ];
  printTable('Blocks verified and applied, durable', [
    ['chain', 'blocks/s', 'transactions/s', 'of one core’s signature limit'],
    row(`${FULL_BLOCKS} full blocks, one thread`, FULL_BLOCKS, oneThread.seconds, TRANSFERS_PER_BLOCK),
    row(`${FULL_BLOCKS} full blocks, two verify threads`, FULL_BLOCKS, threads.seconds, TRANSFERS_PER_BLOCK),
    row(`${EMPTY_BLOCKS} empty blocks, one thread`, EMPTY_BLOCKS, emptyRun.seconds, 0),
  ]);

  const perEmptyBlock = emptyRun.storeBytes / EMPTY_BLOCKS;
  const perTransaction = (oneThread.storeBytes / FULL_BLOCKS - perEmptyBlock) / TRANSFERS_PER_BLOCK;
  printTable('Bytes on disk, indexes and undo records included', [
    ['per empty block', figure(perEmptyBlock)],
    ['per transfer', figure(perTransaction)],
  ]);
}

/**
 * Measures signature checks per second on one thread. Repeats 200 checks that have different keys and messages, as in a
 * real chain.
 */
function checksPerSecond(ed25519: Ed25519): number {
  const checks = Array.from({ length: 200 }, (_, index) => {
    const keyPair = ed25519.keyPairOfSeed(sha256(utf8(`bench ${index}`)));
    const message = sha256(utf8(`message ${index}`));
    return { publicKey: keyPair.publicKey, message, signature: ed25519.sign(message, keyPair.privateKey) };
  });
  let done = 0;
  const startedMs = performance.now();
  while (performance.now() - startedMs < 1500) {
    for (const check of checks) if (!ed25519.verify(check)) throw new Error('a good signature was refused');
    done += checks.length;
  }
  return (done * 1000) / (performance.now() - startedMs);
}
