/**
 * Classes of difference from a real node over HTTP that stay, each with its reason. `docs/http/interface-differences.md` lists
 * the same, held to this table by a test.
 */

import type { KnownDifference } from '../known-differences.ts';

const ANY = /, http /;
const QUESTIONS = /, http questions/;
const SUBMISSIONS = /, http submissions/;

export const HTTP_DIFFERENCES: readonly KnownDifference[] = [
  {
    target: QUESTIONS,
    // A number of 16 digits or more, a time of more than ten, U+0000, a quotation mark, or an account, which may have no key.
    input:
      /\d{16}|time(stamp)?=-?\d{11}|%00|%22|\/\d+L|address=|publicKey=|username=|secondPublicKey=|generatorPublicKey=/i,
    matches: /: 200 here, 500 there/,
    reference:
      'an offset beyond 64 bits, a bound of time beyond 32 bits, U+0000 in a search, a quotation mark in the name of an application, an account without a key: 500',
    here: 'an empty list, or zeros',
    reason: 'The database of the real node fails, although the query has an answer.',
  },
  {
    target: QUESTIONS,
    matches: /forging_statistics: 400 here \(INVALID_PARAM\), 500 there/i,
    reference: 'forging statistics with a bound before the epoch of the network or for an account without a key: 500',
    here: 'refused with 400 like other accounts that are no delegates',
    reason: 'The database of the real node fails before it looks at the account.',
  },
  {
    target: QUESTIONS,
    matches: /multisignature_(groups|memberships): both 200, added body\.data/i,
    reference:
      'a member whose key the registration of a multisignature account writes in capitals is in no list of members, and the account in no list of memberships',
    here: 'both are listed; the keys of members are in lower case there, and as they were sent in the asset of the registration',
    reason: 'The member can sign whatever the letter case is, so a list of members without it is wrong.',
  },
  {
    target: QUESTIONS,
    matches: /\/votes: both 200, changed body\.data\.publicKey|\/voters: both 200, changed body\.data\.publicKey/i,
    reference: 'votes and voters of an account without a key: `publicKey` is null',
    here: 'null, and with `strictDialect` an empty string',
    reason: 'The description of the real node allows strings only, and the strict dialect must match it.',
  },
  {
    target: /joined/,
    input: /after|broadhash|recipientPublicKey|rank|voteWeight|state|networkId|node\/transactions/i,
    matches:
      /^GET \/api\/(delegates|peers|transactions|node\/transactions\/\w+)\/?: (200|400) here.*, 400 there \((UNKNOWN_PARAM|ENUM_MISMATCH|INVALID_TYPE)|^GET \/api\/(delegates|peers|transactions|node\/transactions\/\w+)\/?: both 400/i,
    reference: "the other generation's parameters, sorts and states are unknown",
    here: 'taken, unless `strictDialect` refuses them',
    reason: 'Scripts outlive networks, so the interface accepts both generations.',
  },
  {
    target: QUESTIONS,
    input: /"transfer-encoding":"identity"/i,
    matches: /: (both 400, changed contentType|400 here.*, \d+ there)/,
    reference:
      'a request with `Transfer-Encoding: identity` gets its answer, and then a second one with 400 on the same connection',
    here: '400 without a body, and the connection ends',
    reason:
      'RFC 9112: servers and proxies cannot agree on the length of a request whose last encoding is not `chunked`.',
  },
  {
    target: /joined/,
    matches: /^HEAD .*: \d+ here.*, 405 there/,
    reference: 'HEAD is refused with 405',
    here: 'answered as GET is, without the body, unless `strictDialect` refuses it',
    reason: 'Load balancers and health checks use HEAD.',
  },
  {
    target: /^generation 2.*joined/,
    input: /[?&]forging/,
    matches: /^GET \/api\/node\/status\/forging: (400 here|both 200)/i,
    reference: 'generation 2 ignores the parameter `forging` of the forging status',
    here: 'a filter as in generation 3, unless the dialect is strict',
    reason: 'An ignored filter gives a wrong answer.',
  },
  {
    target: /^generation 3, http questions/,
    // With a second filter alone: entries are gone here, or another entry stands in the place of one.
    input: /(?=.*[?&]recipientId=)[?&](id|senderId|senderPublicKey|type)=/i,
    matches: /^GET \/api\/node\/transactions\/\w+\/?: both 200, (missing|changed) body\.data\[\]/i,
    reference: 'generation 3: a pool list by `recipientId` ignores all other filters',
    here: 'all filters apply together',
    reason: 'An ignored filter gives a wrong answer.',
  },
  {
    target: QUESTIONS,
    input: /offset/i,
    matches: /\/forgers\/?: both 200, changed body\.data\[\]\.nextSlot/i,
    reference: 'forgers with an offset: the slot numbers are too small by the offset',
    here: 'the true slots',
    reason: 'The next slot of a delegate does not depend on the page.',
  },
  {
    target: ANY,
    input: /toString/,
    matches: /Cannot convert object to primitive value|: both 400, changed body\.errors\[\]\.message \(INVALID_TYPE/,
    reference: 'an object with a member `toString` instead of a string: the error text of the JavaScript engine',
    here: 'wrong type and wrong format, as for any object',
    reason: 'That text does not describe the request.',
  },
  {
    target: SUBMISSIONS,
    input: /APPLICATION/,
    matches:
      /^\w+ \/api\/(transactions|signatures|node\/status\/forging): (both 400, changed body\.errors\[\]\.code|\d+ here.*INVALID_CONTENT_TYPE)/,
    reference: 'a content type in capitals is refused',
    here: 'media types are compared without regard to letter case',
    reason: 'RFC 9110 requires this.',
  },
  {
    target: SUBMISSIONS,
    // Its escape stands in a text of JSON within a text of JSON.
    input: /\\\\ud[89a-f]/i,
    matches: /both 400, changed body\.errors\[\]\.errors\[\]\.message/,
    reference: 'half of a surrogate pair in a refused value is repeated as U+FFFD',
    here: 'repeated as the escape sequence of the request',
    reason: 'The JSON writer of the real node loses the value.',
  },
  {
    reference: 'generation 2: pool entries with equal sort keys have an order that depends on the JavaScript engine',
    here: 'they keep the order of the queue, oldest first',
    reason: 'A client that reads page by page needs a stable order.',
  },
  {
    reference:
      'generation 3: a pool list sorted by `amount` is 500 while a registration with an unsigned amount (`asset.amount`) waits',
    here: 'the list, in which the registration counts with amount 0',
    reason: 'Otherwise anybody could disable the list for all clients for the fee of a registration.',
  },
  {
    reference:
      'pool lists show signatures of the sender (`signature`, `signSignature`) in the letter case of the request',
    here: 'in lower case',
    reason: 'A signature is kept as bytes. In the lists of the chain both nodes show it in lower case.',
  },
  {
    reference:
      'a signature with the key of a member in another letter case than in the registration: 409 `Public Key … is not a member.`',
    here: 'taken, as for the other letter case',
    reason: 'The signature is valid, and the whole network accepts the transaction with it.',
  },
  {
    reference:
      'a signature for a waiting multisignature registration that already has the same signature, now in capitals: 409 `Failed to validate signature …`, and the waiting registration becomes invalid, because it then holds the signature twice',
    here: '409 `Encountered duplicate signature in transaction`, and the registration stays as it is',
    reason: 'Anybody who sees the signature could prevent the registration.',
  },
  {
    reference: 'generation 3: an unsigned amount (`asset.amount`) of 10^21 or more is refused with two errors',
    here: 'only the second of them, with `actual` in full digits',
    reason: 'The first error only repeats how the engine writes large numbers.',
  },
  {
    target: /^generation 2, http submissions/,
    matches: /^POST \/api\/transactions: both 409, changed body\.message( |$)/,
    reference:
      'generation 2: the outer `message` for a transaction whose constructor fails (`senderPublicKey:""`, `signature:""`, `recipientPublicKey:"x"`) differs from `Transaction was rejected with errors`',
    here: '`Transaction was rejected with errors`, as for most refused transactions',
    reason: '`errors` gives the reason, so one outer message is enough.',
  },
  {
    target: SUBMISSIONS,
    matches: /^POST \/api\/transactions: both 409, changed body\.(errors|message)( |$)/,
    reference: 'a transaction of an unknown type, for a full pool, or whose constructor fails: `errors` is `{}`',
    here: 'a list with one element',
    reason: '`errors` is a list everywhere else.',
  },
  {
    target: SUBMISSIONS,
    // Any value but a time as wallets write it.
    input: /receivedAt\\":(?!\\"\d{4}-\d\d-\d\dT)/,
    matches:
      /^POST \/api\/transactions: (200 here, 409 there \((Invalid time value|Transaction was rejected with errors)\)|both 409, changed body\.errors)/,
    reference: 'a transaction whose `receivedAt` is not a valid time is refused',
    here: '`receivedAt` is not read',
    reason: 'Each node sets this member itself.',
  },
  {
    target: SUBMISSIONS,
    matches:
      /^POST \/api\/transactions: 409 here \((Unknown member is no amount|invalid input syntax|unsupported Unicode|should NOT nest deeper than|Unknown members make the asset longer)/,
    reference:
      'the pool accepts assets of any depth and size, unsigned amounts of any size, and strings that the database cannot store; with such an amount that is not a number, the node exits when the pool has another transaction of the sender',
    here: 'refused where a block with them would be refused, where the amount cannot exist, and above 256 levels or 8,192 bytes of an asset with unknown members',
    reason:
      'No block can contain such a string, such an amount has no honest use (decision 13), and the pool holds 5,000 transactions.',
  },
  {
    target: SUBMISSIONS,
    matches:
      /^POST \/api\/transactions: both 409, changed body\.errors\[\]\.message \((Unknown member is no amount|invalid input syntax|unsupported Unicode)/,
    reference: 'such a transaction with another fault is refused for the other fault',
    here: 'refused for the member first',
    reason: 'The cheapest check comes first.',
  },
  {
    target: /^generation 2, http submissions/,
    matches: /^POST \/api\/signatures: 4\d\d here.*500 there/,
    reference:
      'generation 2: a signature object with an invalid id, key or signature, or with an additional member: 500',
    here: '400 with the reason; additional members are ignored, as in generation 3',
    reason: 'The real node fails when it penalises a peer that does not exist.',
  },
  {
    target: QUESTIONS,
    input: /__proto__/,
    matches:
      /: 400 here \((UNKNOWN_PARAM|INVALID_TYPE).*, (200|404) there|: both 400, (added|changed) body\.errors\[\](\.name)? \(UNKNOWN_PARAM/,
    reference: 'a parameter named `__proto__`, and any value in brackets of that name, is ignored',
    here: 'unknown parameters, and values of a wrong type, like others',
    reason: 'The names have no meaning here either, and an ignored filter gives a wrong answer.',
  },
  {
    target: QUESTIONS,
    input: /hasOwnProperty|toString/,
    matches: /: (200|40[04]) here.*, 500 there/,
    reference: 'a parameter or its brackets named `hasOwnProperty`, and brackets named `toString`: 500',
    here: 'unknown parameters, and values of a wrong type, like others; ignored where others are',
    reason: 'The names have no meaning here either, and the failure comes from the JavaScript engine.',
  },
  {
    target: QUESTIONS,
    input: /(&[^&]*){1000}/,
    matches: /^GET .*: (200|40[04]) here|^GET .*: both /,
    reference: 'parameters after the thousandth are ignored',
    here: 'all are checked',
    reason: 'An ignored filter gives a wrong answer, and a request of 16 kB has no more than 8,000 parameters.',
  },
  {
    target: QUESTIONS,
    input: /%(?![0-9a-f]{2})|%[89a-f]/i,
    matches: /: 404 here \(Page not found\)?, 500 there|: 404 here, 500 there/,
    reference: 'a path that cannot be decoded (`/accounts/%zz/multisignature_groups`): 500',
    here: '404 like other unknown paths',
    reason: 'The client is at fault, not the node.',
  },
  {
    target: QUESTIONS,
    input: /\\/,
    matches: /: 404 here.*, (200|400) there/,
    reference: 'a backslash in a path counts as a slash',
    here: '404',
    reason: 'No RFC says so, and proxies that check paths do not treat it as a slash.',
  },
  {
    target: SUBMISSIONS,
    input: /"content-type"/,
    matches: /: both 400, changed body\.errors\[\]\.errors\[\]\.(code|message) \(INVALID_CONTENT_TYPE/,
    reference: 'a body with a refused content type is still read as a form or as JSON, and its faults are reported too',
    here: 'it is not read, and the faults of an empty object are reported',
    reason: 'To refuse a body unread costs nothing. Both nodes report the content type first.',
  },
  {
    target: SUBMISSIONS,
    input: /charset=/,
    matches: /: (400|415) here.*, 500 there/,
    reference:
      'a body in a charset that the real node does not know (UTF-32, for example), and a form in any charset: 500',
    here: '415, or 400 for a form, which is not read; UTF-32 is known',
    reason: 'The client is at fault, not the node.',
  },
  {
    target: SUBMISSIONS,
    input: /application\/json;"/,
    matches: /^\w+ \/api\/(transactions|signatures|node\/status\/forging): /,
    reference: 'a body of type `application/json;` is taken for an empty one',
    here: 'it is read',
    reason: 'A semicolon without a parameter does not change the type.',
  },
  {
    target: /^generation 2, http submissions/,
    input: /"body":"\s*\[+(-?[0-9]|true|false)/,
    matches: /: both 400, changed body\.errors\[\]\.errors\[\]\.message \(INVALID_TYPE/,
    reference:
      'generation 2: a list of one number instead of an object is reported as a number, one of a boolean as a boolean',
    here: 'reported as a list, as in generation 3',
    reason: 'It is a list.',
  },
  {
    target: SUBMISSIONS,
    input: /\\"id\\":\\"0/,
    matches: /^POST \/api\/transactions: both 409, changed body\.errors\[\]\.message \(Invalid transaction id/,
    reference: 'a transaction whose id has leading zeros is refused for its id, and also for an invalid signature',
    here: 'refused for its id',
    reason: 'The parser refuses the id, so the node verifies no signature.',
  },
  {
    target: SUBMISSIONS,
    input: /\\"(signature|signSignature)\\":\\"[0-9a-f]*[A-F]/,
    matches: /^POST \/api\/transactions: both 409, changed body\.errors\[\]\.message \(Failed to validate signature/,
    reference: 'an error message quotes an invalid signature in the letter case of the request',
    here: 'quoted in lower case',
    reason: 'A signature is kept as bytes.',
  },
];
