/** Options of the HTTP interface: its listeners, access rules and limits. */

import type { DevnetControls } from '../ports/devnet-controls.ts';
import type { WorkShare } from '../primitives/work-share.ts';
import { SILENT, type Observer } from '../ports/observer.ts';
import type { SharedLimits } from './admission/shared-limits.ts';

export interface HttpOptions {
  /** False refuses every request with 403. */
  readonly enabled: boolean;
  /** Port to listen on; with 0, the system chooses a free port. */
  readonly port: number;
  /** Address to bind, IPv4 or IPv6. */
  readonly address: string;
  /** A second listener for TLS at the same address; absent for no TLS. */
  readonly tls?: TlsOptions;
  /** True takes the client's address from `X-Forwarded-For`. */
  readonly trustProxy: boolean;
  /** Clients that may ask: all, or the addresses and networks (CIDR) in the list. */
  readonly access: { readonly public: boolean; readonly whiteList: readonly string[] };
  /** Host names of this node besides `localhost` and IP addresses; restricted routes accept only these names. */
  readonly hostNames: readonly string[];
  /** Addresses that may read and switch forging, regardless of `access`. */
  readonly forgingWhiteList: readonly string[];
  /**
   * The legacy registration of second signatures, which takes passphrases: whether it is enabled, and for which
   * addresses.
   */
  readonly legacySignatures: { readonly enabled: boolean; readonly whiteList: readonly string[] };
  /** True refuses every method but GET. */
  readonly readOnly: boolean;
  readonly limits: HttpLimits;
  readonly cors: { readonly origin: string | boolean; readonly methods: readonly string[] };
  /** True refuses the other generation's sort names and peer states. */
  readonly strictDialect: boolean;
  /** True keeps answers that depend only on the chain, and sends them again until the chain changes. */
  readonly keepAnswers: boolean;
  readonly events: EventOptions;
  /** True serves metrics at `/metrics`. */
  readonly metrics: boolean;
  /** Folder of the page that is served at `/`; absent for none. */
  readonly dashboardDirectory?: string;
  /** Folder of the interactive reference at `/docs`; without it, `/docs` shows the plain page. */
  readonly referenceDirectory?: string;
  /** Controls of a devnet for the dashboard; absent on every other network. */
  readonly devnet?: DevnetControls;
  readonly observer: Observer;
  /**
   * Budget of the main thread's time for strangers, shared with other parts of the node; default: a separate budget.
   */
  readonly workShare?: WorkShare;
  /** Counters shared by several processes; absent for a single process. */
  readonly shared?: SharedLimits;
}

interface EventOptions {
  /** Number of event streams that may be open at once. */
  readonly readersMax: number;
  /** Time in milliseconds after which a reader that takes no data is disconnected. */
  readonly stallMs: number;
  /** Interval of the comments that show that a quiet stream is alive, in milliseconds. */
  readonly heartbeatMs: number;
  /** Interval of the checks of peers and forging while there are readers, in milliseconds. */
  readonly lookMs: number;
}

export interface TlsOptions {
  /** Port to listen on; with 0, the system chooses a free port. */
  readonly port: number;
  /** Private key and certificates, PEM. */
  readonly key: string | Buffer;
  readonly certificate: string | Buffer;
}

export interface HttpLimits {
  /** Open connections; a tenth of them is reserved for this machine and the addresses that `access` lists. */
  readonly connectionsMax: number;
  /** Connections of one address that has no part in the reserve. */
  readonly connectionsPerAddressMax: number;
  /** Requests per window and client address; 0 for no limit. */
  readonly max: number;
  /** Limit for clients on other machines while `max` is 0, because strangers should never be served without limit. */
  readonly strangerMax: number;
  /** Requests per window of all clients on other machines together; 0 for no limit. */
  readonly strangersTotalMax: number;
  /** Requests in a window that are answered without delay; 0 for no delays. */
  readonly delayAfter: number;
  /** Delay for each request beyond `delayAfter`, in milliseconds. */
  readonly delayMs: number;
  readonly windowMs: number;
  /** Time to receive all headers, in milliseconds; at most 40,000. */
  readonly headersTimeoutMs: number;
  /** Time after which an idle connection is closed, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Time for which a connection may wait for its next request, 0 for no limit; default: that of node:http. */
  readonly keepAliveTimeoutMs?: number;
}

/** Defaults: the interface listens on the loopback address only, and does not limit clients there. */
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
    idleTimeoutMs: 20_000,
  },
  cors: { origin: '*', methods: ['GET', 'POST', 'PUT'] },
  strictDialect: false,
  keepAnswers: true,
  metrics: true,
  events: { readersMax: 2_000, stallMs: 10_000, heartbeatMs: 15_000, lookMs: 1_000 },
  observer: SILENT,
};
