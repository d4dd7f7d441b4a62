/**
 * Runs the handler of a route for a checked request, and makes the body of the answer. The body is an envelope: a JSON
 * object with the members `meta`, `data` and `links`. This file also determines three things: the block whose state the
 * answer shows, the ETag, and whether the client already has the answer (status 304). `fast-path.ts` and
 * `express-app.ts` send the answer.
 */

import type { NodeApi } from '../ports/node-api.ts';
import {
  BLOCK_ID_HEADER,
  etagOf,
  HEIGHT_HEADER,
  isUnchanged,
  positionOf,
  type ReadPosition,
} from './read-consistency.ts';
import type { CheckedRequest, EnvelopeRoute, Reply } from './route.ts';

/** The block whose state an answer shows, and the ETag of the answer. */
export interface Version {
  /**
   * The block whose state the answer shows. Usually this block is the tip from before the call of the handler. If the
   * data contain a height above that tip, this block is the tip from after the call. Undefined if the node has no chain
   * yet.
   */
  readonly position: ReadPosition | undefined;
  /**
   * Undefined if the answer can change while the chain stays the same, if the chain changed while the handler ran, or
   * if the node has no chain yet.
   */
  readonly etag: string | undefined;
  /** The headers with the block and the ETag, as alternating names and values. */
  readonly headers: readonly string[];
}

export interface EnvelopeAnswer {
  /** The JSON text of the answer; undefined when the client already has this answer (304). */
  readonly body: Buffer | undefined;
  readonly version: Version;
}

/**
 * Returns the current version of an answer: the block whose state the answer shows, and the ETag.
 *
 * @param isOfChain true if the answer depends only on the request and the chain
 */
export type CurrentVersion = (isOfChain: boolean) => Version;

/**
 * Creates a function that returns the current version of an answer: the block whose state the answer shows, the ETag,
 * and the headers with both. The function makes new versions only after the tip has changed.
 */
export function createCurrentVersion(api: NodeApi): CurrentVersion {
  let position = positionOf(api);
  let [ofChain, ofOther] = versionsAt(position, api);
  return (isOfChain) => {
    if (api.chain.tip()?.id !== position?.id) {
      position = positionOf(api);
      [ofChain, ofOther] = versionsAt(position, api);
    }
    return isOfChain ? ofChain : ofOther;
  };
}

function versionsAt(position: ReadPosition | undefined, { identity }: NodeApi): [Version, Version] {
  const etag = position === undefined ? undefined : etagOf(position, identity.build);
  return [versionWith(position, etag), versionWith(position, undefined)];
}

/** @param etag undefined if `position` is undefined */
function versionWith(position: ReadPosition | undefined, etag: string | undefined): Version {
  const ofBlock = position === undefined ? [] : [HEIGHT_HEADER, String(position.height), BLOCK_ID_HEADER, position.id];
  return { position, etag, headers: etag === undefined ? ofBlock : [...ofBlock, 'ETag', etag] };
}

/**
 * @returns the 304 answer if the client's ETag (`ifNoneMatch`) shows that the client has the current answer; otherwise
 *   undefined
 */
export function unchangedSince(version: Version, ifNoneMatch: string | undefined): EnvelopeAnswer | undefined {
  const isKnown = version.etag !== undefined && isUnchanged(ifNoneMatch, version.etag);
  return isKnown ? { body: undefined, version } : undefined;
}

/**
 * Runs the handler of a route and makes the answer.
 *
 * @param version block and ETag from before the handler ran; the answer has an ETag only if the chain did not change
 *   while the handler ran
 * @returns a promise only if the handler returns a promise
 * @throws the errors of the handler
 */
export function askHandler(
  api: NodeApi,
  route: EnvelopeRoute,
  request: CheckedRequest,
  version: Version,
): EnvelopeAnswer | Promise<EnvelopeAnswer> {
  const answerOf = ({ meta, data, height = 0 }: Reply): EnvelopeAnswer => ({
    body: Buffer.from(JSON.stringify({ meta, data, links: {} }), 'utf8'),
    version: versionAfter(api, version, height),
  });
  const reply = route.handle(api, request);
  return reply instanceof Promise ? reply.then(answerOf) : answerOf(reply);
}

/** Returns the version (block and ETag) of an answer that a handler has made. */
function versionAfter(api: NodeApi, before: Version, height: number): Version {
  const { position } = before;
  if (position?.id === api.chain.tip()?.id) return before;
  // The position was read before the handler ran. If the chain has grown since then, the data can show a height above
  // the height of the position. The answer must then state a position at this greater height or above. The reason is
  // that the client can later require the stated height from another node (`minHeight`), and that node must not show
  // older data than this answer.
  return versionWith(position !== undefined && position.height < height ? positionOf(api) : position, undefined);
}
