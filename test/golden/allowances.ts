/**
 * Allowed differences between our answers and the recorded answers of lisk-sdk nodes, each with its reason.
 * `docs/http/interface-differences.md` describes the intended differences for clients.
 */

import type { Allowance } from './answer-diff.ts';

export const ALLOWANCES: readonly Allowance[] = [
  {
    reason: 'A real node of generation 2 answers the nethash after a restart until its next block; we answer the hash.',
    url: /\/node\/status/,
    path: /^data\.broadhash$/,
  },
  {
    reason: 'Time goes on.',
    path: /^(data\.(currentTime|secondsSinceEpoch|nonce)|meta\.(toTimestamp|currentSlot)|data\.\d+\.nextSlot)$/,
  },
  { reason: 'Who forges next depends on the time.', url: /\/forgers/, path: /^data\.\d+\./ },
  {
    reason: 'Both generations send the union of the fields of both.',
    isExtendedOnly: true,
    url: /\/delegates/,
    path: /^data\.\d+\.(vote|voteWeight|rank)$/,
    kind: 'added',
  },
  {
    reason: 'Both generations send the union of the fields of both.',
    isExtendedOnly: true,
    url: /\/accounts/,
    path: /^data\.\d+\.delegate\.(vote|voteWeight|rank)$/,
    kind: 'added',
  },
  {
    reason: 'Both generations send the union of the fields of both.',
    isExtendedOnly: true,
    url: /\/node\/(status|constants)/,
    path: /^data\.(broadhash|consensus|loaded|networkHeight|transactions|chainMaxHeightFinalized|nethash|nonce|networkId)$/,
    kind: 'added',
  },
  {
    reason: 'Both generations send the union of the fields of both.',
    isExtendedOnly: true,
    url: /\/transactions/,
    path: /^data\.\d+\.(amount|recipientId|recipientPublicKey|senderSecondPublicKey|ready|receivedAt|signSignature)$/,
    kind: 'added',
  },
  {
    reason: 'Both generations send the union of the fields of both.',
    isExtendedOnly: true,
    url: /\/peers/,
    path: /^data\.\d+\.(broadhash|nonce|networkId)$/,
    kind: 'added',
  },
  {
    reason: "Each generation takes the other's parameters as well.",
    isExtendedOnly: true,
    url: /^\/api\/transactions\?recipientPublicKey=/,
    path: /^(answer|errors|message|meta|data|links)/,
  },
  {
    reason: 'Build and commit are always sent; they are empty if unknown.',
    url: /\/node\/constants/,
    path: /^data\.(build|commit)$/,
    kind: 'added',
  },
  {
    reason: 'Each node says which network it is of; the recorded ones had no name for theirs.',
    isExtendedOnly: true,
    url: /\/node\/constants/,
    path: /^data\.networkName$/,
    kind: 'added',
  },
  {
    reason: 'A node sends the length of a slot; the recorded nodes did not.',
    isExtendedOnly: true,
    url: /\/node\/constants/,
    path: /^data\.blockTime$/,
    kind: 'added',
  },
];

/** Allowed differences between our answers with `http.strictDialect` and the recorded answers of lisk-sdk nodes. */
export const STRICT_ALLOWANCES: readonly Allowance[] = [
  ...ALLOWANCES.filter(isOfStrictDialect),
  {
    reason: 'The recorded nodes did not know what they were built from.',
    path: /^data\.(build|commit)$/,
    kind: 'added',
  },
  {
    reason: 'The description knows texts alone, where the recorded nodes answer null for an account without a key.',
    url: /\/vote(r?)s\?/,
    path: /^data\.publicKey$/,
  },
];

/** Allowed differences between our answers and the recorded answers of a live devnet (`compare-cases.ts`). */
const ALL_CASE_ALLOWANCES: readonly Allowance[] = [
  {
    reason: "Each generation takes the other's names of sorts as well.",
    isExtendedOnly: true,
    url: /\/delegates\?sort=(rank|voteWeight):/,
    path: /^(status|body)/,
  },
  {
    reason: "Each generation takes the other's spelling of the state of peers as well.",
    isExtendedOnly: true,
    url: /\/peers\?state=/,
    path: /^(status|body)/,
  },
  {
    reason: 'A bound beyond 32 bits is a bound, where real nodes fail.',
    url: /\/forging_statistics\?fromTimestamp=0&toTimestamp=999999999999999$/,
    path: /^(status|body)/,
  },
  {
    reason: "Each generation takes the other's parameters as well.",
    isExtendedOnly: true,
    url: /\/transactions\?recipientPublicKey=/,
    path: /^(status|body)/,
  },
  {
    reason: 'Pages of other sites can read each refusal.',
    path: /^headers\.access-control-allow-origin$/,
    kind: 'added',
  },
  {
    reason: 'A body is read behind its route, so that its refusal carries the headers of the route.',
    method: 'POST',
    path: /^headers\.(vary|x-frame-options|content-security-policy|x-ratelimit-.*|access-control-allow-origin)$/,
    kind: 'added',
  },
  {
    reason: 'The text after the name is that of the JavaScript engine.',
    method: 'POST',
    path: /^body\.errors\.0\.message$/,
  },
  { reason: 'A refusal is always a list with at least one element.', method: 'POST', path: /^body\.errors$/ },
  {
    reason: 'A method that a path does not know is refused in JSON, not with a page of HTML.',
    method: 'PUT',
    url: /\/accounts$/,
    path: /^(headers\.(content-type|content-security-policy)|body)/,
  },
  {
    reason: 'A method that a path does not know is refused in JSON, not with a page of HTML.',
    method: 'DELETE',
    url: /\/accounts$/,
    path: /^(headers\.(content-type|content-security-policy)|body)/,
  },
  {
    reason: 'The answer came from the response cache of the real node, which names the charset.',
    url: /\/blocks\?limit=100$/,
    path: /^headers\.content-type$/,
  },
];

export const CASE_ALLOWANCES: readonly Allowance[] = [
  ...ALLOWANCES.map(inBody),
  ...ALL_CASE_ALLOWANCES,
  {
    reason: 'Each node says at its root where everything is, where the recorded ones have no such page.',
    isExtendedOnly: true,
    url: /^\/api\/?$/,
    path: /^(status|headers|body)/,
  },
  {
    reason: 'Each node leaves out figures that say 0 for no limit.',
    isExtendedOnly: true,
    path: /^headers\.x-ratelimit-(limit|remaining)$/,
    kind: 'missing',
  },
];

export const STRICT_CASE_ALLOWANCES: readonly Allowance[] = [
  ...STRICT_ALLOWANCES.map(inBody),
  ...ALL_CASE_ALLOWANCES.filter(isOfStrictDialect),
];

function inBody(allowance: Allowance): Allowance {
  return { ...allowance, path: new RegExp(allowance.path.source.replace('^', '^body\\.')) };
}

function isOfStrictDialect({ isExtendedOnly }: Allowance): boolean {
  return isExtendedOnly !== true;
}
