/** The shape of a `LimitReport`. Its bounds follow from the limits of HTTP and of `LimitClient`. */

import {
  CLIENT_CHARS_MAX,
  LIMIT_ASKS_AT_ONCE,
  LIMIT_REPORTED_MAX,
  type LimitAsk,
  type LimitReport,
} from './messages.ts';
import { integer, isRecord, list, record, text, tuple, type Shape } from './shapes.ts';

/**
 * Maximum number of clients in the lists of closed connections and of ended replays. A reader reports only connections
 * that the node has counted. While the node is silent, the reader collects these reports, but the node counts no
 * further connections. A reader therefore reports at most `http.connectionsMax` clients (at most 100,000), and the
 * clients of one unanswered batch of limit checks.
 */
const CLIENTS_MAX = 200_000;
/**
 * Maximum of each number in a report that counts connections, and of each number that counts replays. Each connection
 * and each replay of a reader needs an open file, and a process usually has at most a million open files.
 */
const CONNECTIONS_MAX = 10_000_000;
/**
 * Maximum cost of a request. The cost is the number of requests that the rate limit counts for this request. A request
 * with the largest body counts as 8 requests.
 */
const COST_MAX = 1_000;

const CLIENT = text(CLIENT_CHARS_MAX);
const CLOSED = list(tuple([CLIENT, integer(1, CONNECTIONS_MAX)]), CLIENTS_MAX);

type Ask<Name extends string> = Extract<LimitAsk, Readonly<Record<Name, unknown>>>;
const REQUEST = record<Ask<'client'>>({ client: CLIENT, cost: integer(1, COST_MAX) });
const CONNECTION = record<Ask<'key'>>({ key: CLIENT });
const REPLAY = record<Ask<'replay'>>({ replay: CLIENT });

const ASK: Shape = (value) => {
  if (!isRecord(value)) return '';
  return 'client' in value ? REQUEST(value) : 'replay' in value ? REPLAY(value) : CONNECTION(value);
};

export const LIMITS = record<LimitReport>({
  trusted: integer(-CONNECTIONS_MAX, CONNECTIONS_MAX),
  left: CLOSED,
  replaysEnded: CLOSED,
  // While the node does not answer, the reader can refuse a client any number of times, so an entry can have a large
  // number. `SharedCounters.refused` counts at most `REFUSALS_MAX + 1` refusals of an entry, which takes little time.
  refused: list(tuple([CLIENT, integer(1, Number.MAX_SAFE_INTEGER)]), LIMIT_REPORTED_MAX),
  shutOut: list(CLIENT, LIMIT_REPORTED_MAX),
  asks: list(ASK, LIMIT_ASKS_AT_ONCE),
});
