import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants, getPriority, platform, tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { createNoble, selectEd25519, type Ed25519Backend } from '../../src/crypto/ed25519.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import type { Verifier } from '../../src/ports/verifier.ts';
import type { SignatureCheck } from '../../src/protocol/types.ts';
import { createVerifierPool } from '../../src/workers/verifier-pool.ts';

const signer = createNoble();
const keyPair = signer.keyPairOfSeed(Buffer.alloc(32, 7));

interface KnownCheck {
  readonly check: SignatureCheck;
  readonly right: boolean;
}

/** Returns signature checks with the expected results. Every third check has a wrong signature. */
function knownChecks(count: number, topic: string): KnownCheck[] {
  return Array.from({ length: count }, (_, index) => {
    const message = createHash('sha256').update(`${topic} ${index}`).digest();
    const signature = signer.sign(message, keyPair.privateKey);
    const right = index % 3 !== 0;
    if (!right) signature[index % 64] = (signature[index % 64] ?? 0) ^ 1;
    return { check: { publicKey: keyPair.publicKey, message, signature }, right };
  });
}

async function expectRightAnswers(
  t: ExecutionContext,
  verifier: Verifier,
  asked: readonly KnownCheck[],
): Promise<void> {
  const answers = await verifier.verifyAll(asked.map(({ check }) => check));
  t.deepEqual(
    answers,
    asked.map(({ right }) => right),
  );
}

function listen(): { readonly observer: Observer; readonly codes: string[] } {
  const codes: string[] = [];
  return { codes, observer: { ...SILENT, log: (_level, code) => codes.push(code) } };
}

function programOf(t: ExecutionContext, text: string): URL {
  const folder = mkdtempSync(path.join(tmpdir(), 'bloomery-thread-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'program.mjs');
  writeFileSync(file, text);
  return pathToFileURL(file);
}

const backends: readonly Ed25519Backend[] = ['sodium', 'noble'];
for (const backend of backends) {
  test(`${backend}: one check and many, on the calling thread and on workers, have the same answers in order`, async (t) => {
    const pool = createVerifierPool({ threads: 2, backend, cacheEntriesMax: 1_000 });
    t.is(pool.backend, selectEd25519(backend).backend);
    for (const { check, right } of knownChecks(3, 'one')) t.is(pool.verify(check), right);
    await expectRightAnswers(t, pool, []);
    await expectRightAnswers(t, pool, knownChecks(4, 'few'));
    await expectRightAnswers(t, pool, knownChecks(150, 'many'));
    await pool.close();
  });
}

test('simultaneous batches do not mix', async (t) => {
  const pool = createVerifierPool({ threads: 2, cacheEntriesMax: 1_000 });
  await Promise.all(
    [100, 61, 130].map((count) => expectRightAnswers(t, pool, knownChecks(count, `batch of ${count}`))),
  );
  await pool.close();
});

test('a batch larger than the cache, with repetitions, is answered completely', async (t) => {
  const pool = createVerifierPool({ threads: 1, cacheEntriesMax: 10 });
  const asked = knownChecks(100, 'forgetful');
  await expectRightAnswers(t, pool, [...asked, ...asked]);
  await pool.close();
});

test('keys and signatures of a wrong length are invalid', async (t) => {
  const pool = createVerifierPool({ threads: 1, cacheEntriesMax: 1_000 });
  const [good] = knownChecks(2, 'length').slice(1);
  if (good === undefined) throw new Error('no check');
  const short = { ...good.check, publicKey: good.check.publicKey.subarray(1) };
  const long = { ...good.check, signature: Buffer.concat([good.check.signature, Buffer.alloc(1)]) };
  t.false(pool.verify(short));
  t.false(pool.verify(long));
  t.deepEqual(await pool.verifyAll([short, good.check, long]), [false, true, false]);
  const large = knownChecks(90, 'length');
  await expectRightAnswers(t, pool, [{ check: short, right: false }, ...large, { check: long, right: false }]);
  await pool.close();
});

test('bytes in shared memory are checked like others', async (t) => {
  const pool = createVerifierPool({ threads: 1, cacheEntriesMax: 1_000 });
  const shared = (bytes: Uint8Array): Uint8Array => {
    const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
    copy.set(bytes);
    return copy;
  };
  const asked = knownChecks(80, 'shared').map(({ check, right }) => ({
    check: { publicKey: shared(check.publicKey), message: shared(check.message), signature: shared(check.signature) },
    right,
  }));
  await expectRightAnswers(t, pool, asked);
  await pool.close();
});

test('a thread that dies with pending jobs loses no answer and is reported once', async (t) => {
  const program = programOf(
    t,
    `import { parentPort } from 'node:worker_threads';
     parentPort.on('message', () => process.exit(3));`,
  );
  const { observer, codes } = listen();
  const pool = createVerifierPool({ threads: 2, cacheEntriesMax: 1_000, observer, threadProgram: program });
  await expectRightAnswers(t, pool, knownChecks(150, 'death'));
  await expectRightAnswers(t, pool, knownChecks(150, 'after death'));
  t.deepEqual(codes, ['VERIFY_THREAD_LOST']);
  await pool.close();
});

test('a thread that cannot load its program, or answers too little, loses no answer', async (t) => {
  const broken = programOf(t, `throw new Error('not today');`);
  const { observer, codes } = listen();
  const pool = createVerifierPool({ threads: 2, cacheEntriesMax: 1_000, observer, threadProgram: broken });
  await expectRightAnswers(t, pool, knownChecks(100, 'broken'));
  t.deepEqual(codes, ['VERIFY_THREAD_LOST']);
  await pool.close();

  const lazy = programOf(
    t,
    `import { parentPort } from 'node:worker_threads';
     parentPort.on('message', ({ id }) => parentPort.postMessage({ id, bytes: Uint8Array.of(1) }));`,
  );
  const lazyPool = createVerifierPool({ threads: 1, cacheEntriesMax: 1_000, threadProgram: lazy });
  await expectRightAnswers(t, lazyPool, knownChecks(100, 'lazy'));
  await lazyPool.close();
});

test('closing waits for pending checks, and a closed pool still answers', async (t) => {
  const { observer, codes } = listen();
  const pool = createVerifierPool({ threads: 2, cacheEntriesMax: 1_000, observer });
  const inFlight = expectRightAnswers(t, pool, knownChecks(200, 'in flight'));
  await pool.close();
  await inFlight;
  await expectRightAnswers(t, pool, knownChecks(100, 'closed'));
  t.deepEqual(codes, []);
});

// AVA runs a serial test before the concurrent tests of its file. This test must run alone, because it counts the
// threads of the process, and the other tests of this file also start threads.
test.serial('threads get a lower priority than the main thread where the system has priorities', async (t) => {
  const verifier = createVerifierPool({ threads: 2, cacheEntriesMax: 10 });
  t.teardown(() => verifier.close());
  const own = getPriority();
  await expectRightAnswers(t, verifier, knownChecks(300, 'rank'));
  t.is(getPriority(), own);
  // If this thread has the lowest priority, the other threads cannot have a lower one.
  if (platform() !== 'linux' || own === constants.priority.PRIORITY_LOW) return;
  const behind = readdirSync('/proc/self/task').filter((id) => getPriority(Number(id)) > own);
  t.is(behind.length, 2);
});
