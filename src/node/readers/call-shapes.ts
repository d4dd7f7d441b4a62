/**
 * The arguments of the calls that a reader (a process that answers HTTP for the node) sends to the node. The node also
 * checks the arguments here, because the methods of `LocalNodeApi` rely on the checks of the HTTP routes, which ran in
 * the reader. For example, `slotReport` makes a list whose length is an argument.
 */

import { INPUT_BYTES_MAX } from '../../http/admission/limits.ts';
import type { KeyPair } from '../../protocol/types.ts';
import { CLIENT_CHARS_MAX, READS_AT_ONCE, type Call, type Read, type Write } from './messages.ts';
import {
  bytes,
  FLAG,
  integer,
  isRecord,
  list,
  optional,
  plainData,
  record,
  text,
  tuple,
  type Shape,
} from './shapes.ts';

/**
 * Maximum size of the parsed body of a request: the number of values, plus the number of characters of all names and
 * texts (`plainData`). Parsing a body makes at most one value or one character from each byte, so the size of the
 * largest body is less than a quarter of this maximum.
 */
const BODY_SIZE_MAX = 4 * INPUT_BYTES_MAX;
/**
 * Maximum length of a text argument. A text that a client chooses is part of one HTTP request, and a reader handles no
 * request of more than `INPUT_BYTES_MAX` bytes.
 */
const TEXT_CHARS_MAX = INPUT_BYTES_MAX;
/**
 * Maximum number of slots in a call of `slotReport`. One HTTP request to the route `/node/slots` can ask for at most
 * 101 slots, so no call for an HTTP request reaches this maximum.
 */
const SLOTS_MAX = 1_010;
const KEY_BYTES_MAX = 64;
/**
 * Maximum number of arguments of a call. The methods that the node knows have at most three arguments. If a reader
 * calls an unknown method with at most `UNKNOWN_ARGS_MAX` arguments, the node does not kill the reader, but answers
 * with an error.
 */
const UNKNOWN_ARGS_MAX = 16;
const METHOD_CHARS_MAX = 64;

/** The format `int32` of the routes allows integers of any size, such as 1e300. */
const COUNT = integer(0, Number.MAX_VALUE);
const CLIENT = optional(text(CLIENT_CHARS_MAX));
const TEXT = text(TEXT_CHARS_MAX);
const BODY = plainData(BODY_SIZE_MAX);
const KEY = bytes(KEY_BYTES_MAX);

const READ_ARGS: Readonly<Record<Read, Shape>> = {
  status: tuple([]),
  poolEntries: tuple([TEXT]),
  signersOf: tuple([TEXT, CLIENT]),
  peers: tuple([]),
  peerVerdicts: tuple([]),
  forgers: tuple([COUNT, COUNT]),
  forgingDelegates: tuple([]),
  history: tuple([TEXT]),
  diagnostics: tuple([COUNT]),
  slotReport: tuple([COUNT, integer(0, SLOTS_MAX)]),
  metricsText: tuple([]),
};

const WRITE_ARGS: Readonly<Record<Write, Shape>> = {
  submitTransaction: tuple([BODY, CLIENT]),
  submitSignature: tuple([BODY, CLIENT]),
  registerSecondSignature: tuple([record<KeyPair>({ publicKey: KEY, privateKey: KEY }), TEXT, CLIENT]),
  setForging: tuple([TEXT, TEXT, FLAG]),
};

export const READ_CALLS = list(callOf(READ_ARGS), READS_AT_ONCE);
export const WRITE_CALL = callOf(WRITE_ARGS);

/** A call of an unknown method passes this check. `NodeRpcServer` refuses this call, and does not use its arguments. */
function callOf(argsOf: Readonly<Record<string, Shape>>): Shape {
  const anyArgs = list(() => undefined, UNKNOWN_ARGS_MAX);
  const call = record<Call<string>>({ method: text(METHOD_CHARS_MAX), args: anyArgs });
  return (value) => {
    const wrong = call(value);
    if (wrong !== undefined || !isRecord(value)) return wrong;
    const { method, args } = value;
    const known = typeof method === 'string' && Object.hasOwn(argsOf, method) ? argsOf[method]?.(args) : undefined;
    return known === undefined ? undefined : `.args${known}`;
  };
}
