/**
 * Target that compares the checks of member signatures. A list of signatures can be complete or too short, and can
 * contain signatures that are repeated, malformed, in another letter case, or of an account that is not a member.
 */

import type { JsonObject } from '../../src/protocol/types.ts';
import type { RandomBelow } from '../fuzz/mutate.ts';
import { MemoryState } from '../support/memory-state.ts';
import { outcomeOf, type Comparison } from './comparison.ts';
import { anyDocument, namedMembers, NETWORK_IDENTIFIER, sign, type Document } from './documents.ts';
import { otherCase, pick } from './mutations.ts';
import { oursOf, readValid, verify } from './ours.ts';
import { PEOPLE, type Person } from './people.ts';
import type { Handlers } from './reference-node.ts';
import { AccountTable, fullRow } from '../support/reference-tables.ts';
import { referenceTransaction, type ReferencePackage } from './reference.ts';
import type { Target } from './target.ts';
import { fill } from './world.ts';

type Account = Parameters<typeof fullRow>[0];

interface Case {
  readonly account: Account;
  readonly transaction: JsonObject;
}

/**
 * The chain time with which this node checks each transaction. No valid timestamp is later than this time. The check
 * for future timestamps therefore finds no fault, and this target does not test it.
 */
const AFTER_ALL_S = 2 ** 31;

const STATUS = { fail: 0, ok: 1, pending: 2 } as const;

export function signatureTarget(reference: ReferencePackage, handlers: Handlers): Target {
  const { generation } = reference;
  const ours = oursOf(generation);
  return { name: `generation ${generation}, signatures`, compare: (below) => compareText(anyCase(below)), compareText };

  function anyCase(below: RandomBelow): string {
    const sender = pick(PEOPLE, below);
    const group = [...new Set([0, 1, 2, 3].map(() => pick(PEOPLE, below)))];
    const isGroup = below(3) > 0;
    const account: Account = {
      address: sender.address,
      balance: '10000000000',
      publicKey: sender.publicKey,
      ...(isGroup ? groupColumns(group, below) : {}),
    };
    const document = anyDocument(reference, below, sender);
    nameMembersOtherwise(document, below);
    const members: Person[] = [...(isGroup ? group : []), ...namedMembers(document)];
    if (below(4) === 0) members.push(pick(PEOPLE, below));
    sign(reference, document, { sender, members: below(10) === 0 ? [] : members });
    const signatures = document['signatures'] as string[] | undefined;
    if (signatures !== undefined) document['signatures'] = corrupted(signatures, below);
    return JSON.stringify({ account, transaction: document });
  }

  function groupColumns(group: readonly Person[], below: RandomBelow): Partial<Account> {
    const keys = group.flatMap(({ publicKey }) => {
      // A registration may contain the key of a member in another letter case, or in two letter cases.
      const other = otherCase(publicKey, below);
      return pick([[publicKey], [publicKey], [other], [publicKey, other]], below);
    });
    return { membersPublicKeys: keys, multiMin: 1 + below(keys.length), multiLifetime: 24 };
  }

  function nameMembersOtherwise(document: Document, below: RandomBelow): void {
    const asset = document['asset'] as { keysgroup?: string[]; multisignature?: { keysgroup: string[] } };
    const keysgroup = asset.keysgroup ?? asset.multisignature?.keysgroup;
    if (keysgroup === undefined || below(2) === 0) return;
    keysgroup.push(otherCase(pick(keysgroup, below), below));
    if (generation === 2) document['fee'] = String(500_000_000 * (keysgroup.length + 1));
  }

  async function compareText(input: string): Promise<Comparison> {
    return {
      input,
      ours: await outcomeOf(() => {
        const { account, transaction: json } = JSON.parse(input) as Case;
        const state = new MemoryState();
        fill(state, [fullRow(account)]);
        const transaction = readValid(ours, json);
        const stored = ours.codec.decodeTransaction(Buffer.from(ours.codec.encodeTransaction(transaction)));
        const verdict = ours.rules.verifyTransaction(state, stored, AFTER_ALL_S, verify);
        const errors = verdict.status === 'ok' ? [] : verdict.errors;
        return { status: STATUS[verdict.status], errors: sought(errors.map(({ message }) => message.toLowerCase())) };
      }),
      reference: await outcomeOf(async () => {
        const { account, transaction: json } = JSON.parse(input) as Case;
        const transaction = referenceTransaction(reference, json, NETWORK_IDENTIFIER);
        const valid = transaction.validate();
        if (valid.status !== 1) throw valid.errors;
        const { status, errors } = await handlers.judge(transaction, new AccountTable([fullRow(account)]));
        return { status, errors: sought(errors.map(({ message }) => message.toLowerCase())) };
      }),
    };
  }
}

/**
 * Returns the error messages. Of the messages about signatures that belong to no member, the result contains only the
 * first one, because this node stops at the first such error.
 */
function sought(messages: readonly string[]): readonly string[] {
  const isOfNobody = (message: string): boolean => message.startsWith('failed to validate signature');
  return messages.filter((message, index) => !isOfNobody(message) || messages.findIndex(isOfNobody) === index);
}

function corrupted(list: readonly string[], below: RandomBelow): unknown[] {
  const signatures: unknown[] = [...list];
  // A group may contain the key of a member twice, in two letter cases. The list of signatures then contains two equal
  // signatures. This node and the reference (lisk-sdk) refuse such a list. Usually change the letter case of one of the
  // two signatures.
  for (const [at, each] of list.entries()) {
    if (list.indexOf(each) < at && below(3) > 0) signatures[at] = otherCase(each, below);
  }
  const any = (): string => pick(list, below);
  const index = below(signatures.length);
  switch (below(12)) {
    case 0:
      signatures.splice(index, 1);
      break;
    case 1:
      signatures.push(any());
      break;
    case 2:
      signatures.push(otherCase(any(), below));
      break;
    case 3:
      signatures[index] = otherCase(any(), below);
      break;
    case 4:
      signatures[index] = pick([any().slice(2), `${any()}00`, '', null, 7, any().replace(/^../, 'zz'), [any()]], below);
      break;
    case 5:
      signatures.push('ab'.repeat(64));
      break;
    case 6:
      signatures.reverse();
      break;
    case 7:
      while (signatures.length < 15 + below(3)) signatures.push(otherCase(any(), below));
      break;
    default:
  }
  return signatures;
}
