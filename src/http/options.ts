/** Defines the options of the HTTP interface: its listeners, access rules and limits. */

import type { DevnetControls } from '../ports/devnet-controls.ts';
import type { WorkShare } from '../primitives/work-share.ts';
import { SILENT, type Observer } from '../ports/observer.ts';
import type { SharedLimits } from './admission/shared-limits.ts';
import type { ListeningSockets } from './listening-socket.ts';

export interface HttpOptions {
  /** If false, the node refuses every request with status 403. */
  readonly enabled: boolean;
  /** Port to listen on; with 0, the system chooses a free port. */
  readonly port: number;
  /** IPv4 or IPv6 address on which the interface listens. */
  readonly address: string;
  /** Options of a second listener, for TLS, at the same address; absent if the node does not serve TLS. */
  readonly tls?: TlsOptions;
  /**
   * If true, the node trusts proxies: if a request has the header `X-Forwarded-For`, the node reads the client's
   * address from this header.
   */
  readonly trustProxy: boolean;
  /**
   * If `public` is true, all clients have access. If `public` is false, only the addresses and networks (CIDR) in
   * `whiteList` have access.
   */
  readonly access: { readonly public: boolean; readonly whiteList: readonly string[] };
  /**
   * Host names of this node, besides `localhost` and IP addresses. Routes with an access rule of their own
   * (`Route.access`) refuse requests with any other host name.
   */
  readonly hostNames: readonly string[];
  /**
   * Addresses from which clients are allowed to read the state of forging, and to enable or disable forging. A client
   * needs the permission of `access` in addition.
   */
  readonly forgingWhiteList: readonly string[];
  /**
   * Access to the legacy request that registers a second signature. This request contains passphrases. `enabled` is
   * true if the node serves this request. `whiteList` contains the addresses that are allowed to send this request.
   */
  readonly legacySignatures: { readonly enabled: boolean; readonly whiteList: readonly string[] };
  /** If true, the node refuses every method except GET, HEAD and OPTIONS. */
  readonly readOnly: boolean;
  readonly limits: HttpLimits;
  readonly cors: { readonly origin: string | boolean; readonly methods: readonly string[] };
  /**
   * If true, paths below `/api` use the strict dialect: only the names and shapes of a lisk-sdk node that uses the same
   * protocol generation as the network. The event stream and paths without this prefix always use the extended dialect,
   * which has additional names.
   */
  readonly strictDialect: boolean;
  /**
   * If true, the response cache stores answers that depend only on the request and the chain. The node uses a stored
   * answer until the chain changes.
   */
  readonly cacheResponses: boolean;
  readonly events: EventOptions;
  /** If true, the node serves metrics at `/metrics`. */
  readonly metrics: boolean;
  /** Folder of the dashboard, which the node serves at `/`; absent for no dashboard. */
  readonly dashboardDirectory?: string;
  /**
   * Folder of the interactive API documentation at `/docs`. If this option is absent, `/docs` shows a page without
   * scripts.
   */
  readonly apiDocsDirectory?: string;
  /** Controls of a devnet for the dashboard; absent if no supervisor of a devnet started the node. */
  readonly devnet?: DevnetControls;
  readonly observer: Observer;
  /**
   * Limits the share of the main thread's time that work for strangers (clients that are not trusted) takes. Other
   * parts of the node can use the same object. Default: an object that only the HTTP interface uses.
   */
  readonly workShare?: WorkShare;
  /**
   * Listening sockets that a different process has opened for this process; absent if this process opens its own
   * sockets.
   */
  readonly listenOn?: Partial<ListeningSockets>;
  /**
   * Called before each request is answered. A reading process (which answers HTTP for the node) uses this function: if
   * it has received no message from the node recently, it refreshes its view of the chain.
   */
  readonly beforeRequest?: () => void;
  /** Limits that several processes share; absent if only one process answers HTTP. */
  readonly shared?: SharedLimits;
}

interface EventOptions {
  /** Maximum number of event streams that are open at the same time. */
  readonly subscribersMax: number;
  /** Time in milliseconds after which the node disconnects a subscriber that reads no data. */
  readonly stallMs: number;
  /** Interval in milliseconds of the SSE comments (`: alive`) by which a client sees that the stream still works. */
  readonly heartbeatMs: number;
  /**
   * Interval in milliseconds of the checks of the hub (`EventHub`). Each check finds peers that connected or
   * disconnected, and delegates whose forging was enabled or disabled. The check also disconnects the subscribers that
   * have read no data for `stallMs`. The hub makes these checks only while it has subscribers.
   */
  readonly lookMs: number;
}

export interface TlsOptions {
  /** Port to listen on; with 0, the system chooses a free port. */
  readonly port: number;
  /** The private key in PEM format. The member `certificate` contains the certificates in the same format. */
  readonly key: string | Buffer;
  readonly certificate: string | Buffer;
}

export interface HttpLimits {
  /**
   * Maximum number of open connections. A tenth of them is reserved for this machine and for the addresses and networks
   * in `access.whiteList`, except networks wider than /8 (IPv4) or /32 (IPv6).
   */
  readonly connectionsMax: number;
  /**
   * Maximum number of connections for each address, except addresses that are allowed to use the reserved connections.
   */
  readonly connectionsPerAddressMax: number;
  /**
   * Maximum number of requests in a window (`windowMs`) for each client address. With 0, client addresses on this
   * machine have no limit, and each other client address has a limit of its own: `strangerMax` requests.
   */
  readonly max: number;
  /**
   * Maximum number of requests in a window for each client on another machine; 0 for no limit. The node uses this value
   * only if `max` is 0.
   */
  readonly strangerMax: number;
  /**
   * Maximum number of requests in a window for all strangers together; 0 for no limit. A stranger is a client that is
   * not on this machine and not in `access.whiteList`. This rule ignores the networks in the list that are wider than
   * /8 (IPv4) or /32 (IPv6). A client that only such a wide network includes is therefore a stranger.
   */
  readonly strangersTotalMax: number;
  /** Number of requests of each client address that the node answers without delay in a window; 0 for no delays. */
  readonly delayAfter: number;
  /**
   * Delay, in milliseconds, of the first request after the first `delayAfter` requests in a window. Each further
   * request waits this time longer than the request before it, but at most 60 s. A request with a large body counts as
   * several requests (`BODY_BYTES_PER_REQUEST`), so its delay grows by several times this value.
   */
  readonly delayMs: number;
  /** Length of a window, in milliseconds. */
  readonly windowMs: number;
  /** Time within which a client must send all headers of a request, in milliseconds; at most 40,000. */
  readonly headersTimeoutMs: number;
  /**
   * Time without sent or received data after which the node closes the connection of a running request, in
   * milliseconds. For the time between two requests, `keepAliveTimeoutMs` applies.
   */
  readonly socketTimeoutMs: number;
  /**
   * Maximum time, in milliseconds, for which a connection waits for its next request. If the value is 0, the maximum is
   * `socketTimeoutMs`. Default: the default of node:http.
   */
  readonly keepAliveTimeoutMs?: number;
}

/**
 * The default options. With these options, the interface listens only on the loopback address. For clients on this
 * machine, these options do not limit the request rate or the connections per address.
 */
export const HTTP_DEFAULTS: HttpOptions = {
  enabled: true,
  port: 4000,
  address: '127.0.0.1',
  trustProxy: false,
  access: { public: false, whiteList: ['127.0.0.1'] },
  hostNames: [],
  forgingWhiteList: ['127.0.0.1'],
  legacySignatures: { enabled: true, whiteList: ['127.0.0.0/8', '::1'] },
  readOnly: false,
  limits: {
    connectionsMax: 5_000,
    connectionsPerAddressMax: 100,
    max: 0,
    strangerMax: 1_200,
    strangersTotalMax: 60_000,
    delayAfter: 0,
    delayMs: 0,
    windowMs: 60_000,
    headersTimeoutMs: 5_000,
    socketTimeoutMs: 20_000,
  },
  cors: { origin: '*', methods: ['GET', 'POST', 'PUT'] },
  strictDialect: false,
  cacheResponses: true,
  metrics: true,
  events: { subscribersMax: 2_000, stallMs: 10_000, heartbeatMs: 15_000, lookMs: 1_000 },
  observer: SILENT,
};
