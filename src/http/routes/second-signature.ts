/**
 * Declares two routes that the oldest Lisk clients use for second signatures: one shows the fee, and one registers a
 * second signature for the account whose passphrase the request contains. The answer to a registration has status 200
 * in three cases: the node accepted the registration, the handler refused the registration, or the node could not store
 * the transaction. The member `success` of this answer is true only in the first case. After any other failure of the
 * node, the answer has a different status. The answer also has a different status if the node refuses the request
 * before the handler runs, for example because of an access rule, the rate limit or a malformed body. The node never
 * logs or stores the request, because the request contains passphrases.
 */

import { addressOf, keyPairOfPassphrase } from '../../crypto/keys.ts';
import type { NodeApi, SubmitResult } from '../../ports/node-api.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { FEES } from '../../protocol/params.ts';
import type { Account } from '../../protocol/state.ts';
import type { HttpDialect } from '../dialect.ts';
import { OR_NOT_ITSELF } from '../problems.ts';
import type { Route } from '../route.ts';
import { schemaErrorsOf, typeMismatch, type Schema } from '../schema.ts';
import { registrationView, registrationShape } from '../views/registration.ts';
import { FLAG, INTEGER, objectOf, TEXT } from '../views/shapes.ts';

export function secondSignatureRoutes(dialect: HttpDialect): readonly Route[] {
  return [FEE_ROUTE, registrationRoute(dialect)];
}

const REFUSED: Schema = objectOf({ success: FLAG, error: TEXT });

const FEE_ROUTE: Route = {
  kind: 'plain',
  method: 'GET',
  path: '/signatures/fee',
  summary: 'Shows the fee of registering a second signature, in beddows.',
  parameters: [],
  unknownParameters: 'ignored',
  contentType: 'application/json',
  answers: { 200: objectOf({ success: FLAG, fee: INTEGER }) },
  errors: {},
  respond: () => ({ status: 200, body: { success: true, fee: Number(FEES.secondSignature) } }),
};

/**
 * Schema of a passphrase: a text of 1 to 100 characters. Old Lisk nodes, which accepted passphrases in requests, had
 * the same limits.
 */
const SECRET: Schema = { type: 'string', minLength: 1, maxLength: 100 };

/**
 * Shape of the body. The route sends only the first error, and `schemaErrorsOf` reports missing members in the reverse
 * order of `required`. If both secrets are missing, the route therefore reports the missing `secondSecret`.
 */
const BODY: Schema = {
  type: 'object',
  required: ['secret', 'secondSecret'],
  properties: {
    publicKey: {
      type: 'string',
      format: 'publicKey',
      description: 'Public key that must belong to `secret`; can be empty.',
    },
    secondSecret: { ...SECRET, description: 'Passphrase of the second signature; also accepted as `secondsecret`.' },
    secret: { ...SECRET, description: 'Passphrase of the account.' },
  },
};

function registrationRoute(dialect: HttpDialect): Route {
  return {
    kind: 'plain',
    method: 'PUT',
    path: '/signatures',
    summary:
      'Registers a second signature for the account of the passphrase `secret`. The node builds, signs and sends the transaction.',
    parameters: [],
    unknownParameters: 'ignored',
    body: { name: 'registration', schema: BODY, judgedByHandler: true },
    contentType: 'application/json',
    answers: { 200: { anyOf: [objectOf({ success: FLAG, transaction: registrationShape(dialect) }), REFUSED] } },
    errors: {
      403: `The client has no access, or its address is not in \`http.legacySignaturesWhitelist\`. ${OR_NOT_ITSELF}`,
    },
    access: 'secrets',
    respond: async (api, request) => {
      const result = await register(api, request.body, request.client);
      if (typeof result === 'string') return { status: 200, body: { success: false, error: result } };
      const transaction = registrationView(result.transaction, result.receivedAtMs, dialect);
      return { status: 200, body: { success: true, transaction } };
    },
  };
}

type Accepted = Extract<SubmitResult, { accepted: true }>;

/** @returns the accepted transaction, or the message of the first error if there is an error */
async function register(api: NodeApi, raw: unknown, client: string | undefined): Promise<Accepted | string> {
  if (raw === undefined) return typeMismatch('object', 'undefined');
  const body = normalised(raw);
  const error = schemaErrorsOf(BODY, body)[0];
  if (error !== undefined) return error.message;
  const { secret, secondSecret, publicKey, ...rest } = body as Readonly<Record<string, string>>;
  if (rest['multisigAccountPublicKey'] || rest['requesterPublicKey']) return 'Multisig request is not allowed';
  const keyPair = keyPairOfPassphrase(secret ?? '');
  const secondPair = keyPairOfPassphrase(secondSecret ?? '');
  try {
    const ownKey = hexOf(keyPair.publicKey);
    if (publicKey && publicKey.toLowerCase() !== ownKey) return 'Invalid passphrase';
    const account = api.chain.accountBy({ address: addressOf(ownKey) });
    if (account?.secondPublicKey !== undefined || (await isWaiting(api, ownKey))) return ALREADY;
    if ((account?.balance ?? 0n) < FEES.secondSignature) return tooPoor(ownKey, account);
    const result = await api.registerSecondSignature(keyPair, hexOf(secondPair.publicKey), client);
    if (result.accepted) return result;
    const message = result.errors[0]?.message ?? result.message;
    return message.startsWith('Register second signature only allowed once') ? ALREADY : message;
  } finally {
    keyPair.privateKey.fill(0);
    secondPair.privateKey.fill(0);
  }
}

const ALREADY = 'Account already has a second passphrase';

/**
 * Renames `secondsecret` in the body to `secondSecret`, the spelling of the error messages. If the body has both
 * members, the function ignores `secondsecret`.
 */
function normalised(raw: unknown): unknown {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw;
  const { secondsecret, ...body } = raw as Readonly<Record<string, unknown>>;
  return secondsecret === undefined || 'secondSecret' in body ? body : { ...body, secondSecret: secondsecret };
}

/** True when a transaction that registers a second signature for the account waits in the pool. */
async function isWaiting(api: NodeApi, publicKey: string): Promise<boolean> {
  const states = ['verified', 'pending', 'ready', 'validated', 'received'] as const;
  const queues = await Promise.all(states.map(async (state) => api.poolEntries(state)));
  return queues
    .flat()
    .some(
      ({ transaction }) => transaction.senderPublicKey === publicKey && transaction.payload.kind === 'secondSignature',
    );
}

function tooPoor(publicKey: string, account: Account | undefined): string {
  return `Account does not have enough LSK: ${addressOf(publicKey)} balance: ${inLsk(account?.balance ?? 0n)}`;
}

/** Writes an amount of beddows as a decimal number of LSK, without trailing zeros. */
function inLsk(beddows: bigint): string {
  const digits = (beddows < 0n ? -beddows : beddows).toString().padStart(9, '0');
  const text = `${digits.slice(0, -8)}.${digits.slice(-8)}`.replace(/\.?0+$/, '');
  return beddows < 0n ? `-${text}` : text;
}
