/** `bloomery decode`: explains a transaction, a block header or a public key without asking a node. */

import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { addressOf } from '../../crypto/keys.ts';
import { readStandardInput } from '../../config/bounded-file.ts';
import { bloomeryHome, findNetworkDirectory, loadNetwork } from '../../config/network.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { messageOf } from '../../primitives/errors.ts';
import { decodeHeader } from '../../protocol/block/header.ts';
import type { Generation } from '../../protocol/params.ts';
import { createSigner, type SigningNetwork, type TransactionSigner } from '../../protocol/sign.ts';
import type { BlockHeader, Transaction } from '../../protocol/types.ts';
import { rowLines, typeName, type Row } from '../chain-query/format-rows.ts';
import type { DecodeFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';
import { usageError } from '../error-lines.ts';
import { describe } from '../wallet/describe.ts';

const KEY_BYTES = 32;
/** Maximum size of the standard input, in bytes. A usual transaction or header is much smaller. */
const BYTES_MAX = 1024 * 1024;
const FIRST_TYPE_GEN3 = 8;
/**
 * Network identifier that `bloomery decode` passes to `createSigner` if the user gives no `--network`. The value has no
 * effect: only signatures of generation 3 cover the network identifier, and the command does not check these signatures
 * without a network.
 */
const NO_NETWORK = '0'.repeat(64);

interface Decoded {
  readonly rows: readonly Row[];
  readonly details?: readonly string[];
  readonly json: object;
}

/**
 * @param given hexadecimal digits, JSON, or `-` to read the hexadecimal digits or the JSON from the standard input
 * @throws ProtocolError `USAGE` for input that cannot be decoded, or that is of another generation than the network;
 *   errors of reading the standard input or a network folder
 */
export function decode(given: string, flags: DecodeFlags): void {
  const text = (given === '-' ? readStandardInput(BYTES_MAX).toString('utf8') : given).trim();
  const network =
    flags.network === undefined
      ? undefined
      : loadNetwork(findNetworkDirectory(flags.network, bloomeryHome(process.env))).params;
  const isHex = /^(?:[0-9a-f]{2})+$/i.test(text);
  const all = isHex ? decodedBytes(Buffer.from(text, 'hex'), network) : [decodedDocument(text, network)];
  if (all.length === 0)
    throw usageError('these bytes are not a transaction, a block header or a public key of the protocol');
  if (flags.json === true) {
    for (const { json } of all) printJson(json);
    return;
  }
  for (const [index, { rows, details = [] }] of all.entries()) {
    if (index > 0) printLines(['', 'or, as 64 of the bytes may be a second signature:', '']);
    printLines([...rowLines(rows), ...details]);
  }
}

function decodedBytes(bytes: Buffer, network: SigningNetwork | undefined): readonly Decoded[] {
  if (bytes.length === KEY_BYTES) return [decodedKey(hexOf(bytes))];
  const header = headerIn(bytes);
  if (header !== undefined) return [decodedHeader(header)];
  const signer = signerFor(generationOfType(bytes[0]), network);
  const found = signer.fromBytes(bytes).map((transaction) => decodedTransaction(transaction, signer, network));
  // `fromBytes` can find two transactions for the same bytes. Only the right transaction has a valid signature. If no
  // transaction has a signature that was checked and is valid, the function returns all transactions that it found.
  const signed = found.filter(({ isSigned }) => isSigned === true);
  return signed.length > 0 ? signed : found;
}

function decodedDocument(text: string, network: SigningNetwork | undefined): Decoded {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw usageError(`this is neither hexadecimal digits nor JSON: ${messageOf(error)}`);
  }
  const type: unknown = typeof document === 'object' && document !== null ? Reflect.get(document, 'type') : undefined;
  const signer = signerFor(generationOfType(type), network);
  let transaction: Transaction;
  try {
    transaction = signer.parse(document);
  } catch (error) {
    throw usageError(`this is not a transaction: ${messageOf(error)}`);
  }
  return decodedTransaction(transaction, signer, network);
}

function generationOfType(type: unknown): Generation {
  return typeof type === 'number' && type >= FIRST_TYPE_GEN3 ? 3 : 2;
}

function signerFor(generation: Generation, network: SigningNetwork | undefined): TransactionSigner {
  if (network !== undefined && network.generation !== generation)
    throw usageError(
      `the input is of generation ${generation}, but the network is of generation ${network.generation}: correct --network`,
    );
  return createSigner({ generation, networkIdentifier: network?.networkIdentifier ?? NO_NETWORK }, defaultEd25519());
}

function decodedTransaction(
  transaction: Transaction,
  signer: TransactionSigner,
  network: SigningNetwork | undefined,
): Decoded & { readonly isSigned: boolean | undefined } {
  const { id, type, timestamp, senderPublicKey, signatures } = transaction;
  const generation = generationOfType(type);
  // A signature of generation 2 does not cover the network identifier, so the signature can be checked without a
  // network.
  const isSigned = network === undefined && generation === 3 ? undefined : signer.faultsOf(transaction).length === 0;
  const bytes = hexOf(signer.toBytes(transaction));
  const verdict = isSigned === undefined ? 'not checked: name a network with --network' : isSigned ? 'valid' : 'false';
  return {
    isSigned,
    rows: [
      ['transaction', id],
      ['type', `${type}, ${typeName(type)} of generation ${generation}`],
      ['timestamp', `${timestamp} s after the epoch of the network`],
      ['public key', senderPublicKey],
      ['signature', verdict],
      ...(signatures.length === 0 ? [] : [['signatures', `${signatures.length} of members`] as const]),
      ['bytes', bytes],
    ],
    details: describe(transaction, `any of generation ${generation}`),
    json: {
      kind: 'transaction',
      transaction: { ...signer.toJson(transaction), id },
      senderId: transaction.senderId,
      bytes,
      isSigned: isSigned ?? null,
    },
  };
}

/**
 * Reads a block header. The first four bytes of a header are its version, which is at most 2. The result is undefined
 * for bytes that are not a header.
 */
function headerIn(bytes: Buffer): BlockHeader | undefined {
  if (bytes.length < 4 || bytes.readUInt32LE(0) > 2) return undefined;
  try {
    return decodeHeader(bytes);
  } catch {
    return undefined;
  }
}

function decodedHeader(header: BlockHeader): Decoded {
  const members = Object.entries(header).map(([name, value]) => [name, String(value)] as const);
  return {
    rows: [['block header', header.id], ...members.slice(1)],
    json: {
      kind: 'header',
      header: Object.fromEntries(
        Object.entries(header).map(([name, value]) => [
          name,
          typeof value === 'bigint' ? value.toString() : (value as unknown),
        ]),
      ),
    },
  };
}

function decodedKey(publicKey: string): Decoded {
  const address = addressOf(publicKey);
  return {
    rows: [
      ['public key', publicKey],
      ['address', address],
    ],
    json: { kind: 'publicKey', publicKey, address },
  };
}
