import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import {
  getPrivateAndPublicKeyFromPassphrase,
  getAddressFromPublicKey,
  decryptPassphraseWithPassword,
  parseEncryptedPassphrase,
} from 'lisk-cryptography-2';
import * as gen2 from 'lisk-transactions-2';
import * as gen3 from 'lisk-transactions-3';
import { confirmed, readPassphrase, readSecret, type Terminal } from '../../src/cli/wallet/secrets.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { isProblemLine, runCli } from '../support/cli.ts';
import { SIGNERS } from '../support/reference-transactions.ts';
import type { Untyped } from '../support/untyped.ts';

const DEVNET = loadNetwork(packagedNetworkDirectory('devnet'));
const { networkIdentifier } = DEVNET.params;
const [SENDER, SECOND, OTHER, MEMBER] = SIGNERS as [Signer, Signer, Signer, Signer];
type Signer = (typeof SIGNERS)[number];

const ENV = { BLOOMERY_PASSPHRASE: SENDER.passphrase };

/** Runs a command with `--any-passphrase`, because the passphrases of the test accounts are not BIP-39 mnemonics. */
function spend(args: readonly string[], options?: Parameters<typeof runCli>[1]): ReturnType<typeof runCli> {
  return runCli([...args, '--any-passphrase'], options);
}

const MNEMONIC = `${'abandon '.repeat(11)}about`;

function temporaryFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-wallet-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Builds the transaction of a command with the reference library. */
type Make2 = (common: Untyped) => Untyped;

const CASES: readonly (readonly [args: readonly string[], second: boolean, make2: Make2, make3: Make2])[] = [
  [
    ['transfer', OTHER.address, '1.5', '--data', 'for you'],
    false,
    (common) => gen2.transfer({ ...common, amount: '150000000', recipientId: OTHER.address, data: 'for you' }),
    (common) => gen3.transfer({ ...common, amount: '150000000', recipientId: OTHER.address, data: 'for you' }),
  ],
  [
    ['transfer', OTHER.address, '0.00000001'],
    true,
    (common) => gen2.transfer({ ...common, amount: '1', recipientId: OTHER.address }),
    (common) => gen3.transfer({ ...common, amount: '1', recipientId: OTHER.address }),
  ],
  [
    ['delegate', 'register', 'smith'],
    false,
    (common) => gen2.registerDelegate({ ...common, username: 'smith' }),
    (common) => gen3.registerDelegate({ ...common, username: 'smith' }),
  ],
  [
    ['vote', `+${OTHER.publicKey}`, `-${MEMBER.publicKey}`, '--json'],
    true,
    (common) => gen2.castVotes({ ...common, votes: [OTHER.publicKey], unvotes: [MEMBER.publicKey] }),
    (common) => gen3.castVotes({ ...common, votes: [OTHER.publicKey], unvotes: [MEMBER.publicKey] }),
  ],
  [
    [
      'multisig',
      'register',
      '--min',
      '2',
      '--lifetime',
      '24',
      '--member',
      OTHER.publicKey,
      '--member',
      MEMBER.publicKey,
    ],
    false,
    (common) =>
      gen2.registerMultisignature({
        ...common,
        minimum: 2,
        lifetime: 24,
        keysgroup: [OTHER.publicKey, MEMBER.publicKey],
      }),
    (common) =>
      gen3.registerMultisignature({
        ...common,
        minimum: 2,
        lifetime: 24,
        keysgroup: [OTHER.publicKey, MEMBER.publicKey],
      }),
  ],
];

for (const [args, hasSecond, make2, make3] of CASES) {
  test.serial(
    `${args.slice(0, 2).join(' ')}${hasSecond ? ' with a second passphrase' : ''}, signed offline, equals the reference's`,
    async (t) => {
      const env = { ...ENV, ...(hasSecond ? { BLOOMERY_SECOND_PASSPHRASE: SECOND.passphrase } : {}) };
      for (const [network, make] of [
        ['devnet-gen2', make2],
        ['devnet', make3],
      ] as const) {
        const { code, stdout, stderr } = await spend([...args, '--offline', '--network', network], { env });
        t.is(code, 0, stderr);
        const ours = JSON.parse(stdout);
        const reference = make({
          passphrase: SENDER.passphrase,
          ...(hasSecond ? { secondPassphrase: SECOND.passphrase } : {}),
          networkIdentifier,
        });
        // The reference library puts the current time into its transaction. Therefore, sign a copy of this transaction
        // with the timestamp of our transaction.
        const Class = (network === 'devnet' ? CLASSES_3 : CLASSES_2)[ours.type as 0];
        const content = { ...reference, timestamp: ours.timestamp, senderPublicKey: SENDER.publicKey };
        const same: Untyped = new Class({ ...content, networkIdentifier });
        same.sign(SENDER.passphrase, hasSecond ? SECOND.passphrase : undefined);
        const signed = same.toJSON();
        for (const name of ['id', 'type', 'signature', 'signSignature', 'senderPublicKey'])
          t.deepEqual(ours[name], signed[name], name);
        t.deepEqual(JSON.parse(JSON.stringify(ours.asset)), JSON.parse(JSON.stringify(signed.asset)));
        t.is(same.validate().status, 1);
      }
    },
  );
}

const CLASSES_2 = {
  0: gen2.TransferTransaction,
  1: gen2.SecondSignatureTransaction,
  2: gen2.DelegateTransaction,
  3: gen2.VoteTransaction,
  4: gen2.MultisignatureTransaction,
} as Untyped;

const CLASSES_3 = {
  8: gen3.TransferTransaction,
  9: gen3.SecondSignatureTransaction,
  10: gen3.DelegateTransaction,
  11: gen3.VoteTransaction,
  12: gen3.MultisignatureTransaction,
} as Untyped;

test.serial('a second passphrase is registered by its public key', async (t) => {
  const { stdout, stderr } = await spend(['second-signature', 'register', '--offline', '--network', 'devnet'], {
    env: { ...ENV, BLOOMERY_NEW_SECOND_PASSPHRASE: SECOND.passphrase },
  });
  t.deepEqual(JSON.parse(stdout).asset, { publicKey: SECOND.publicKey }, stderr);
});

test.serial('a member signs a transaction from a file as the reference does', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'transaction.json');
  const transaction = gen3.transfer({
    amount: '1',
    recipientId: OTHER.address,
    passphrase: SENDER.passphrase,
    networkIdentifier,
  });
  writeFileSync(file, JSON.stringify(transaction));
  const { stdout, stderr } = await spend(['multisig', 'sign', file, '--offline', '--network', 'devnet'], {
    env: { BLOOMERY_PASSPHRASE: MEMBER.passphrase },
  });
  t.deepEqual(
    JSON.parse(stdout),
    {
      ...gen3.createSignatureObject({
        transaction: transaction as Untyped,
        passphrase: MEMBER.passphrase,
        networkIdentifier,
      }),
    },
    stderr,
  );
});

test.serial('new keys are printed once, or are in a file that only their owner can read', async (t) => {
  const folder = temporaryFolder(t);
  const shown = JSON.parse((await runCli(['keys', 'create', '--json', '--words', '24'])).stdout);
  t.is(shown.passphrase.split(' ').length, 24);
  t.is(shown.publicKey, getPrivateAndPublicKeyFromPassphrase(shown.passphrase).publicKey);
  t.is(shown.address, getAddressFromPublicKey(shown.publicKey));
  const file = join(folder, 'passphrase');
  const { stdout } = await runCli(['keys', 'create', '--out', file]);
  const passphrase = readFileSync(file, 'utf8').trim();
  t.is(passphrase.split(' ').length, 12);
  t.false(stdout.includes(passphrase));
  t.is(statSync(file).mode & 0o777, 0o600);
  t.true(stdout.includes(getPrivateAndPublicKeyFromPassphrase(passphrase).publicKey));
  const again = await runCli(['keys', 'create', '--out', file]);
  t.is(again.code, 2);
  t.regex(again.stderr, /exists: choose another file/);
  t.is(readFileSync(file, 'utf8').trim(), passphrase);
  t.is((await runCli(['keys', 'show', '--passphrase-file', file])).stdout, stdout.split('\n').slice(1).join('\n'));
});

test.serial('the reference decrypts an encrypted passphrase with its password', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'password');
  writeFileSync(file, 'a good password\n');
  const { stdout, stderr, code } = await runCli(['keys', 'encrypt', '--iterations', '1000', '--password-file', file], {
    env: ENV,
  });
  t.is(code, 0, stderr);
  const { publicKey, encryptedPassphrase } = JSON.parse(stdout);
  t.is(publicKey, SENDER.publicKey);
  t.is(
    decryptPassphraseWithPassword(parseEncryptedPassphrase(encryptedPassphrase), 'a good password'),
    SENDER.passphrase,
  );
});

const REFUSED: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [['transfer', '123', '1', '--offline', '--network', 'devnet'], /`123` is not an address/],
  [['transfer', OTHER.address, '0', '--offline', '--network', 'devnet'], /`0` is not an amount/],
  [['transfer', OTHER.address, '1.123456789', '--offline', '--network', 'devnet'], /is not an amount/],
  [['transfer', OTHER.address, '-1', '--offline', '--network', 'devnet'], /-1/],
  [['transfer', OTHER.address, '1', '--offline'], /--offline needs --network/],
  [['transfer', OTHER.address, '1', '--passphrase', 'my words'], /unknown option '--passphrase'/],
  [['vote', 'smith', '--offline', '--network', 'devnet'], /write \+NAME to vote/],
  [['vote', '+smith', '--offline', '--network', 'devnet'], /--offline needs public keys/],
  [
    ['multisig', 'register', '--min', '3', '--lifetime', '1', '--member', OTHER.publicKey],
    /--min 3 is more than the 1 members/,
  ],
  [['multisig', 'register', '--min', '1', '--lifetime', '1', '--member', 'abc'], /--member `abc` must be 64/],
  [['keys', 'create', '--words', '13'], /12 or 24/],
  [
    ['keys', 'show', '--passphrase-file', '/nowhere/at-all'],
    /\/nowhere\/at-all: the passphrase cannot be read: does not exist: correct --passphrase-file/,
  ],
  [
    ['broadcast', '/nowhere/at-all'],
    /\/nowhere\/at-all: cannot be read: does not exist: name the one that --offline was written to/,
  ],
];

for (const [args, message] of REFUSED) {
  test.serial(`bloomery ${args.map((each) => each.slice(0, 12)).join(' ')} is a usage error`, async (t) => {
    const isSpending = !['keys', 'broadcast'].includes(args[0] ?? '');
    const { code, stdout, stderr } = await (isSpending ? spend : runCli)(args, { env: ENV });
    t.is(code, 2, stderr);
    t.is(stdout, '');
    t.true(isProblemLine(stderr.replace(/^.*warning.*\n/, '')), stderr);
    t.regex(stderr, message);
  });
}

test.serial(
  'without a terminal, a file or a variable a passphrase is refused, and no prompt waits forever',
  async (t) => {
    const { code, stderr } = await runCli(['keys', 'show']);
    t.is(code, 2);
    t.regex(stderr, /give it with --passphrase-file or BLOOMERY_PASSPHRASE/);
  },
);

test.serial('content that a node would refuse is refused in the words of the node', async (t) => {
  const { code, stderr } = await spend(['delegate', 'register', 'Smith', '--offline', '--network', 'devnet'], {
    env: ENV,
  });
  t.is(code, 1);
  t.regex(stderr, /username/);
});

interface Fake {
  readonly url: string;
  readonly posted: { readonly path: string; readonly body: Untyped }[];
}

/** Starts a fake devnet node that knows one account and answers every POST with the given answer. */
async function fakeNode(
  t: ExecutionContext,
  account: object,
  answer: readonly [status: number, body: object],
  more: Readonly<Record<string, unknown>> = {},
): Promise<Fake> {
  const posted: { path: string; body: Untyped }[] = [];
  const answers: Readonly<Record<string, unknown>> = {
    '/api/node/constants': { networkId: networkIdentifier, nethash: DEVNET.params.nethash, protocolVersion: '2.0' },
    '/api/node/status': { secondsSinceEpoch: 1000 },
    '/api/delegates': [{ account: { publicKey: OTHER.publicKey } }],
    '/api/accounts': [account],
    '/api/transactions': [{ height: 17 }],
    ...more,
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString('utf8')));
    request.on('end', () => {
      const path = (request.url ?? '').replace(/\?.*$/, '');
      if (request.method === 'GET') {
        if (answers[path] === undefined && !path.startsWith('/api/node/transactions/')) response.writeHead(404);
        return response.end(JSON.stringify({ data: answers[path] ?? [] }));
      }
      posted.push({ path, body: JSON.parse(body) });
      return response.writeHead(answer[0]).end(JSON.stringify(answer[1]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, posted };
}

/** Answer of a node that has no transaction. */
const NO_TRANSACTION = { '/api/transactions': [] };
const ACCEPTED = [200, { data: { message: 'Transaction(s) accepted' } }] as const;

test.serial('delegate names are looked up, and the command waits for the block of its transaction', async (t) => {
  const { url, posted } = await fakeNode(t, { balance: '1000000000' }, ACCEPTED);
  const { code, stdout, stderr } = await spend(['vote', '+smith', '--node', url, '--yes', '--wait'], { env: ENV });
  t.is(code, 0, stderr);
  t.is(posted.length, 1);
  t.deepEqual(posted[0]?.body.asset, { votes: [`+${OTHER.publicKey}`] });
  t.is(posted[0]?.body.timestamp, 1000);
  t.is(stdout, `transaction ${posted[0]?.body.id}: in block 17\n`);
});

test.serial('a sender whose members must sign gets the command for the members, also during a wait', async (t) => {
  const group = { min: 2, members: [OTHER, MEMBER, SECOND].map(({ publicKey }) => ({ publicKey })) };
  const path = `/api/accounts/${SENDER.address}/multisignature_groups`;
  const { url, posted } = await fakeNode(t, { balance: '1000000000' }, ACCEPTED, { [path]: [group] });
  const sent = await spend(['transfer', OTHER.address, '1', '--node', url, '--yes'], { env: ENV });
  const hintOf = (id: string) => `2 of the 3 members of ${SENDER.address} must sign it: bloomery multisig sign ${id}\n`;
  const first = posted[0]?.body.id;
  t.is(sent.stdout, `transaction ${first}: accepted by ${url}\n${hintOf(first)}`);
  const waited = await spend(['transfer', OTHER.address, '2', '--node', url, '--yes', '--wait'], { env: ENV });
  const second = posted[1]?.body.id;
  t.is(waited.stdout, `transaction ${second}: in block 17\n`);
  t.true(waited.stderr.startsWith(hintOf(second)), waited.stderr);
});

test.serial(
  'nothing is sent without confirmation, without funds, to another network, or with a wrong second passphrase',
  async (t) => {
    const { url, posted } = await fakeNode(t, { balance: '1000000000', secondPublicKey: SECOND.publicKey }, ACCEPTED);
    const send = (amount: string, more: readonly string[], env: Readonly<Record<string, string>>) =>
      spend(['transfer', OTHER.address, amount, '--node', url, ...more], { env: { ...ENV, ...env } });
    const second = { BLOOMERY_SECOND_PASSPHRASE: SECOND.passphrase };
    t.regex((await send('1', [], second)).stderr, /use --yes/);
    t.regex((await send('1', ['--yes'], {})).stderr, /second passphrase: give it with --second-passphrase-file/);
    t.regex(
      (await send('1', ['--yes'], { BLOOMERY_SECOND_PASSPHRASE: 'x' })).stderr,
      /is not the second passphrase of/,
    );
    t.regex((await send('10', ['--yes'], second)).stderr, /has 10 LSK, but the transaction needs 10\.1 LSK/);
    t.regex((await send('1', ['--yes', '--network', 'devnet-gen2'], second)).stderr, /is of another network/);
    t.deepEqual(posted, []);
    t.is((await send('1', ['--yes'], second)).code, 0);
    t.is(posted.length, 1);
  },
);

test.serial('a text of more than 64 bytes is refused with its size', async (t) => {
  const args = ['transfer', OTHER.address, '1', '--data', '🚀'.repeat(17), '--offline', '--network', 'devnet'];
  const { code, stderr } = await spend(args, { env: ENV });
  t.is(code, 2);
  t.is(stderr.trim().split('\n').at(-1), 'bloomery: --data has 68 bytes, but a transfer holds at most 64');
});

test.serial('the reason inside a refused parameter is printed, too', async (t) => {
  const inner = [{ message: 'Object did not pass validation for format address: 14l' }];
  const errors = [{ message: 'Invalid parameter (address): Value failed JSON Schema validation', errors: inner }];
  const { url } = await fakeNode(
    t,
    { balance: '100000000000' },
    [400, { message: 'Validation errors', errors }],
    NO_TRANSACTION,
  );
  const { stderr } = await spend(['transfer', OTHER.address, '1', '--node', url, '--yes'], { env: ENV });
  t.regex(stderr, /refused: Invalid parameter \(address\): .* validation: .* format address: 14l \(NODE_REFUSED\)\n$/);
});

test.serial('a refusal by the node is printed with its reasons', async (t) => {
  const body = { message: 'Transaction was rejected with errors', errors: [{ message: 'Username is not unique.' }] };
  const { url } = await fakeNode(t, { balance: '100000000000' }, [409, body], NO_TRANSACTION);
  const { code, stderr } = await spend(['delegate', 'register', 'smith', '--node', url, '--yes'], { env: ENV });
  t.is(code, 1);
  t.is(stderr.split('\n').at(-2), `bloomery: ${url} refused: Username is not unique. (NODE_REFUSED)`);
});

test.serial(
  'broadcast sends the transactions and signatures of a file, and nothing when one of them is invalid',
  async (t) => {
    const { url, posted } = await fakeNode(t, {}, ACCEPTED);
    const file = join(temporaryFolder(t), 'signed.jsonl');
    const offline = await spend(['transfer', OTHER.address, '1', '--offline', '--network', 'devnet'], { env: ENV });
    const signature = { transactionId: '5', publicKey: MEMBER.publicKey, signature: 'ab'.repeat(64) };
    writeFileSync(file, `${offline.stdout}${JSON.stringify(signature)}\n`);
    const { code, stdout, stderr } = await runCli(['broadcast', file, '--node', url, '--yes']);
    t.is(code, 0, stderr);
    t.deepEqual(
      posted.map(({ path }) => path),
      ['/api/transactions', '/api/signatures'],
    );
    t.deepEqual(posted[0]?.body, JSON.parse(offline.stdout));
    t.is(stdout.split('\n').length, 3);
    writeFileSync(file, `${JSON.stringify(signature)}\n${offline.stdout.replace('"timestamp":', '"timestamp":1')}`);
    t.is((await runCli(['broadcast', file, '--node', url, '--yes'])).code, 1);
    t.is(posted.length, 2);
  },
);

/** A terminal whose user types the given lines. */
function typing(lines: readonly string[]): { terminal: Terminal; shown: () => string } {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const output = new PassThrough();
  const rest = [...lines];
  let shown = '';
  output.on('data', (part: Buffer) => {
    shown += part.toString('utf8');
    if (/: $|\] $/.test(part.toString('utf8'))) setImmediate(() => input.write(`${rest.shift() ?? ''}\n`));
  });
  return { terminal: { input, output }, shown: () => shown };
}

const PASSWORD = {
  name: 'password',
  file: undefined,
  flag: '--password-file',
  variable: 'BLOOMERY_NO_SUCH',
  twice: true,
};

test.serial('a prompt hides its input, and both inputs must be equal', async (t) => {
  const same = typing(['a secret', 'a secret']);
  t.is(await readSecret(PASSWORD, same.terminal), 'a secret');
  t.false(same.shown().includes('a secret'));
  const different = typing(['a secret', 'another']);
  await t.throwsAsync(readSecret(PASSWORD, different.terminal), { message: /differ/ });
});

test.serial('only the first line of a passphrase file counts, without surrounding white space', async (t) => {
  const file = join(temporaryFolder(t), 'passphrase');
  const source = { ...PASSWORD, file, ifMisspelt: 'refuse' } as const;
  for (const content of [MNEMONIC, `${MNEMONIC}\n`, `\n  \r\n  ${MNEMONIC} \t\r\n\nanother line\n`]) {
    writeFileSync(file, content);
    t.is(await readPassphrase(source), MNEMONIC);
  }
  writeFileSync(file, ' \n\n');
  await t.throwsAsync(readPassphrase(source), { message: `${file} has no ${PASSWORD.name}: every line is empty` });
});

test.serial('a misspelt passphrase is refused, warned about or accepted, depending on the option', async (t) => {
  const file = join(temporaryFolder(t), 'passphrase');
  const misspelt = ` ${MNEMONIC} x`;
  writeFileSync(file, `${misspelt}\n`);
  const { terminal, shown } = typing([]);
  const read = (ifMisspelt: 'refuse' | 'warn' | 'accept') =>
    readPassphrase({ ...PASSWORD, file, ifMisspelt }, terminal);
  await t.throwsAsync(read('refuse'), { message: /is not one of BIP-39: is a word misspelt\? .*--any-passphrase/ });
  t.is(await read('warn'), misspelt.trim());
  t.regex(shown(), /warning: .* is not one of BIP-39/);
  t.is(await read('accept'), misspelt);
});

test.serial('no command that spends or registers accepts a misspelt passphrase without a flag', async (t) => {
  const file = join(temporaryFolder(t), 'passphrase');
  writeFileSync(file, 'a word misspelt\n');
  const offline = ['--offline', '--network', 'devnet', '--passphrase-file', file];
  for (const command of [
    ['transfer', '1L', '1'],
    ['delegate', 'register', 'smith'],
  ]) {
    const { code, stdout, stderr } = await runCli([...command, ...offline]);
    t.is(code, 2);
    t.is(stdout, '');
    t.regex(stderr, /^bloomery: the passphrase is not one of BIP-39/);
    t.is((await runCli([...command, ...offline, '--any-passphrase'])).code, 0);
  }
});

test.serial('only the answer yes confirms an action', async (t) => {
  t.true(await confirmed('Send it?', typing(['y']).terminal));
  t.true(await confirmed('Send it?', typing(['Yes']).terminal));
  t.false(await confirmed('Send it?', typing(['']).terminal));
  t.false(await confirmed('Send it?', typing(['yet']).terminal));
});
