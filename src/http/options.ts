/** How the HTTP interface listens, whom it serves and what it bounds. */

import type { WorkShare } from '../primitives/work-share.ts';
import { SILENT, type Observer } from '../ports/observer.ts';
import type { SharedLimits } from './admission/shared-limits.ts';

export interface HttpOptions {
  /** False answers every request with 403. */
  readonly enabled: boolean;
  /** 0 takes any free port. */
  readonly port: number;
  /** Address to bind, IPv4 or IPv6. */
  readonly address: string;
  /** A second listener that speaks TLS, at the same address; absent for none. */
  readonly tls?: TlsOptions;
  /** True takes the client's address from `X-Forwarded-For`. */
  readonly trustProxy: boolean;
  /** Who may ask at all: everybody, or the addresses and networks (CIDR) of the list. */
  readonly access: { readonly public: boolean; readonly whiteList: readonly string[] };
  /** Host names, beside `localhost` and addresses, that what is for few may be asked under. */
  readonly hostNames: readonly string[];
  /** Who may read and switch forging, whatever `access` says. */
  readonly forgingWhiteList: readonly string[];
  /** The legacy registration of second signatures, which takes passphrases: whether it is served, and to whom. */
  readonly legacySignatures: { readonly enabled: boolean; readonly whiteList: readonly string[] };
  /** True refuses every method but GET. */
  readonly readOnly: boolean;
  readonly limits: HttpLimits;
  readonly cors: { readonly origin: string | boolean; readonly methods: readonly string[] };
  /** True refuses the other generation's sort names and peer states. */
  readonly strictDialect: boolean;
  /** True sends answers that follow from the chain again until it changes. */
  readonly keepAnswers: boolean;
  readonly events: EventOptions;
  /** Whether metrics are served at `/metrics`. */
  readonly metrics: boolean;
  /** Folder of the page that is served at `/`; absent for none. */
  readonly dashboardDirectory?: string;
  /** Folder of the interactive reference at `/docs`; the plain page is served where there is none. */
  readonly referenceDirectory?: string;
  readonly observer: Observer;
  /** Time of the main thread that work for strangers may take, shared with other parts of the node; one of its own unless told. */
  readonly workShare?: WorkShare;
  /** Counts for several processes together; absent for one that serves alone. */
  readonly shared?: SharedLimits;
}

interface EventOptions {
  /** Streams of events open at once. */
  readonly readersMax: number;
  /** A reader that takes nothing for so long is cut, in milliseconds. */
  readonly stallMs: number;
  /** How often a quiet stream says that it lives, in milliseconds. */
  readonly heartbeatMs: number;
  /** How often peers and forging are looked at while somebody reads, in milliseconds. */
  readonly lookMs: number;
}

export interface TlsOptions {
  /** 0 takes any free port. */
  readonly port: number;
  /** Private key and certificates, PEM. */
  readonly key: string | Buffer;
  readonly certificate: string | Buffer;
}

export interface HttpLimits {
  /** Connections open at once; a tenth of them is for this machine and what `access` lists. */
  readonly connectionsMax: number;
  /** Connections of one address that is neither. */
  readonly connectionsPerAddressMax: number;
  /** Requests per window and client address; 0 for no limit. */
  readonly max: number;
  /** The same for clients of other machines while `max` is 0: nobody means to serve a stranger without end. */
  readonly strangerMax: number;
  /** Requests per window of all clients of other machines together; 0 for no limit. */
  readonly strangersTotalMax: number;
  /** Requests of a window that are answered without delay; 0 for no delays. */
  readonly delayAfter: number;
  /** Added for each request past `delayAfter`, in milliseconds. */
  readonly delayMs: number;
  readonly windowMs: number;
  /** Time to receive all headers, in milliseconds; at most 40,000. */
  readonly headersTimeoutMs: number;
  /** An idle connection is closed after this, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Time that a connection waits for its next request, 0 for no end; that of node:http unless given. */
  readonly keepAliveTimeoutMs?: number;
}

/** What holds where the operator says nothing: loopback only, and no limit for it. */
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
