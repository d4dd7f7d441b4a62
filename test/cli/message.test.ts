import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { isProblemLine, runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const PASSPHRASE = `${'abandon '.repeat(11)}about`;

test('a message that was signed is verified, and an altered one is refused with exit code 1', async (t) => {
  const folder = temporaryFolder(t);
  const env = { BLOOMERY_PASSPHRASE: PASSPHRASE };
  const { stdout } = await runCli(['message', 'sign', 'it is mine', '--json'], { env });
  const file = join(folder, 'signed.json');
  writeFileSync(file, stdout);
  const verified = await runCli(['message', 'verify', file]);
  t.is(verified.code, 0);
  t.regex(verified.stdout, /^signed by \d+L, public key [0-9a-f]{64}\n$/);
  const piped = await runCli(['message', 'verify', '--json'], { input: stdout });
  t.deepEqual(Object.keys(JSON.parse(piped.stdout) as object), ['message', 'publicKey', 'signature', 'address']);

  writeFileSync(file, stdout.replace('mine', 'thine'));
  const altered = await runCli(['message', 'verify', file]);
  t.is(altered.code, 1);
  t.true(isProblemLine(altered.stderr), altered.stderr);
  t.regex(altered.stderr, /the signature is not that of \d+L .* over this message/);
});

for (const [about, document, fault] of [
  ['no text', { message: 7 }, /message must be a string/],
  ['a short key', { message: 'm', publicKey: 'ab' }, /publicKey must be 64 hexadecimal digits/],
  ['no signature', { message: 'm', publicKey: 'ab'.repeat(32) }, /signature must be 128 hexadecimal digits/],
  ['two messages', [{}, {}], /must hold one signed message/],
] as const) {
  test(`a document with ${about} is a usage error`, async (t) => {
    const { code, stderr } = await runCli(['message', 'verify', '-'], { input: JSON.stringify(document) });
    t.is(code, 2);
    t.regex(stderr, fault);
  });
}

for (const [what, input, fault] of [
  ['nothing', '', /standard input: cannot be read: it is empty/],
  ['an empty list', '[]', /standard input: cannot be read: it holds no document/],
] as const) {
  test(`a file with ${what} is refused, because nothing would be sent`, async (t) => {
    for (const command of [
      ['message', 'verify', '-'],
      ['broadcast', '-'],
      ['tx', 'verify', '-'],
    ]) {
      const { code, stderr } = await runCli([...command], { input });
      t.not(code, 0, command.join(' '));
      t.regex(stderr, fault, command.join(' '));
    }
  });
}
