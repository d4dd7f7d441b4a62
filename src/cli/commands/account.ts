/** `bloomery account`: shows an account of a chain with its multisignature group and its latest transactions. */

import { addressFault } from '../../crypto/keys.ts';
import { lskText } from '../../primitives/amount.ts';
import { isCanonicalHex } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import {
  ACCOUNTS,
  DELEGATES,
  TRANSACTIONS,
  votesOf,
  type AccountJson,
  type DelegateJson,
  type GroupJson,
  type TransactionJson,
} from '../chain-query/shapes.ts';
import { askSource, type Source } from '../chain-query/chain-source.ts';
import { groupOfAccount } from '../chain-query/group-of-account.ts';
import { descriptionOf, isSet, lsk, rowLines, type Row } from '../chain-query/format-rows.ts';
import type { QueryFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';
import { tableLines } from '../table.ts';

const LATEST_SHOWN = 10;

/**
 * @param which an address (with or without the final `L`), a public key, or the name of a delegate; the case of letters
 *   does not matter
 * @throws ProtocolError `ACCOUNT_UNKNOWN`; errors of `askSource` and of `Source.ask`
 */
export async function account(which: string, flags: QueryFlags): Promise<void> {
  await askSource(flags, (source) => showAccount(source, which, flags));
}

async function showAccount(source: Source, which: string, flags: QueryFlags): Promise<void> {
  const found = await findAccount(source, which);
  const path = `transactions?senderIdOrRecipientId=${found.address}&sort=timestamp:desc&limit=${LATEST_SHOWN}`;
  const latest = await source.ask<readonly TransactionJson[]>(path, TRANSACTIONS);
  const group = await groupOfAccount(found.address, source);
  if (flags.json === true) {
    const shown = group === undefined ? null : { min: group.min, members: group.members.map(memberOf) };
    printJson({ account: found, group: shown, latestTransactions: latest });
    return;
  }
  const { address, publicKey, balance, secondPublicKey, delegate } = found;
  printLines([
    ...rowLines([
      ['account', address],
      ['balance', `${lskText(BigInt(balance))} LSK`],
      ['public key', isSet(publicKey) ? publicKey : 'unknown: it has sent nothing yet'],
      ...(isSet(secondPublicKey) ? [['second key', secondPublicKey] as const] : []),
      ...(group === undefined ? [] : groupRows(group)),
      ...(delegate === undefined || delegate === null ? [] : delegateRows(delegate)),
    ]),
    ...(latest.length === 0 ? [] : ['', `latest transactions, newest first (${LATEST_SHOWN} at most):`]),
    ...(latest.length === 0 ? [] : tableLines(COLUMNS, latest)),
  ]);
}

const COLUMNS = [
  { heading: 'transaction', of: ({ id }: TransactionJson) => id },
  { heading: 'height', of: ({ height }: TransactionJson) => String(height), isNumber: true },
  { heading: 'does', of: (each: TransactionJson) => `${each.senderId} ${descriptionOf(each)}` },
] as const;

async function findAccount(source: Source, which: string): Promise<AccountJson> {
  for (const query of queriesOf(which)) {
    const [found] = await source.ask<readonly AccountJson[]>(`accounts?${query}`, ACCOUNTS);
    if (found !== undefined) return found;
  }
  // In a query for accounts, a node treats a name as a pattern. A query for delegates finds only the delegate with
  // exactly this name.
  const name = encodeURIComponent(which.toLowerCase());
  const [delegate] = isName(which)
    ? await source.ask<readonly DelegateJson[]>(`delegates?username=${name}`, DELEGATES)
    : [];
  const [found] =
    delegate === undefined
      ? []
      : await source.ask<readonly AccountJson[]>(`accounts?address=${delegate.account.address}`, ACCOUNTS);
  if (found !== undefined) return found;
  throw new ProtocolError('ACCOUNT_UNKNOWN', { which }, `${source.base} knows no account ${which}`);
}

function queriesOf(which: string): readonly string[] {
  const address = `${which.replace(/L$/i, '')}L`;
  if (addressFault(address) === undefined) return [`address=${address}`];
  const key = which.toLowerCase();
  return isCanonicalHex(key, 32) ? [`publicKey=${key}`] : [];
}

/**
 * True for a text of 1 to 20 characters, each of them a letter, a digit or one of `!@$&_.`. A node refuses to look up
 * any other text as a name.
 */
function isName(which: string): boolean {
  return /^[a-z0-9!@$&_.]{1,20}$/i.test(which);
}

function memberOf({ address, publicKey }: GroupJson['members'][number]): GroupJson['members'][number] {
  return { address, publicKey };
}

function groupRows({ min, members }: GroupJson): readonly Row[] {
  return [
    ['multisignature', `${min} of ${members.length} members must sign`],
    ...members.map(({ address, publicKey }) => ['member', `${address}, ${publicKey}`] as const),
  ];
}

function delegateRows(delegate: Delegate): readonly Row[] {
  const { username, producedBlocks, missedBlocks, productivity } = delegate;
  return [
    ['delegate', `${username}${rankText(delegate)}`],
    ['votes', lsk(votesOf(delegate))],
    ['blocks', `${producedBlocks} forged, ${missedBlocks} missed, productivity ${productivity} %`],
  ];
}

function rankText({ rank }: Delegate): string {
  if (rank === undefined) return '';
  return rank === null ? ', not ranked before the next round' : `, rank ${rank}`;
}

type Delegate = NonNullable<AccountJson['delegate']>;
