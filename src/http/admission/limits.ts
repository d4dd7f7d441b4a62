/**
 * The limits of the admission. Limits that an operator may want to change are options. All other limits are constants,
 * and their comments give the reasons.
 */

import type { HttpLimits } from '../options.ts';

export interface AdmissionLimits {
  /** Maximum number of open connections, including those of trusted clients and event streams. */
  readonly connectionsMax: number;
  /** Maximum number of connections of one address that is not trusted. */
  readonly connectionsPerAddressMax: number;
  /** Maximum number of new connections of one address that is not trusted, in a window of `WINDOW_MS`. */
  readonly arrivalsPerAddressMax: number;
  /**
   * Maximum number of bytes that the node holds for all clients that are not trusted: unread requests, bodies, and
   * answers that are not sent yet.
   */
  readonly bufferBytesMax: number;
  /** Time limit for receiving all headers, in milliseconds. */
  readonly headersTimeoutMs: number;
}

/**
 * Maximum number of bytes in all buffers of strangers' HTTP connections: for example, 128 bodies of the largest size,
 * because input counts twice (`INPUT_WEIGHT`). All honest clients together need less. The maximum is a small share of a
 * node's memory.
 */
export const HTTP_BUFFER_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Factor by which the count of input bytes is multiplied. Each read makes a buffer of up to 64 kB, and released buffers
 * stay in memory until the next garbage collection.
 */
export const INPUT_WEIGHT = 2;

/** Share of all connections that is reserved for trusted clients. */
export const RESERVED_SHARE = 0.1;

/**
 * Maximum size of a request body, in bytes. The largest transaction with all its signatures has 20 kB, so there is room
 * for white space. Parsing JSON of this size takes about a millisecond.
 */
export const BODY_BYTES_MAX = 128 * 1024;

/**
 * Under the rate limit, a request with a large body counts as several requests: the size of the body divided by this
 * number of bytes, rounded up.
 */
export const BODY_BYTES_PER_REQUEST = 16 * 1024;

/**
 * Maximum number of bytes that `RequestGate` holds for one connection: the largest body, plus 64 kB for the head of the
 * request and the last chunk from the socket.
 */
export const INPUT_BYTES_MAX = BODY_BYTES_MAX + 64 * 1024;

/**
 * Maximum number of bytes that a client may send beyond the request that is being handled. Few clients pipeline
 * requests. For clients that pipeline, the maximum is enough for dozens of requests.
 */
export const PIPELINED_BYTES_MAX = 16 * 1024;

/**
 * Time limit for receiving the body of a request after its headers, in milliseconds; longer than any
 * `headersTimeoutMs`. The limit also applies to received bytes of a stranger that wait for their turn.
 */
export const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Time limit for a stranger to read a complete answer, in milliseconds: enough for a megabyte at 140 kbit/s. With the
 * default of `socketTimeoutMs`, the connection of a client that reads nothing is closed earlier, after 20 seconds.
 */
export const READING_TIMEOUT_MS = 60_000;

/**
 * Maximum time in milliseconds for which a connection stays open after its last answer. The node reads and discards
 * input that still arrives. Otherwise the system would reset the connection because of unread input, perhaps before the
 * client has read the answer. After `LINGER_BYTES_MAX` bytes, the node stops reading, and the client can use the
 * remaining time to read the answer.
 */
export const LINGER_MS = 5_000;
export const LINGER_BYTES_MAX = 128 * 1024;
/**
 * Maximum number of strangers' connections whose input is discarded at the same time, after their last answer. Further
 * connections are closed at once. The maximum can be small, because few clients send large bodies to paths that take no
 * body.
 */
export const LINGERING_MAX = 64;

/**
 * Maximum number of refusals that an address may get in a window of `WINDOW_MS`. At the next refusal, the address is
 * shut out for `SHUT_OUT_MS`. The connections of an address that is shut out are closed, and its new connections are
 * refused at once.
 */
export const REFUSALS_MAX = 100;
export const WINDOW_MS = 10_000;
export const SHUT_OUT_MS = 10_000;

/**
 * Maximum number of addresses whose behaviour `AddressRecords` records. Beyond the maximum, it forgets addresses that
 * it has not seen recently (`LruMap`).
 */
export const ADDRESSES_MAX = 20_000;

/** Interval of the checks of time limits, in milliseconds. */
export const SWEEP_MS = 500;

/** Time that the scheduler counts for accepting and closing a connection of a stranger, in milliseconds. */
export const ACCEPT_MS = 0.1;
/**
 * Time that the scheduler counts for reading a byte, in milliseconds. Reading 64 kB costs a copy by the system and a
 * buffer of that size. With many connections, the main cost is the garbage collection of such buffers.
 */
export const READ_MS_PER_BYTE = 0.25 / (64 * 1024);

/**
 * Minimum of `arrivalsPerAddressMax`. Some clients open a connection for each request. `arrivalsPerAddressMax` is
 * therefore at least twice the number of requests that the rate limit allows in `WINDOW_MS`. Without a rate limit,
 * there is no limit on new connections.
 */
const ARRIVALS_MIN = 400;

export function admissionLimitsOf(limits: HttpLimits): AdmissionLimits {
  const { connectionsMax, connectionsPerAddressMax, headersTimeoutMs, max, strangerMax, windowMs } = limits;
  const requestsMax = max === 0 ? strangerMax : max;
  const arrivalsMax =
    requestsMax === 0 ? Number.POSITIVE_INFINITY : Math.ceil((2 * requestsMax * WINDOW_MS) / windowMs);
  return {
    connectionsMax,
    connectionsPerAddressMax,
    arrivalsPerAddressMax: Math.max(ARRIVALS_MIN, arrivalsMax),
    bufferBytesMax: HTTP_BUFFER_BYTES_MAX,
    headersTimeoutMs,
  };
}
