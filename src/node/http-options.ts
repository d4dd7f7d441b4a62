/** Makes the options of the HTTP interface from the configuration of the node. */

import { fileURLToPath } from 'node:url';
import { readBounded } from '../config/bounded-file.ts';
import type { Config, HttpConfig } from '../config/schema.ts';
import { checkTlsPair } from '../http/listeners.ts';
import type { TlsOptions } from '../http/options.ts';
import type { Observer } from '../ports/observer.ts';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import { connectionsWithin, openFilesMax } from './open-files.ts';

/** Folder into which the build of this package writes the dashboard. */
const DASHBOARD = fileURLToPath(new URL('../dashboard/bundle/', import.meta.url));
const API_DOCS = fileURLToPath(new URL('../dashboard/api-docs/', import.meta.url));
/**
 * Maximum size of the file of the TLS key or certificate, in bytes. A usual key, or a usual certificate with its
 * certificate chain, has only a few thousand bytes.
 */
const TLS_FILE_BYTES_MAX = 1024 * 1024;

/**
 * @param keepsConnections true if only `http.socketTimeoutMs` limits the time for which a connection stays idle
 * @throws ProtocolError `TLS_FILE_UNREADABLE`, with the name of the option, the file and the reason, if the TLS key or
 *   certificate cannot be read
 */
export function httpOptionsOf({ http }: Pick<Config, 'http'>, observer: Observer, keepsConnections: boolean) {
  return {
    port: http.port,
    address: http.host,
    trustProxy: http.trustProxy,
    access: { public: http.accessPublic, whiteList: http.accessWhitelist },
    hostNames: http.hostNames,
    forgingWhiteList: http.forgingWhitelist,
    legacySignatures: { enabled: http.legacySignatures, whiteList: http.legacySignaturesWhitelist },
    readOnly: http.readOnly,
    strictDialect: http.strictDialect,
    ...(http.tlsPort === 0 ? {} : { tls: tlsOptionsOf(http) }),
    cors: { origin: http.corsOrigin, methods: ['GET', 'POST', 'PUT'] },
    limits: {
      connectionsMax: connectionsMaxOf(http, observer),
      connectionsPerAddressMax: http.connectionsPerAddressMax,
      max: http.rateLimitMax,
      strangerMax: http.rateLimitStrangersMax,
      strangersTotalMax: http.rateLimitStrangersTotalMax,
      delayAfter: 0,
      delayMs: 0,
      windowMs: http.rateLimitWindowMs,
      headersTimeoutMs: http.headersTimeoutMs,
      socketTimeoutMs: http.socketTimeoutMs,
      ...(keepsConnections ? { keepAliveTimeoutMs: 0 } : {}),
    },
    metrics: http.metrics,
    ...(http.dashboard ? { dashboardDirectory: DASHBOARD, apiDocsDirectory: API_DOCS } : {}),
    observer: observer.module('http'),
  };
}

function connectionsMaxOf({ connectionsMax: wanted }: HttpConfig, observer: Observer): number {
  const filesMax = openFilesMax();
  const connectionsMax = connectionsWithin(wanted, filesMax);
  if (connectionsMax < wanted) {
    const text = 'the limit of open files allows fewer HTTP connections than http.connectionsMax';
    observer.module('http').log('warn', 'HTTP_CONNECTIONS_LIMITED', text, { wanted, connectionsMax, filesMax });
  }
  return connectionsMax;
}

/**
 * Checks the TLS key and certificate before the node opens anything. Does nothing if HTTP or its TLS listener is
 * disabled.
 *
 * @throws ProtocolError `TLS_FILE_UNREADABLE` in the same cases as `httpOptionsOf`; `TLS_INVALID`, with the names of
 *   both files, in the same cases as `checkTlsPair`
 */
export function checkTlsFiles(http: HttpConfig): void {
  if (!http.enabled || http.tlsPort === 0) return;
  const tls = tlsOptionsOf(http);
  try {
    checkTlsPair(tls);
  } catch (error) {
    const { tlsKeyFile, tlsCertificateFile } = http;
    throw new ProtocolError(
      'TLS_INVALID',
      { tlsKeyFile, tlsCertificateFile },
      `http.tlsKeyFile \`${tlsKeyFile}\` and http.tlsCertificateFile \`${tlsCertificateFile}\`: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** @throws ProtocolError `TLS_FILE_UNREADABLE` in the same cases as `httpOptionsOf` */
function tlsOptionsOf(http: HttpConfig): TlsOptions {
  const read = (option: 'tlsKeyFile' | 'tlsCertificateFile'): Buffer => {
    const file = http[option];
    try {
      return readBounded(file, { bytesMax: TLS_FILE_BYTES_MAX });
    } catch (error) {
      throw new ProtocolError(
        'TLS_FILE_UNREADABLE',
        { file, option },
        `http.${option} \`${file}\` cannot be read: ${messageOf(error)}`,
        { cause: error },
      );
    }
  };
  return { port: http.tlsPort, key: read('tlsKeyFile'), certificate: read('tlsCertificateFile') };
}
