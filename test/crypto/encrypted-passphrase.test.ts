import test from 'ava';
import * as reference from 'lisk-cryptography-2';
import { decryptPassphrase, encryptPassphrase, parseEncryptedPassphrase } from '../../src/crypto/keys.ts';

const PASSWORD = 'elephant tree paris dragon chair galaxy';
const PASSPHRASE = 'honey catalog noodle student shove basket bless tackle error only shock wasp';
const ENCRYPTED =
  'iterations=10&cipherText=44ed96f26f4816d7acf91f9224a0db36dba26384ab458ad16a9c5f74ad11b5e3352d82c76fca689903e7dbc1cd55b2ec013bb9877d2d6c0129adbebd42c968c0661bbb4872f97b3406284bcd&iv=21921be40f694f13f2520726&salt=e42bbe86bd6698c5f7e298977ade8689&tag=87fcf23488489ec20263f35d35e51c06&version=1';

const salt = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const iv = Buffer.from('000102030405060708090a0b', 'hex');

function without(key: string): string {
  return ENCRYPTED.split('&')
    .filter((pair) => !pair.startsWith(`${key}=`))
    .join('&');
}

test('the published example is decrypted', async (t) => {
  t.is(await decryptPassphrase(ENCRYPTED, PASSWORD), PASSPHRASE);
});

test('a wrong password and a malformed text give different errors', async (t) => {
  await t.throwsAsync(decryptPassphrase(ENCRYPTED, 'another'), { code: 'PASSWORD_WRONG' });
  await t.throwsAsync(decryptPassphrase('nothing', PASSWORD), { code: 'ENCRYPTED_PASSPHRASE_INVALID' });
});

test('encrypted text is decrypted here and by the reference package', async (t) => {
  const text = await encryptPassphrase(PASSPHRASE, PASSWORD, { iterations: 3, salt, iv });
  t.is(await decryptPassphrase(text, PASSWORD), PASSPHRASE);
  t.is(await encryptPassphrase(PASSPHRASE, PASSWORD, { iterations: 3, salt, iv }), text);
  const parsed = reference.parseEncryptedPassphrase(text);
  t.is(reference.decryptPassphraseWithPassword(parsed, PASSWORD), PASSPHRASE);
});

test('text that the reference package encrypted is decrypted', async (t) => {
  const parts = reference.encryptPassphraseWithPassword(PASSPHRASE, PASSWORD, 2);
  t.is(await decryptPassphrase(reference.stringifyEncryptedPassphrase(parts), PASSWORD), PASSPHRASE);
});

test('members may be in any order, and iterations may be missing', (t) => {
  const reversed = ENCRYPTED.split('&').reverse().join('&');
  t.deepEqual(parseEncryptedPassphrase(reversed), parseEncryptedPassphrase(ENCRYPTED));
  t.is(parseEncryptedPassphrase(without('iterations')).iterations, 1_000_000);
});

const ONE_VALUE = 'Encrypted passphrase to parse must have only one value per key.';

for (const [about, text, message] of [
  ['no string', 5, 'Encrypted passphrase to parse must be a string.'],
  ['no salt', without('salt'), ONE_VALUE],
  ['no version', without('version'), ONE_VALUE],
  ['a tag twice', `${ENCRYPTED}&tag=00`, ONE_VALUE],
  ['iterations that are not a number', `${without('iterations')}&iterations=ten`, 'Could not parse iterations.'],
  ['no iterations at all', `${without('iterations')}&iterations=0`, 'Iterations must be in 1..10000000.'],
  ['iterations without end', `${without('iterations')}&iterations=99999999`, 'Iterations must be in 1..10000000.'],
  ['a short tag', `${without('tag')}&tag=87fcf234`, 'Tag must be 16 bytes.'],
  ['a tag of half a byte', `${without('tag')}&tag=87f`, 'Tag must have a valid length of hex string.'],
  ['a tag that is not hexadecimal', `${without('tag')}&tag=xy`, 'Tag must be a valid hex string.'],
  ['a short vector', `${without('iv')}&iv=0011`, 'IV must be 12 bytes.'],
  ['an empty salt', `${without('salt')}&salt=`, 'Salt must be a valid hex string.'],
  ['a cipher text without end', `${without('cipherText')}&cipherText=${'00'.repeat(5000)}`, /at most 4096 bytes/],
] as const) {
  test(`an encrypted passphrase with ${about} is refused`, (t) => {
    const expected = { code: 'ENCRYPTED_PASSPHRASE_INVALID', message };
    t.throws(() => parseEncryptedPassphrase(text), expected);
  });
}

test('options out of range are refused', async (t) => {
  const encrypt = (options: object) => encryptPassphrase('a', 'b', { iterations: 1, salt, iv, ...options });
  const code = 'ENCRYPTED_PASSPHRASE_INVALID';
  await t.throwsAsync(encrypt({ iterations: 0 }), { code, message: /Iterations/ });
  await t.throwsAsync(encrypt({ iv: salt }), { code, message: /IV/ });
  await t.throwsAsync(encrypt({ salt: Buffer.alloc(0) }), { code, message: /Salt/ });
});
