/**
 * Values for the parameters of HTTP requests. Most values occur on the chain of the lab (`lab.ts`), so the requests
 * find accounts, blocks or transactions.
 */

import { ask } from '../../interop/http.ts';
import type { Untyped } from '../../support/untyped.ts';

export interface Facts {
  readonly addresses: readonly string[];
  /**
   * Addresses for which paths such as `/accounts/{address}/…` have many known differences. These are the addresses of
   * accounts without a public key, and the addresses that `oddGroupOf` (`lab.ts`) returns.
   */
  readonly oddAddresses: readonly string[];
  readonly plainAddresses: readonly string[];
  readonly publicKeys: readonly string[];
  readonly secondPublicKeys: readonly string[];
  readonly usernames: readonly string[];
  readonly blockIds: readonly string[];
  readonly transactionIds: readonly string[];
  readonly heights: readonly string[];
  readonly timestamps: readonly string[];
  readonly amounts: readonly string[];
  readonly types: readonly string[];
  readonly data: readonly string[];
}

/**
 * Requests the values from the real node at `url`.
 *
 * @param odd addresses that `oddAddresses` contains in addition to the addresses of accounts without a public key
 */
export async function factsOf(url: string, odd: readonly string[]): Promise<Facts> {
  const list = async (path: string): Promise<readonly Untyped[]> => (await ask(url, path)).data as readonly Untyped[];
  const [accounts, blocks, transactions, late, pending] = await Promise.all([
    list('accounts?limit=100&sort=balance:desc'),
    list('blocks?limit=60'),
    list('transactions?limit=40'),
    list('transactions?limit=40&sort=timestamp:desc'),
    list('node/transactions/pending'),
  ]);
  const all = [...late, ...transactions];
  const texts = (values: readonly unknown[]): readonly string[] => [
    ...new Set(values.filter((value) => value !== undefined && value !== '' && value !== null).map(String)),
  ];
  const isOdd = ({ address, publicKey }: Untyped): boolean => !publicKey || odd.includes(address);
  return {
    oddAddresses: texts(accounts.filter(isOdd).map(({ address }) => address)),
    plainAddresses: texts([...accounts.filter((each) => !isOdd(each)).map(({ address }) => address), '99999L']),
    addresses: texts([...accounts.map(({ address }) => address), '99999L']),
    publicKeys: texts([...accounts.map(({ publicKey }) => publicKey), 'ab'.repeat(32)]),
    secondPublicKeys: texts(accounts.map(({ secondPublicKey }) => secondPublicKey)),
    usernames: texts([...accounts.map(({ delegate }) => delegate?.username), 'nobody']),
    blockIds: texts(blocks.map(({ id }) => id)),
    transactionIds: texts([...all, ...pending].map(({ id }) => id)),
    heights: texts([1, 2, ...blocks.map(({ height }) => height), 5000]),
    timestamps: texts([0, 1, ...blocks.map(({ timestamp }) => timestamp)]),
    amounts: texts([0, 1, ...all.map(({ amount, asset }) => amount ?? asset.amount)]),
    types: texts([0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 99]),
    data: ['a grüezi', '%gr%', 'a%', 'nothing', '_ gr%'],
  };
}
