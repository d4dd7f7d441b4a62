/** `bloomery account`: an account as a node's chain has it, with its latest transactions. */

import { isCanonicalHex } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import { ACCOUNTS, TRANSACTIONS, type AccountJson, type TransactionJson } from '../explore/shapes.ts';
import { deedOf, isSet, lsk, rowLines, type Row } from '../explore/words.ts';
import type { QuestionFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';

const LATEST_SHOWN = 10;

/**
 * @param which an address, the name of a delegate or a public key
 * @throws ProtocolError `ACCOUNT_UNKNOWN`, and what asking throws
 */
export async function account(which: string, flags: QuestionFlags): Promise<void> {
  const node = nodeAsker(flags.node);
  const found = await findAccount(node, which);
  const path = `transactions?senderIdOrRecipientId=${found.address}&sort=timestamp:desc&limit=${LATEST_SHOWN}`;
  const latest = await node.ask<readonly TransactionJson[]>(path, TRANSACTIONS);
  if (flags.json === true) {
    printJson({ account: found, latestTransactions: latest });
    return;
  }
  const { address, publicKey, balance, secondPublicKey, delegate } = found;
  printLines([
    ...rowLines([
      ['account', address],
      ['balance', lsk(balance)],
      ['public key', isSet(publicKey) ? publicKey : 'unknown: it has sent nothing yet'],
      ...(isSet(secondPublicKey) ? [['second key', secondPublicKey] as const] : []),
      ...(delegate === undefined || delegate === null ? [] : delegateRows(delegate)),
    ]),
    ...(latest.length === 0 ? [] : ['', `latest transactions, newest first (${LATEST_SHOWN} at most):`]),
    ...latest.map((each) => `  ${each.id.padEnd(20)}  height ${each.height}: ${each.senderId} ${deedOf(each)}`),
  ]);
}

async function findAccount(node: NodeAsker, which: string): Promise<AccountJson> {
  const [found] = await node.ask<readonly AccountJson[]>(`accounts?${questionOf(which)}`, ACCOUNTS);
  if (found !== undefined) return found;
  throw new ProtocolError('ACCOUNT_UNKNOWN', { which }, `${node.base} knows no account ${which}`);
}

function questionOf(which: string): string {
  if (/^[0-9]{1,21}L$/.test(which)) return `address=${which}`;
  if (isCanonicalHex(which, 32)) return `publicKey=${which}`;
  return `username=${encodeURIComponent(which)}`;
}

function delegateRows({ username, rank, vote, producedBlocks, missedBlocks, productivity }: Delegate): readonly Row[] {
  return [
    ['delegate', `${username}, rank ${rank}`],
    ['votes', lsk(vote)],
    ['blocks', `${producedBlocks} forged, ${missedBlocks} missed, productivity ${productivity} %`],
  ];
}

type Delegate = NonNullable<AccountJson['delegate']>;
