/**
 * Known and accepted classes (kinds) of differences from a real lisk-sdk node over HTTP, each with its reason.
 * `docs/http/interface-differences.md` lists the same classes; a test compares the page with this table.
 */

import type { KnownDifference } from '../known-differences.ts';

const ANY = /, http /;
const QUERIES = /, http queries/;
const SUBMISSIONS = /, http submissions/;

export const HTTP_DIFFERENCES: readonly KnownDifference[] = [
  {
    target: QUERIES,
    // Matches an input with a number of 16 digits or more, a time of more than ten digits, U+0000, a quotation mark, or
    // a parameter that selects an account (because the account can be one without a public key).
    input:
      /\d{16}|time(stamp)?=-?\d{11}|%00|%22|\/\d+L|address=|publicKey=|username=|secondPublicKey=|generatorPublicKey=/i,
    matches: /: 200 here, 500 there/,
    reference:
      'A real node answers 500 to five inputs: an offset beyond 64 bits, a time beyond 32 bits, U+0000 in a search, a quotation mark in the name of an application, and a parameter that selects an account without a public key.',
    here: 'This node answers 200 with an empty list. To a query for forging statistics, this node answers 200 with zeros. However, the next row describes queries for forging statistics to which this node answers 400.',
    reason: 'The database of the real node fails, although the request has a valid answer.',
  },
  {
    target: QUERIES,
    matches: /forging_statistics: 400 here \(INVALID_PARAM\), 500 there/i,
    reference:
      'A real node answers 500 to a query for forging statistics if a time in the query is before the epoch of the network, or if the account has no public key.',
    here: 'If the account is a delegate, this node answers 200. If the account is not a delegate, this node answers 400 with the reason. In generation 3, however, if the query has `fromTimestamp` or `toTimestamp`, this node answers 200 with zeros for an existing account that is not a delegate.',
    reason: 'The database of the real node fails before the node looks at the account.',
  },
  {
    target: QUERIES,
    matches: /multisignature_(groups|memberships): both 200, added body\.data/i,
    reference:
      "The registration of a multisignature account may contain the key of a member in capital letters. In this case, a real node's list of members omits the member, and its list of the member's memberships omits the multisignature account.",
    here: 'This node lists the member and the multisignature account. The lists of members and memberships show keys in lower case. The asset of the registration shows the keys as the sender wrote them.',
    reason: 'The member can sign although its key is in capitals, so a list without the member is wrong.',
  },
  {
    target: QUERIES,
    matches: /\/votes: both 200, changed body\.data\.publicKey|\/voters: both 200, changed body\.data\.publicKey/i,
    reference:
      "In a real node's answers for votes and voters, `publicKey` is null for an account without a public key.",
    here: 'This node also sends null, but with `strictDialect` this node sends an empty string.',
    reason:
      'The API description of the real node allows only strings as `publicKey`, and the strict dialect must match the description.',
  },
  {
    target: /extended/,
    input: /after|broadhash|recipientPublicKey|rank|voteWeight|state|networkId|node\/transactions/i,
    matches:
      /^GET \/api\/(delegates|peers|transactions|node\/transactions\/\w+)\/?: (200|400) here.*, 400 there \((UNKNOWN_PARAM|ENUM_MISMATCH|INVALID_TYPE)|^GET \/api\/(delegates|peers|transactions|node\/transactions\/\w+)\/?: both 400/i,
    reference: 'A real node has only the parameters, sort orders and peer states of its own generation.',
    here: 'This node accepts the parameters, sort orders and peer states of both generations, unless `strictDialect` is on.',
    reason: 'A script that was written for one generation keeps working on a network of the other generation.',
  },
  {
    target: QUERIES,
    input: /(min|max)Amount=\d{16}/i,
    matches: /\/transactions\/?: both 200, \w+ body/i,
    reference: 'A real node rounds a number above 2^53 in `minAmount` and `maxAmount`.',
    here: 'This node uses the exact number if the value consists of digits only.',
    reason: 'With a rounded bound, a list can lack a transaction, or contain a wrong one.',
  },
  {
    target: QUERIES,
    input: /"transfer-encoding":"identity"/i,
    matches: /: (both 400, changed contentType|400 here.*, \d+ there)/,
    reference:
      'If a request has the header `Transfer-Encoding: identity`, a real node answers the request, and then sends a second answer with status 400 on the same connection.',
    here: 'This node answers 400 without a body, and closes the connection.',
    reason:
      'RFC 9112: if the last encoding is not `chunked`, the length of the request is unclear, and a server must answer 400.',
  },
  {
    target: /extended/,
    matches: /^HEAD .*: \d+ here.*, 405 there/,
    reference: 'A real node refuses HEAD with status 405.',
    here: 'This node answers HEAD as it answers GET, but without the body. The exception is `/events`, which refuses HEAD. With `strictDialect`, this node refuses HEAD on all paths of real nodes below `/api` except `/api/spec`.',
    reason: 'Load balancers and health checks use HEAD.',
  },
  {
    target: /^generation 2.*extended/,
    input: /[?&]forging/,
    matches: /^GET \/api\/node\/status\/forging: (400 here|both 200)/i,
    reference: 'A real node of generation 2 ignores the parameter `forging` in requests for the forging status.',
    here: 'This node filters the forging status by `forging`, as in generation 3, unless `strictDialect` is on.',
    reason: 'If a node ignores a filter, the client gets a wrong answer.',
  },
  {
    target: /^generation 3, http queries/,
    // The answers differ only for a request with `recipientId` and another filter. Compared with the answer of the real
    // node, the answer of this node lacks a transaction, or has another transaction at the same position.
    input: /(?=.*[?&]recipientId=)[?&](id|senderId|senderPublicKey|type)=/i,
    matches: /^GET \/api\/node\/transactions\/\w+\/?: both 200, (missing|changed) body\.data\[\]/i,
    reference:
      'If a request for a pool list has the filter `recipientId`, a real node of generation 3 ignores all other filters.',
    here: 'This node applies all filters of a pool list together. However, with `recipientPublicKey`, this node ignores `recipientId`.',
    reason: 'If a node ignores a filter, the client gets a wrong answer.',
  },
  {
    target: QUERIES,
    input: /offset/i,
    matches: /\/forgers\/?: both 200, changed body\.data\[\]\.nextSlot/i,
    reference:
      'With an `offset`, a real node sends wrong slot numbers of the next forgers: each number is too small by the offset.',
    here: 'This node sends the true slot numbers.',
    reason: 'The next slot of a delegate does not depend on the page of the list that the client reads.',
  },
  {
    target: ANY,
    input: /toString/,
    matches: /Cannot convert object to primitive value|: both 400, changed body\.errors\[\]\.message \(INVALID_TYPE/,
    reference:
      'A request may contain an object where a string is expected. If the object has a member `toString`, a real node answers with an error text of the JavaScript engine.',
    here: 'This node reports a wrong type and a wrong format, as for any other object.',
    reason: 'The error text of the JavaScript engine does not describe the fault in the request.',
  },
  {
    target: SUBMISSIONS,
    input: /APPLICATION/,
    matches:
      /^\w+ \/api\/(transactions|signatures|node\/status\/forging): (both 400, changed body\.errors\[\]\.code|\d+ here.*INVALID_CONTENT_TYPE)/,
    reference: 'A real node refuses a content type that is written in capitals.',
    here: 'This node ignores the letter case of media types.',
    reason: 'RFC 9110: the letter case of a media type has no meaning.',
  },
  {
    target: SUBMISSIONS,
    // The escape sequence is escaped again, because it is in a JSON text inside a JSON text.
    input: /\\\\ud[89a-f]/i,
    matches: /both 400, changed body\.errors\[\]\.errors\[\]\.message/,
    reference: 'When a real node quotes a refused value, it writes an unpaired surrogate as U+FFFD.',
    here: 'This node writes an unpaired surrogate as an escape sequence, as in the request.',
    reason: 'U+FFFD does not show which surrogate the client sent.',
  },
  {
    reference:
      'In a real node of generation 2, the order of pool entries with equal sort keys depends on the JavaScript engine.',
    here: 'This node lists pool entries with equal sort keys in the order of their queue in the pool, oldest first.',
    reason: 'A client that reads page by page needs a stable order.',
  },
  {
    reference:
      'The registration of a second key, a delegate or a multisignature account may have an unknown member `asset.amount`, which no signature covers (the unsigned amount). If the pool contains such a registration, a real node of generation 3 answers 500 to a pool list that is sorted by `amount`.',
    here: 'This node sends the list, and sorts the registration as if its amount were 0.',
    reason:
      'If this node answered 500, anybody could make the list fail for all clients at the price of one registration fee.',
  },
  {
    reference:
      "The pool lists of a real node show the sender's signatures (`signature`, `signSignature`) in the letter case in which the node received them.",
    here: "The pool lists of this node show the sender's signatures in lower case.",
    reason:
      'This node converts a signature to lower case when it reads the transaction. In lists of the chain, both nodes show signatures in lower case.',
  },
  {
    reference:
      'A signature object (the body of `POST /signatures`) states the key of the member that signed. If this key differs from the key in the registration of the multisignature account only in letter case, a real node answers 409 `Public Key … is not a member.`',
    here: 'This node ignores the letter case of the key, and accepts the signature.',
    reason: 'The signature is valid, and the whole network accepts the transaction with the signature.',
  },
  {
    reference:
      'A multisignature registration that waits in the pool may receive a signature that it already has, but in capitals. A real node then answers 409 `Failed to validate signature …`. In the pool of the real node, the registration becomes invalid, because it contains the signature twice.',
    here: 'This node answers 409 `Encountered duplicate signature in transaction`, and the registration does not change.',
    reason: 'If the registration became invalid, anybody who sees the signature could prevent the registration.',
  },
  {
    reference:
      'If the unsigned amount (`asset.amount`) of a registration is 10^21 or more, a real node of generation 3 reports two errors.',
    here: 'This node sends only the second error, and writes all digits of the amount in the member `actual` of the error.',
    reason: 'The first error arises only because JavaScript writes such a number with an exponent (`1e+21`).',
  },
  {
    target: /^generation 2, http submissions/,
    matches: /^POST \/api\/transactions: both 409, changed body\.message( |$)/,
    reference:
      'In a real node of generation 2, some values (`senderPublicKey:""`, `signature:""`, `recipientPublicKey:"x"`) make the constructor of the transaction fail. For such a transaction, the outer `message` of the answer is not `Transaction was rejected with errors`.',
    here: 'The outer `message` of this node is `Transaction was rejected with errors`, as for most refused transactions.',
    reason: '`errors` gives the reason, so one outer message is enough.',
  },
  {
    target: SUBMISSIONS,
    matches: /^POST \/api\/transactions: both 409, changed body\.(errors|message)( |$)/,
    reference:
      'A real node sends `{}` as `errors` in three cases: the transaction type is unknown, the pool is full, or the constructor of the transaction fails.',
    here: 'This node sends `errors` as a list with one element.',
    reason: '`errors` is a list in all other refusals.',
  },
  {
    target: SUBMISSIONS,
    // Matches any value of `receivedAt` except a time in the format of ISO 8601.
    input: /receivedAt\\":(?!\\"\d{4}-\d\d-\d\dT)/,
    matches:
      /^POST \/api\/transactions: (200 here, 409 there \((Invalid time value|Transaction was rejected with errors)\)|both 409, changed body\.errors)/,
    reference: 'A real node refuses a transaction whose `receivedAt` is not a valid time.',
    here: 'This node does not read `receivedAt`.',
    reason: 'Each node sets `receivedAt` itself.',
  },
  {
    target: SUBMISSIONS,
    matches:
      /^POST \/api\/transactions: 409 here \((Unknown member is not an amount|invalid input syntax|unsupported Unicode|should NOT nest deeper than|Unknown members make the asset longer)/,
    reference:
      'The pool of a real node accepts assets of any depth and size, amounts that no signature covers (`asset.amount`) of any size, and strings that its database cannot store. If such an amount is not a number, a real node of generation 3 exits when its pool gets another transaction of the same sender.',
    here: 'This node refuses a transaction that would make a block invalid. An amount that no signature covers must be a whole number of beddows, from 0 to 200 million LSK. This node also refuses an asset with unknown members if the asset exceeds 256 levels of nesting or 8,192 bytes.',
    reason:
      'A real node refuses a block with a string that its database cannot store. No honest client sends an amount that no signature covers and that this node refuses ([decision 13](../decisions/0013-what-nobody-signed.md)). By default, the pool holds up to 5,000 transactions, so the node limits the size of each transaction.',
  },
  {
    target: SUBMISSIONS,
    matches:
      /^POST \/api\/transactions: both 409, changed body\.errors\[\]\.message \((Unknown member is not an amount|invalid input syntax|unsupported Unicode)/,
    reference:
      'If a transaction has an unknown member that only this node refuses, and also a fault that depends on the time or on the chain, a real node reports the second fault.',
    here: 'This node reports the fault of the unknown member.',
    reason:
      'The check of unknown members is cheap, so this node makes it before the checks that need the time or the chain.',
  },
  {
    target: /^generation 2, http submissions/,
    matches: /^POST \/api\/signatures: 4\d\d here.*500 there/,
    reference:
      'A real node of generation 2 answers 500 to a signature object with an invalid id, key or signature, or with an additional member.',
    here: 'This node answers 400 with the reason. This node ignores additional members, as in generation 3.',
    reason: 'The real node fails when it tries to penalise a peer that does not exist.',
  },
  {
    target: QUERIES,
    input: /__proto__/,
    matches:
      /: 400 here \((UNKNOWN_PARAM|INVALID_TYPE).*, (200|404) there|: both 400, (added|changed) body\.errors\[\](\.name)? \(UNKNOWN_PARAM/,
    reference:
      'A real node ignores a parameter with the name `__proto__`, and also a value under this name in brackets (`limit[__proto__]=1`).',
    here: 'This node treats the parameter `__proto__` like any other unknown parameter. This node treats `limit[__proto__]=1` like any other `limit` with a value of a wrong type.',
    reason:
      '`__proto__` has no special meaning in this node. If a node ignores a filter, the client gets a wrong answer.',
  },
  {
    target: QUERIES,
    input: /hasOwnProperty|toString/,
    matches: /: (200|40[04]) here.*, 500 there/,
    reference:
      'A real node answers 500 to a parameter with the name `hasOwnProperty`. It also answers 500 to `hasOwnProperty` or `toString` in brackets (`limit[toString]=1`).',
    here: 'This node treats `hasOwnProperty` and `toString` like any other unknown parameter or value of a wrong type.',
    reason: 'The two names have no special meaning in this node.',
  },
  {
    target: QUERIES,
    input: /(&[^&]*){1000}/,
    matches: /^GET .*: (200|40[04]) here|^GET .*: both /,
    reference: 'A real node ignores all parameters after the thousandth one.',
    here: 'This node checks all parameters.',
    reason:
      'If a node ignores a filter, the client gets a wrong answer. The head of a request has at most 16 kB, so this node never has to check more than about 8,000 parameters.',
  },
  {
    target: QUERIES,
    input: /%(?![0-9a-f]{2})|%[89a-f]/i,
    matches: /: 404 here \(Page not found\)?, 500 there|: 404 here, 500 there/,
    reference: 'A real node answers 500 to a path that cannot be decoded (`/accounts/%zz/multisignature_groups`).',
    here: 'This node answers 404, as for any unknown path.',
    reason: 'The client made the mistake, not the node.',
  },
  {
    target: QUERIES,
    input: /\\/,
    matches: /: 404 here.*, (200|400) there/,
    reference: 'A real node reads a backslash in a path as a slash.',
    here: 'This node answers 404 to a path with a backslash.',
    reason: 'No RFC defines a backslash as a slash. Proxies that check paths do not read a backslash as a slash.',
  },
  {
    target: SUBMISSIONS,
    input: /"content-type"/,
    matches: /: both 400, changed body\.errors\[\]\.errors\[\]\.(code|message) \(INVALID_CONTENT_TYPE/,
    reference:
      'If a real node refuses the content type of a body, it nevertheless parses the body as a form or as JSON. It reports the wrong content type together with the faults of the body.',
    here: 'This node does not read a body with a refused content type. It reports the refused content type, and also the faults that a body with an empty object would have.',
    reason: 'A node can refuse a body without reading it. Both nodes report the wrong content type first.',
  },
  {
    target: SUBMISSIONS,
    input: /charset=/,
    matches: /: (400|415) here.*, 500 there/,
    reference:
      'A real node answers 500 if it does not support the charset of a body, for example UTF-32. A real node also answers 500 if the content type of a form names any charset.',
    here: 'This node reads UTF charsets, including UTF-32, and answers 415 to any other charset. This node answers 400 to a form, and does not read the form.',
    reason: 'The client made the mistake, not the node.',
  },
  {
    target: SUBMISSIONS,
    input: /application\/json;"/,
    matches: /^\w+ \/api\/(transactions|signatures|node\/status\/forging): /,
    reference: 'A real node treats a body of type `application/json;` as an empty body.',
    here: 'This node reads a body of type `application/json;` as JSON.',
    reason: 'A semicolon without a parameter does not change the media type.',
  },
  {
    target: /^generation 2, http submissions/,
    input: /"body":"\s*\[+(-?[0-9]|true|false)/,
    matches: /: both 400, changed body\.errors\[\]\.errors\[\]\.message \(INVALID_TYPE/,
    reference:
      'If a body is a list with one number, the error message of a real node of generation 2 calls the body a number. For a list with one boolean, this message calls the body a boolean.',
    here: 'The error message of this node calls the body a list, as in generation 3.',
    reason: 'The body is a list.',
  },
  {
    target: SUBMISSIONS,
    input: /\\"id\\":\\"0/,
    matches: /^POST \/api\/transactions: both 409, changed body\.errors\[\]\.message \(Invalid transaction id/,
    reference:
      'If a transaction id has leading zeros, a real node reports two errors: an invalid id and an invalid signature.',
    here: 'This node reports only the invalid id.',
    reason: 'The parser refuses the id, so the node verifies no signature.',
  },
  {
    target: SUBMISSIONS,
    input: /\\"(signature|signSignature)\\":\\"[0-9a-f]*[A-F]/,
    matches: /^POST \/api\/transactions: both 409, changed body\.errors\[\]\.message \(Failed to validate signature/,
    reference: 'An error message of a real node quotes an invalid signature in the letter case of the request.',
    here: 'This node quotes an invalid signature in lower case.',
    reason: 'This node converts a signature to lower case when it reads the transaction.',
  },
];
