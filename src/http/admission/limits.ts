/**
 * The limits that the admission (`admission.ts`) enforces on HTTP connections. A limit is an option if an operator can
 * have a reason to change the limit. All other limits are constants. The comments of most constants give the reasons
 * for their values.
 */

import type { HttpLimits } from '../options.ts';

export interface AdmissionLimits {
  /** Maximum number of open connections, including event streams and the connections of trusted clients. */
  readonly connectionsMax: number;
  /** Maximum number of connections of one address that is not trusted. */
  readonly connectionsPerAddressMax: number;
  /** Maximum number of new connections of one address that is not trusted, in a window of `WINDOW_MS`. */
  readonly arrivalsPerAddressMax: number;
  /**
   * Maximum number of buffered bytes for all strangers (clients that are not trusted) together: the bytes of answers
   * that are not sent yet, plus `INPUT_WEIGHT` times the bytes of requests that are not parsed yet. If the node has
   * accepted a body with a stated length, this length counts as bytes of a request until the answer is sent. If the
   * node has accepted a body without a stated length, `BODY_BYTES_MAX` bytes count in the same way, in addition to the
   * bytes that are not parsed yet (`RequestGate.bytes`).
   */
  readonly bufferBytesMax: number;
  /** Time limit for receiving all headers of a request, in milliseconds. */
  readonly headersTimeoutMs: number;
}

/**
 * Value of `bufferBytesMax` in every node. The value is enough for 128 bodies of the largest size, because each byte of
 * input counts twice (`INPUT_WEIGHT`). All honest clients together need fewer bytes. The maximum is a small share of a
 * node's memory.
 */
export const HTTP_BUFFER_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Factor with which a byte of input counts in the sum that `bufferBytesMax` limits. Input occupies more memory than its
 * size, because each read makes a buffer of up to 64 kB, and released buffers stay in memory until the next garbage
 * collection.
 */
export const INPUT_WEIGHT = 2;

/** Share of all connections that is reserved for trusted clients. */
export const RESERVED_SHARE = 0.1;

/**
 * Maximum size of a request body, in bytes. The largest transaction with all its signatures has 20 kB, so the maximum
 * leaves room for white space. Parsing JSON of this size takes about a millisecond.
 */
export const BODY_BYTES_MAX = 128 * 1024;

/**
 * Maximum number of levels of objects and lists in a request body. A transaction has at most 258 levels, because its
 * asset has at most 256 levels. If the node has reading processes (processes that answer HTTP for the node), these
 * processes send request bodies to the node's own process in messages. In a measurement, Node.js 20 could not read a
 * message with about 1,900 levels, and the process that received the message ended.
 */
export const BODY_LEVELS_MAX = 500;

/**
 * The rate limit counts a request with a large body as several requests: the size of the body divided by this number of
 * bytes, rounded up.
 */
export const BODY_BYTES_PER_REQUEST = 16 * 1024;

/**
 * Maximum number of bytes that `RequestGate` holds for one connection: the largest body, plus 64 kB for the head of the
 * request and the last chunk from the socket.
 */
export const INPUT_BYTES_MAX = BODY_BYTES_MAX + 64 * 1024;

/**
 * Maximum number of bytes of later requests that a client is allowed to send while the node handles a request. Few
 * clients pipeline requests. For clients that pipeline, the maximum is enough for dozens of requests.
 */
export const PIPELINED_BYTES_MAX = 16 * 1024;

/**
 * Time limit in milliseconds for receiving the body of a request, from the end of its headers. The node also closes the
 * connection of a stranger (an untrusted client) if received bytes of this connection wait longer than this time for
 * their turn (`fair-scheduler.ts`).
 */
export const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Time, in milliseconds, within which a stranger (an untrusted client) must read a complete answer. The time is enough
 * for a megabyte at 140 kbit/s. With the default of `socketTimeoutMs`, the connection of a client that reads nothing is
 * closed earlier, after 20 seconds.
 */
export const READING_TIMEOUT_MS = 60_000;

/**
 * Maximum time in milliseconds for which a connection stays open after its last answer. The node reads and discards
 * input that still arrives. If the node did not read this input, the operating system would reset the connection, and
 * the client could lose the answer. After `LINGER_BYTES_MAX` bytes, the node stops reading. The client can use the rest
 * of `LINGER_MS` to read the answer.
 */
export const LINGER_MS = 5_000;
export const LINGER_BYTES_MAX = 128 * 1024;
/**
 * Maximum number of connections of strangers (untrusted clients) that can stay open after their last answer
 * (`LINGER_MS`) at the same time. If this number is reached, the node closes any further connection directly after its
 * last answer. The number can be small, because few clients send input that the node does not read, such as a large
 * body to a path that takes no body.
 */
export const LINGERING_MAX = 64;

/**
 * Maximum number of refusals of one address in a window of `WINDOW_MS`. If the node refuses the address once more in
 * this window, the address is shut out for `SHUT_OUT_MS`. When an address is shut out, its connections are closed, and
 * its new connections are refused immediately.
 */
export const REFUSALS_MAX = 100;
export const WINDOW_MS = 10_000;
export const SHUT_OUT_MS = 10_000;

/**
 * Maximum number of addresses whose behaviour `AddressRecords` records. At this maximum, `AddressRecords` forgets the
 * addresses that it has not seen recently (`LruMap`).
 */
export const ADDRESSES_MAX = 20_000;

/** Time in milliseconds between two checks of the time limits of all connections. */
export const SWEEP_MS = 500;

/**
 * Time in milliseconds that accepting and closing a connection takes. For each connection of a stranger (an untrusted
 * client), the node subtracts this time from the budget of `WorkShare`: the main-thread time that the work for all
 * strangers and all peers together is allowed to take.
 */
export const ACCEPT_MS = 0.1;
/**
 * Time in milliseconds that reading one byte takes. For each byte that the node reads from a stranger (an untrusted
 * client), the node subtracts this time from the budget of `WorkShare`: the main-thread time that the work for all
 * strangers and all peers together is allowed to take. Reading 64 kB costs a copy by the system and a buffer of that
 * size. With many connections, the main cost is the garbage collection of such buffers.
 */
export const READ_MS_PER_BYTE = 0.25 / (64 * 1024);

/**
 * Smallest value of `arrivalsPerAddressMax`. Some clients open a connection for each request. The value of
 * `arrivalsPerAddressMax` is therefore twice the number of requests that the rate limit allows in `WINDOW_MS`, or
 * `ARRIVALS_MIN` if `ARRIVALS_MIN` is the greater number. Without a rate limit, there is no limit on new connections.
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
