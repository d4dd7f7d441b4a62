/** `bloomery message sign` and `message verify`: sign a text with the key of an account, and check such a signature. */

import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { addressOf, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { isMessageSigned, signMessage, type SignedMessage } from '../../crypto/message.ts';
import { isCanonicalHex } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { MessageSignFlags, MessageVerifyFlags } from '../flags.ts';
import { printJson, printLine, printLines } from '../output.ts';
import { usageError } from '../error-lines.ts';
import { documentsIn } from '../wallet/documents.ts';
import { readPassphrase } from '../wallet/secrets.ts';

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

export async function messageSign(message: string, flags: MessageSignFlags): Promise<void> {
  const passphrase = await readPassphrase({
    name: 'passphrase',
    file: flags.passphraseFile,
    flag: '--passphrase-file',
    variable: 'BLOOMERY_PASSPHRASE',
    ifMisspelt: 'warn',
  });
  const signed = signMessage(message, keyPairOfPassphrase(passphrase), defaultEd25519());
  if (flags.json === true) printJson(signed);
  else
    printLines([
      `message     ${signed.message}`,
      `public key  ${signed.publicKey}`,
      `address     ${addressOf(signed.publicKey)}`,
      `signature   ${signed.signature}`,
    ]);
}

/**
 * @param file file with the output of `message sign --json`; `-` is the standard input
 * @throws ProtocolError `MESSAGE_NOT_SIGNED` if the signature does not match the key and the message; `USAGE` if the
 *   file does not contain exactly one signed message; errors of `documentsIn`
 */
export function messageVerify(file: string, flags: MessageVerifyFlags): void {
  const [document, ...others] = documentsIn(file);
  if (others.length > 0) throw usageError(`${file}: must hold one signed message`);
  const signed = signedMessageOf(document, file);
  const address = addressOf(signed.publicKey);
  if (!isMessageSigned(signed, defaultEd25519())) {
    const text = `the signature is not that of ${address} (public key ${signed.publicKey}) over this message`;
    throw new ProtocolError('MESSAGE_NOT_SIGNED', { publicKey: signed.publicKey }, text);
  }
  if (flags.json === true) printJson({ ...signed, address });
  else printLine(`signed by ${address}, public key ${signed.publicKey}`);
}

function signedMessageOf(document: unknown, file: string): SignedMessage {
  const { message, publicKey, signature } = (document ?? {}) as Readonly<Record<string, unknown>>;
  const isHex = (value: unknown, bytes: number): value is string =>
    typeof value === 'string' && isCanonicalHex(value.toLowerCase(), bytes);
  if (typeof message !== 'string') throw usageError(`${file}: message must be a string`);
  if (!isHex(publicKey, KEY_BYTES)) throw usageError(`${file}: publicKey must be ${2 * KEY_BYTES} hexadecimal digits`);
  if (!isHex(signature, SIGNATURE_BYTES))
    throw usageError(`${file}: signature must be ${2 * SIGNATURE_BYTES} hexadecimal digits`);
  return { message, publicKey: publicKey.toLowerCase(), signature: signature.toLowerCase() };
}
