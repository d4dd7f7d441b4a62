/**
 * Schemas of the `--json` output of the wallet commands. These commands handle keys, signed messages and signed
 * transactions.
 */

import type { Schema } from '../../http/schema.ts';
import { ADDRESS, COUNT, FLAG, ID, objectOf, PUBLIC_KEY, SIGNATURE, TEXT } from '../../http/views/shapes.ts';

const ACCEPTED = objectOf({ id: ID, height: COUNT }, ['height']);
/**
 * Schema of a signed transaction in the output of a command with `--offline`. Members that this schema does not name
 * depend on the generation of the network and on the type of the transaction.
 */
const SIGNED: Schema = {
  type: 'object',
  properties: { type: COUNT, timestamp: COUNT, senderPublicKey: PUBLIC_KEY, signature: SIGNATURE },
  required: ['type', 'timestamp', 'senderPublicKey', 'asset', 'signature'],
};
const SENT: Schema = { anyOf: [ACCEPTED, SIGNED] };
const MEMBER_SIGNATURE = objectOf({ transactionId: ID, publicKey: PUBLIC_KEY, signature: SIGNATURE });

export const WALLET_SCHEMAS: Readonly<Record<string, Schema>> = {
  'keys create': objectOf({ passphrase: TEXT, publicKey: PUBLIC_KEY, address: ADDRESS }, ['passphrase']),
  'keys encrypt': objectOf({ publicKey: PUBLIC_KEY, encryptedPassphrase: TEXT }),
  'keys show': objectOf({ publicKey: PUBLIC_KEY, address: ADDRESS }),
  'message sign': objectOf({ message: TEXT, publicKey: PUBLIC_KEY, signature: SIGNATURE }),
  'message verify': objectOf({ message: TEXT, publicKey: PUBLIC_KEY, signature: SIGNATURE, address: ADDRESS }),
  transfer: SENT,
  'delegate register': SENT,
  vote: SENT,
  'second-signature register': SENT,
  'multisig register': SENT,
  'multisig sign': { anyOf: [ACCEPTED, MEMBER_SIGNATURE] },
  broadcast: objectOf({ id: ID, height: COUNT, known: FLAG }, ['height', 'known']),
};
