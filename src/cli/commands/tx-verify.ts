/**
 * `bloomery tx verify`: checks whether a node would accept signed transactions. The command does not send the
 * transactions.
 */

import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { createSigner, type TransactionSigner } from '../../protocol/sign.ts';
import type { Transaction } from '../../protocol/types.ts';
import { checkTransaction, type TransactionCheck } from '../chain-query/check-transaction.ts';
import { askSource, type Source } from '../chain-query/chain-source.ts';
import { rowLines } from '../chain-query/format-rows.ts';
import type { QueryFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';
import { describe } from '../wallet/describe.ts';
import { documentsIn } from '../wallet/documents.ts';
import { networkAt } from '../wallet/network.ts';

interface Verified extends TransactionCheck {
  /** Undefined if the JSON document that the command read is not a transaction. */
  readonly transaction: Transaction | undefined;
}

/**
 * @throws ProtocolError `TRANSACTION_NOT_VALID`, after printing all results, if a transaction has a fault or lacks
 *   signatures; errors of `documentsIn`, `askSource`, `networkAt` and `checkTransaction`
 */
export async function txVerify(file: string, flags: QueryFlags): Promise<void> {
  const documents = documentsIn(file);
  const verified = await askSource(flags, async (source) => {
    const signer = createSigner(await networkAt(source), defaultEd25519());
    const all: Verified[] = [];
    for (const document of documents) all.push(await verifyOne(document, signer, source));
    return all;
  });
  if (flags.json === true) printJson({ transactions: verified.map(jsonOf) });
  else for (const each of verified) printLines(linesOf(each));
  const bad = verified.filter((each) => !isValid(each));
  if (bad.length === 0) return;
  const [first] = bad;
  const what =
    bad.length === 1
      ? `${`transaction ${first?.transaction?.id ?? ''}`.trim()} would not be accepted as it is`
      : `${bad.length} transactions would not be accepted as they are`;
  throw new ProtocolError('TRANSACTION_NOT_VALID', {}, what);
}

async function verifyOne(document: unknown, signer: TransactionSigner, source: Source): Promise<Verified> {
  let transaction: Transaction;
  try {
    transaction = signer.parse(document);
  } catch (error) {
    return { transaction: undefined, faults: [messageOf(error)], missing: undefined, state: undefined };
  }
  return { transaction, ...(await checkTransaction(transaction, signer, source)) };
}

function isValid({ faults, missing }: TransactionCheck): boolean {
  return faults.length === 0 && missing === undefined;
}

function jsonOf(verified: Verified): object {
  const { transaction, faults, missing, state } = verified;
  return {
    id: transaction?.id ?? null,
    isValid: isValid(verified),
    faults,
    missing: missing ?? null,
    state: state ?? null,
  };
}

function linesOf(verified: Verified): readonly string[] {
  const { transaction, faults, missing, state } = verified;
  const verdict =
    state === undefined ? 'a node would take it' : `the node has it already: it waits in the pool (${state})`;
  return [
    ...rowLines([['transaction', transaction?.id ?? 'none']]),
    ...(transaction === undefined ? [] : describe(transaction, 'of the node')),
    ...(missing === undefined
      ? []
      : rowLines([
          ['missing', `${missing.count} signatures of members, of these:`],
          ...missing.of.map((key) => ['', key] as const),
        ])),
    ...rowLines(faults.map((fault) => ['fault', fault] as const)),
    ...(isValid(verified) ? rowLines([['verdict', verdict]]) : []),
  ];
}
