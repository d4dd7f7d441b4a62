/**
 * Tests that a user of the wallet learns the id of a transaction that a node may have accepted, whatever the node does
 * afterwards. A user who believes that the payment failed would sign a second payment.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { NodeAsker } from '../../src/cli/ask-node.ts';
import { submit } from '../../src/cli/wallet/submit.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import type { Transaction } from '../../src/protocol/types.ts';
import { CLI_ENTRY, runCli } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { freePort } from '../support/ports.ts';
import { SIGNERS } from '../support/reference-transactions.ts';
import type { Untyped } from '../support/untyped.ts';

const { networkIdentifier, nethash } = loadNetwork(packagedNetworkDirectory('devnet')).params;
const [SENDER, , OTHER] = SIGNERS as [Signer, Signer, Signer];
type Signer = (typeof SIGNERS)[number];

const ENV = { BLOOMERY_PASSPHRASE: SENDER.passphrase };
const ACCEPTED = [200, { data: { message: 'Transaction(s) accepted' } }] as const;
const KNOWN = [
  409,
  { message: 'Transaction was rejected with errors', errors: [{ message: 'Transaction is already processed' }] },
] as const;
const UNKNOWN = [200, { data: [] }] as const;
/** The node closes the connection without an answer. */
const LOST = 'lost';

type Answer = readonly [status: number, body: object | string] | typeof LOST | 'never';

interface NodeFixture {
  readonly url: string;
  readonly posted: Untyped[];
}

/**
 * Starts a fake node of the devnet.
 *
 * @param posts answers to the POST requests, in their order; the last answer also serves all further requests
 * @param lookups the same for the GET requests of `/transactions`
 * @param pool transactions in the queue `ready` of the node's pool
 */
async function nodeWith(
  t: ExecutionContext,
  { posts, lookups = [UNKNOWN], pool = [] }: { posts: Answer[]; lookups?: Answer[]; pool?: object[] },
): Promise<NodeFixture> {
  const posted: Untyped[] = [];
  const fixed: Readonly<Record<string, unknown>> = {
    '/node/constants': { networkId: networkIdentifier, nethash, protocolVersion: '2.0' },
    '/node/status': { secondsSinceEpoch: 1_000_000_000 },
    '/accounts': [{ address: SENDER.address, publicKey: SENDER.publicKey, balance: '100000000000' }],
    '/node/transactions/ready': pool,
  };
  const give = (response: ServerResponse, answers: Answer[]): void => {
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? LOST;
    if (answer === 'never') return;
    if (answer === LOST) response.destroy();
    else response.writeHead(answer[0]).end(typeof answer[1] === 'string' ? answer[1] : JSON.stringify(answer[1]));
  };
  const handle = (request: IncomingMessage, body: string, response: ServerResponse): void => {
    const path = (request.url ?? '').replace(/\?.*$/, '').replace(/^\/api/, '');
    if (request.method === 'POST') {
      posted.push(JSON.parse(body));
      return give(response, posts);
    }
    if (path === '/transactions') return give(response, lookups);
    response.end(JSON.stringify({ data: fixed[path] ?? [] }));
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString('utf8')));
    request.on('end', () => handle(request, body, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, posted };
}

function transfer(url: string, ...more: readonly string[]): ReturnType<typeof runCli> {
  return runCli(['transfer', OTHER.address, '1', '--any-passphrase', '--yes', '--node', url, ...more], { env: ENV });
}

/** Writes signed transfers of the given numbers of LSK to a file. */
async function signedFile(
  t: ExecutionContext,
  ...amounts: readonly number[]
): Promise<{ file: string; ids: string[] }> {
  const lines: string[] = [];
  for (const amount of amounts) {
    const args = ['transfer', OTHER.address, `${amount}`, '--any-passphrase', '--offline', '--network', 'devnet'];
    lines.push((await runCli(args, { env: ENV })).stdout);
  }
  const file = join(temporaryFolder(t), 'signed.jsonl');
  writeFileSync(file, lines.join(''));
  return { file, ids: lines.map((line) => JSON.parse(line).id) };
}

test.serial('--wait names the accepted transaction at once, and goes on while the node does not answer', async (t) => {
  const found = [200, { data: [{ height: 17 }] }] as const;
  const { url, posted } = await nodeWith(t, {
    posts: [ACCEPTED],
    lookups: [UNKNOWN, LOST, LOST, [503, { message: 'Ask again later.' }], [502, {}], found],
  });
  const { code, stdout, stderr } = await transfer(url, '--wait');
  t.is(code, 0, stderr);
  t.is(posted.length, 1);
  t.is(stdout, `transaction ${posted[0].id}: in block 17\n`);
  t.is(
    stderr.split('\n')[0],
    `transaction ${posted[0].id}: accepted by ${url}; waiting for a block with the transaction`,
  );
});

test.serial('--wait says that the transaction was accepted when the node refuses to look it up', async (t) => {
  const { url, posted } = await nodeWith(t, { posts: [ACCEPTED], lookups: [[403, { message: 'API access denied' }]] });
  const { code, stdout, stderr } = await transfer(url, '--wait', '--json');
  t.is(code, 1);
  t.is(stdout, '');
  t.regex(stderr, new RegExp(`transaction ${posted[0].id} was accepted: do not send it again; .*API access denied`));
});

test.serial('a lost answer is asked for again with the same transaction', async (t) => {
  const inPool = await nodeWith(t, { posts: [LOST, ACCEPTED] });
  const { code, stdout, stderr } = await transfer(inPool.url);
  t.is(code, 0, stderr);
  t.is(inPool.posted.length, 2);
  t.deepEqual(inPool.posted[0], inPool.posted[1]);
  t.is(stdout, `transaction ${inPool.posted[0].id}: accepted by ${inPool.url}\n`);

  const inBlock = await nodeWith(t, { posts: [LOST, KNOWN], lookups: [[200, { data: [{ height: 17 }] }]] });
  const second = await transfer(inBlock.url, '--json');
  t.is(second.code, 0, second.stderr);
  t.deepEqual(JSON.parse(second.stdout), { id: inBlock.posted[0].id, height: 17 });
});

test.serial('if it stays uncertain, the user gets the signed transaction and is told not to sign again', async (t) => {
  const poolFull = [409, { message: 'Rejected', errors: [{ message: 'Transaction pool is full' }] }] as const;
  const noHealthyHost = [503, 'upstream connect error or disconnect/reset before headers'] as const;
  for (const [posts, lookups, reason] of [
    [[LOST], [UNKNOWN], 'its answer was lost: other side closed'],
    [[LOST, KNOWN], [LOST], 'its answer was lost: other side closed'],
    [[LOST, poolFull], [UNKNOWN], 'its answer was lost: other side closed'],
    [[LOST, [429, { message: 'Rate limit exceeded' }]], [UNKNOWN], 'its answer was lost: other side closed'],
    [[[502, {}]], [UNKNOWN], 'it answered with status 502'],
    [[[200, {}]], [UNKNOWN], 'it answered with status 200'],
    [[noHealthyHost], [UNKNOWN], 'it answered with status 503'],
    [[[503, { message: 'Service Unavailable' }]], [UNKNOWN], 'it answered with status 503: Service Unavailable'],
  ] as const) {
    const { url, posted } = await nodeWith(t, { posts: [...posts], lookups: [...lookups] });
    const { code, stdout, stderr } = await transfer(url, '--data', 'a\u200db\u202e');
    t.is(code, 1);
    t.is(stdout, '');
    t.is(posted.length, 2);
    const [signed = '', error = ''] = stderr.trim().split('\n');
    t.deepEqual(JSON.parse(signed.replace('signed transaction: ', '')), posted[0]);
    const { id } = posted[0] as { id: string };
    t.true(
      error.startsWith(`bloomery: the node may have transaction ${id} (${reason}): do not sign it again; `),
      error,
    );
    t.regex(error, /bloomery broadcast.*\(TRANSACTION_UNCERTAIN\)$/);
  }
});

test.serial('a user who stops the command before the answer gets the signed transaction', async (t) => {
  const { url, posted } = await nodeWith(t, { posts: ['never'] });
  const args = ['transfer', OTHER.address, '1', '--any-passphrase', '--yes', '--node', url];
  const child = spawn(process.execPath, [CLI_ENTRY, ...args], { env: { ...process.env, ...ENV } });
  t.teardown(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  await waitFor('the request', () => Promise.resolve(posted.length > 0), 60_000);
  child.kill('SIGINT');
  await once(child, 'close');
  t.is(child.exitCode, 1);
  const [signed = '', error = ''] = stderr.trim().split('\n');
  t.deepEqual(JSON.parse(signed.replace('signed transaction: ', '')), posted[0]);
  t.regex(error, /^bloomery: stopped by SIGINT; the node may have transaction [0-9]+: do not sign it again; /);
});

test.serial('a block that takes the transaction out of the pool during the search counts', async (t) => {
  const found = [200, { data: [{ height: 17 }] }] as const;
  const { file, ids } = await signedFile(t, 1);
  const { url } = await nodeWith(t, { posts: [KNOWN], lookups: [UNKNOWN, found] });
  const { code, stdout, stderr } = await runCli(['broadcast', file, '--node', url, '--yes']);
  t.is(code, 0, stderr);
  t.is(stdout, `transaction ${ids[0]}: already in block 17\n`);
});

/** A node that answers each request with the next of the given errors or answers. */
function scriptedAsker(script: readonly unknown[]): NodeAsker & { readonly sent: unknown[] } {
  const rest = [...script];
  const sent: unknown[] = [];
  const next = (): Promise<never> => {
    const answer = rest.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as never);
  };
  return {
    sent,
    base: 'http://127.0.0.1:4000',
    ask: next,
    stream: next,
    send: (_method, _path, body) => {
      sent.push(body);
      return next();
    },
  };
}

const signedBy = (...signatures: string[]) => ({ id: '7', signatures }) as unknown as Transaction;

test('a request that no node has received is not uncertain, and one whose time is over is not repeated', async (t) => {
  const error = (data: object) => new ProtocolError('NODE_UNREACHABLE', { why: 'x', ...data }, 'no node answers');
  const unsent = scriptedAsker([error({ isUnsent: true })]);
  await t.throwsAsync(submit(unsent, signedBy(), {}, true), { code: 'NODE_UNREACHABLE' });
  const late = scriptedAsker([error({ isLate: true })]);
  await t.throwsAsync(submit(late, signedBy(), {}, true), { code: 'TRANSACTION_UNCERTAIN' });
  const goneAfterwards = scriptedAsker([error({}), error({ isUnsent: true })]);
  await t.throwsAsync(submit(goneAfterwards, signedBy(), {}, true), { code: 'TRANSACTION_UNCERTAIN' });
  t.deepEqual([unsent.sent.length, late.sent.length, goneAfterwards.sent.length], [1, 1, 2]);
});

test('a pooled transaction that lacks signatures of the file does not count as known', async (t) => {
  const known = new ProtocolError('NODE_REFUSED', { status: 409 }, 'refused: Transaction is already processed');
  const pooled = (...signatures: string[]) => scriptedAsker([known, [], [{ signatures }]]);
  await t.throwsAsync(submit(pooled('aa'), signedBy('AA', 'bb'), {}, true), {
    code: 'NODE_REFUSED',
    message: /already processed; the pool has the transaction without one signature of the file: .*multisig sign/,
  });
  t.deepEqual(await submit(pooled('aa', 'BB'), signedBy('AA', 'bb'), {}, true), { height: undefined });
});

test.serial(
  'a transaction that no node has received, or that a rate limit has refused, is not uncertain',
  async (t) => {
    const { url } = await nodeWith(t, { posts: [[429, { message: 'Rate limit exceeded' }]] });
    t.regex((await transfer(url)).stderr, /Rate limit exceeded.*\(NODE_ANSWER_UNEXPECTED\)\n$/);
    const gone = `http://127.0.0.1:${await freePort()}`;
    t.regex((await transfer(gone)).stderr, /no node answers at .*\(NODE_UNREACHABLE\)\n$/);
  },
);

test.serial('an equal transfer within the same second is refused, because it would be no second payment', async (t) => {
  const { url } = await nodeWith(t, { posts: [KNOWN], lookups: [[200, { data: [{ height: 17 }] }]] });
  const { code, stderr } = await transfer(url);
  t.is(code, 1);
  t.regex(
    stderr,
    /refused: Transaction is already processed; the node has transaction \d+ already, in block 17: it was sent before, by this command or by another one in the same second \(NODE_REFUSED\)\n$/,
  );
  const invalid = await nodeWith(t, { posts: [[409, { message: 'Insufficient balance' }]] });
  t.regex((await transfer(invalid.url)).stderr, /refused: Insufficient balance \(NODE_REFUSED\)\n$/);
  const unclear = await nodeWith(t, { posts: [KNOWN], lookups: [[500, {}]] });
  const doubt = await transfer(unclear.url);
  t.regex(doubt.stderr, /^signed transaction: \{/m);
  t.regex(doubt.stderr, /the node may have transaction \d+ .*\(TRANSACTION_UNCERTAIN\)\n$/);
});

const PRESENT = [409, { message: `Signature is already present` }] as const;
const GONE = [409, { message: 'Unable to process signature, corresponding transaction not found' }] as const;

/** The signature of a member, and commands that send it to a node. */
async function memberSignature(t: ExecutionContext) {
  const { file, ids } = await signedFile(t, 1);
  const args = ['multisig', 'sign', file, '--any-passphrase', '--offline', '--network', 'devnet'];
  const document = (await runCli(args, { env: { BLOOMERY_PASSPHRASE: OTHER.passphrase } })).stdout;
  const signatures = join(temporaryFolder(t), 'signatures.jsonl');
  writeFileSync(signatures, document);
  return {
    id: ids[0] ?? '',
    signature: String(JSON.parse(document).signature),
    sign: (url: string) =>
      runCli(['multisig', 'sign', file, '--any-passphrase', '--yes', '--node', url], {
        env: { BLOOMERY_PASSPHRASE: OTHER.passphrase },
      }),
    broadcast: (url: string) => runCli(['broadcast', signatures, '--yes', '--node', url]),
  };
}

test.serial('a signature of a member is accepted although the first answer to it was lost', async (t) => {
  const { id, signature, sign, broadcast } = await memberSignature(t);
  for (const command of [sign, broadcast]) {
    const inPool = await nodeWith(t, { posts: [LOST, PRESENT], pool: [{ id, signatures: [signature] }] });
    const pooled = await command(inPool.url);
    t.is(pooled.code, 0, pooled.stderr);
    t.is(pooled.stdout, `signature of transaction ${id}: accepted\n`);
    t.is(inPool.posted.length, 2);
    // The signature was the last one that the transaction needed.
    const inBlock = await nodeWith(t, { posts: [LOST, GONE], lookups: [[200, { data: [{ height: 17 }] }]] });
    const confirmed = await command(inBlock.url);
    t.is(confirmed.code, 0, confirmed.stderr);
    t.is(confirmed.stdout, `signature of transaction ${id}: the transaction is in block 17 already\n`);
  }
});

test.serial('a signature that the node has already, or whose transaction is in a block, is no fault', async (t) => {
  const { id, signature, sign, broadcast } = await memberSignature(t);
  for (const command of [sign, broadcast]) {
    const inPool = await nodeWith(t, { posts: [PRESENT], pool: [{ id, signatures: [signature] }] });
    t.is((await command(inPool.url)).stdout, `signature of transaction ${id}: already accepted\n`);
    const inBlock = await nodeWith(t, { posts: [GONE], lookups: [[200, { data: [{ height: 17 }] }]] });
    t.is(
      (await command(inBlock.url)).stdout,
      `signature of transaction ${id}: the transaction is in block 17 already\n`,
    );
    const absent = await nodeWith(t, { posts: [GONE] });
    t.regex((await command(absent.url)).stderr, /corresponding transaction not found \(NODE_REFUSED\)\n$/);
    const other = await nodeWith(t, { posts: [PRESENT], pool: [{ id, signatures: [] }] });
    t.regex((await command(other.url)).stderr, /already present \(NODE_REFUSED\)\n$/);
    const lost = await nodeWith(t, { posts: [LOST] });
    t.regex(
      (await command(lost.url)).stderr,
      /the node may have the signature of transaction \d+ \(its answer was lost: .*\): send it again; .* \(SIGNATURE_UNCERTAIN\)\n$/,
    );
  }
});

test.serial('broadcast waits for a transaction only after it has sent the signatures of the file', async (t) => {
  const { id, signature } = await memberSignature(t);
  const { file } = await signedFile(t, 1);
  const member = JSON.stringify({ transactionId: id, publicKey: OTHER.publicKey, signature });
  const transaction = readFileSync(file, 'utf8');
  // `signedFile` makes the same transaction again if both calls are in the same second.
  const sameId = String(JSON.parse(transaction).id);
  const mixed = join(temporaryFolder(t), 'mixed.jsonl');
  writeFileSync(mixed, `${transaction}${member.replace(id, sameId)}\n`);
  const { url, posted } = await nodeWith(t, {
    posts: [ACCEPTED, ACCEPTED],
    lookups: [[200, { data: [{ height: 17 }] }]],
  });
  const { code, stdout, stderr } = await runCli(['broadcast', mixed, '--yes', '--wait', '--node', url]);
  t.is(code, 0, stderr);
  t.is(posted.length, 2);
  t.is(
    stdout,
    `transaction ${sameId}: accepted by ${url}\nsignature of transaction ${sameId}: accepted, in block 17\n`,
  );
});

test.serial('a signature that the node refuses after a lost answer stays uncertain', async (t) => {
  const { id, sign } = await memberSignature(t);
  for (const pool of [[], [{ id, signatures: [] }]]) {
    const { url } = await nodeWith(t, { posts: [LOST, GONE], pool });
    t.regex(
      (await sign(url)).stderr,
      /the node may have the signature of transaction \d+ .* \(SIGNATURE_UNCERTAIN\)\n$/,
    );
  }
});

test.serial('a document that is no signature is refused before anything is sent', async (t) => {
  const { id, signature } = await memberSignature(t);
  const { url, posted } = await nodeWith(t, { posts: [PRESENT], pool: [{ id, signatures: [signature] }] });
  const file = join(temporaryFolder(t), 'wrong.json');
  for (const wrong of [
    { transactionId: id },
    { transactionId: id, signature: 7 },
    { transactionId: '1&sort=x', signature },
  ]) {
    writeFileSync(file, JSON.stringify(wrong));
    const { code, stderr } = await runCli(['broadcast', file, '--yes', '--node', url]);
    t.is(code, 2, stderr);
    t.regex(stderr, /wrong\.json: .*member's signature/);
  }
  t.is(posted.length, 0);
});

test.serial('a file with a number is no transaction to sign', async (t) => {
  const file = join(temporaryFolder(t), 'number.json');
  writeFileSync(file, '17');
  const args = ['multisig', 'sign', file, '--any-passphrase', '--offline', '--network', 'devnet'];
  const { code, stdout, stderr } = await runCli(args, { env: { BLOOMERY_PASSPHRASE: OTHER.passphrase } });
  t.not(code, 0, stderr);
  t.is(stdout, '');
});

test.serial('multisig sign says that a transaction is in a block already', async (t) => {
  const { id } = await memberSignature(t);
  const { url, posted } = await nodeWith(t, { posts: [GONE], lookups: [[200, { data: [{ height: 17 }] }]] });
  const args = ['multisig', 'sign', id, '--any-passphrase', '--yes', '--node', url];
  const { code, stdout, stderr } = await runCli(args, { env: { BLOOMERY_PASSPHRASE: OTHER.passphrase } });
  t.is(code, 0, stderr);
  t.is(stdout, `transaction ${id}: already in block 17, and needs no signature\n`);
  t.is(posted.length, 0);
  const absent = await nodeWith(t, { posts: [GONE] });
  const unknown = await runCli(['multisig', 'sign', id, '--any-passphrase', '--yes', '--node', absent.url], {
    env: { BLOOMERY_PASSPHRASE: OTHER.passphrase },
  });
  t.regex(unknown.stderr, /no transaction \d+ waits at .* \(TRANSACTION_UNKNOWN\)\n$/);
});

test.serial('broadcast succeeds for transactions that the node has already', async (t) => {
  const { file, ids } = await signedFile(t, 1);
  const [id = ''] = ids;
  const inBlock = await nodeWith(t, { posts: [KNOWN], lookups: [[200, { data: [{ height: 17 }] }]] });
  const args = (url: string) => ['broadcast', file, '--node', url, '--yes'];
  const first = await runCli(args(inBlock.url));
  t.is(first.code, 0, first.stderr);
  t.is(first.stdout, `transaction ${id}: already in block 17\n`);
  const json = await runCli([...args(inBlock.url), '--json']);
  t.deepEqual(JSON.parse(json.stdout), { id, height: 17, known: true });

  const inPool = await nodeWith(t, { posts: [KNOWN], pool: [{ id, type: 8, senderId: '1L', fee: '1' }] });
  const verified = await runCli(['tx', 'verify', file, '--node', inPool.url]);
  t.is(verified.code, 0, verified.stderr);
  t.regex(verified.stdout, /^verdict +the node has it already: it waits in the pool \(ready\)$/m);
  t.is((await runCli(args(inPool.url))).stdout, `transaction ${id}: already accepted by ${inPool.url}\n`);
  const waiting = await nodeWith(t, {
    posts: [KNOWN],
    lookups: [UNKNOWN, UNKNOWN, [200, { data: [{ height: 18 }] }]],
    pool: [{ id }],
  });
  const waited = await runCli([...args(waiting.url), '--wait']);
  t.is(waited.code, 0, waited.stderr);
  t.is(waited.stdout, `transaction ${id}: in block 18\n`);
  const waitedJson = await runCli([...args(inPool.url), '--json']);
  t.deepEqual(JSON.parse(waitedJson.stdout), { id, known: true });

  const nowhere = await nodeWith(t, { posts: [KNOWN] });
  const refused = await runCli(args(nowhere.url));
  t.is(refused.code, 1);
  t.regex(refused.stderr, /\(NODE_REFUSED\)\n$/);
});

test.serial('broadcast says how much of a file it has not sent after a refusal', async (t) => {
  const { file, ids } = await signedFile(t, 1, 2, 3);
  const missing = [409, { message: 'Rejected', errors: [{ message: 'Account does not have enough LSK' }] }] as const;
  const { url, posted } = await nodeWith(t, { posts: [ACCEPTED, missing] });
  const { code, stdout, stderr } = await runCli(['broadcast', file, '--node', url, '--yes']);
  t.is(code, 1);
  t.is(posted.length, 2);
  t.is(stdout, `transaction ${ids[0]}: accepted by ${url}\n`);
  t.regex(
    stderr,
    new RegExp(`enough LSK; document 2 of 3 \\(transaction ${ids[1]}\\), and 1 document after it was not sent`),
  );
});

test.serial('--wait with --offline is refused, because no node is asked', async (t) => {
  const { code, stderr } = await transfer('http://127.0.0.1:1', '--offline', '--network', 'devnet', '--wait');
  t.is(code, 2);
  t.regex(stderr, /--wait needs a node/);
});
