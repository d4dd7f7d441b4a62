/** What the admission bounds. Those that an operator may want to change are options; the others have their reason here. */

import type { HttpLimits } from '../options.ts';

export interface AdmissionLimits {
  /** Connections open at once, those of trusted clients and streams of events included. */
  readonly connectionsMax: number;
  /** Connections of one address that is not trusted. */
  readonly connectionsPerAddressMax: number;
  /** New connections of such an address in a window. */
  readonly arrivalsPerAddressMax: number;
  /** Bytes that clients who are not trusted may make the node hold: unread requests, bodies, answers not yet sent. */
  readonly bufferBytesMax: number;
  /** Time to receive all headers, in milliseconds. */
  readonly headersTimeoutMs: number;
}

/**
 * The sum of all buffers of HTTP connections. 2,000 connections with 16 kB each, or 125 bodies of the largest size: more than
 * honest clients need at a time, and a small share of what a node uses.
 */
export const HTTP_BUFFER_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Bytes that came in count so many times: each read makes a buffer of up to 64 kB, and those that are let go live on until garbage
 * is collected.
 */
export const INPUT_WEIGHT = 2;

/** Share of all connections that only trusted clients get. */
export const RESERVED_SHARE = 0.1;

/**
 * Largest body of a request. The largest transaction with all its signatures has 20 kB; the rest is room for white space.
 * Reading as JSON takes about a millisecond at this size.
 */
export const BODY_BYTES_MAX = 128 * 1024;

/** Body bytes that cost as much of the rate limit as a request. */
export const BODY_BYTES_PER_REQUEST = 16 * 1024;

/** A request that was not read yet may have the largest body behind the largest head. */
export const INPUT_BYTES_MAX = BODY_BYTES_MAX + 64 * 1024;

/**
 * What a client may send on top of a request that is under way. Clients hardly ever pipeline; for those that do this holds
 * dozens of requests.
 */
export const PIPELINED_BYTES_MAX = 16 * 1024;

/** Time to receive a whole request, in milliseconds; larger than any `headersTimeoutMs`. */
export const REQUEST_TIMEOUT_MS = 60_000;

/** Time to read an answer, in milliseconds: a megabyte at 140 kbit/s. A client that reads nothing is cut much earlier. */
export const READING_TIMEOUT_MS = 60_000;

/**
 * After an answer that ends a connection: what is still on its way is read and thrown away, so that it does not reset the
 * answer. Beyond so many bytes it is not read any more, and the client has the rest of the time to read.
 */
export const LINGER_MS = 5_000;
export const LINGER_BYTES_MAX = 128 * 1024;
/** Strangers' connections that end so at once: clients that send large bodies to where none is taken are few. */
export const LINGERING_MAX = 64;

/** Refusals of an address in a window before its connections are closed and new ones are not looked at. */
export const REFUSALS_MAX = 100;
export const WINDOW_MS = 10_000;
export const SHUT_OUT_MS = 10_000;

/** Addresses that penalties are remembered of. The least recent are forgotten beyond. */
export const ADDRESSES_MAX = 20_000;

/** How often time limits are looked at, in milliseconds. */
export const SWEEP_MS = 500;

/** What accepting a connection of a stranger costs, and closing it again, in milliseconds. */
export const ACCEPT_MS = 0.1;
/**
 * What reading costs, in milliseconds for a byte: for 64 kB the system's copy, a buffer of that size and, with buffers of many
 * connections, above all a part of a collection of garbage.
 */
export const READ_MS_PER_BYTE = 0.25 / (64 * 1024);

/** Clients that open a connection for each request, twice as many as the rate limit has room for, and some more. */
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
