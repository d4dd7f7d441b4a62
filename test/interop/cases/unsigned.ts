/**
 * (g) A real node (of lisk-sdk) and one of ours share the delegates. Both nodes get transactions that no wallet
 * creates. In generation 3, one transaction registers a delegate, and its asset contains a member `amount` that no
 * signature covers. In both generations, one transaction registers a multisignature group whose list of keys contains
 * the public key of one member twice, in lower case and in upper case. Another transaction registers a group with the
 * key of its only member in upper case, and this member sends a transfer at the same time. Each node must forge
 * transactions of each kind, and the other node must accept the blocks with them.
 */

import type { KnownAccount } from '../../../src/cli/genesis/accounts-file.ts';
import { hexOf } from '../../../src/primitives/bytes.ts';
import { addressOf, keyPairOfPassphrase } from '../../../src/crypto/keys.ts';
import type { Untyped } from '../../support/untyped.ts';
import { answerOf, ask } from '../http.ts';
import { makeNode, type InteropNode } from '../nodes.ts';
import { eventually, untilCommonBlock, untilHeight } from '../waiting.ts';
import { Wallet } from '../wallet.ts';
import type { World } from '../world.ts';

const LSK = 100_000_000n;
const MET_HEIGHT = 6;
const MET_MS_MAX = 120_000;
/**
 * The test repeats its transactions until each node has forged each kind, but at most this number of times. At each
 * repetition, both nodes are about equally likely to forge the transaction of a kind. The probability that one of the
 * two nodes forges no transaction of a given kind in all repetitions is about two in a million.
 */
const ROUNDS_MAX = 20;

export async function unsigned(world: World): Promise<string> {
  const { delegates } = world;
  const half = Math.ceil(delegates.length / 2);
  const real = await makeNode(world, 'real');
  const ours = await makeNode(world, 'ours');
  await real.start({ delegates: delegates.slice(0, half), force: true });
  await ours.start({ delegates: delegates.slice(half), peers: [real.address], force: true });
  const nodes = [real, ours];
  await untilHeight(real, MET_HEIGHT, MET_MS_MAX);
  await untilCommonBlock(nodes, MET_HEIGHT, MET_MS_MAX);

  const wallet = new Wallet(world, nodes);
  const forgedBy = new Map<string, Set<string>>();
  let sent = 0;
  for (let round = 0; round < ROUNDS_MAX && !isWhole(forgedBy); round += 1) {
    const odd = await oddTransactions(world, wallet, round);
    // The wallet sends the transactions to the two nodes in turn. The node that gets a transaction from the wallet is
    // usually also the node that includes the transaction in a block. At every second repetition, the test reverses the
    // order of the transactions, so that both nodes get transactions of each kind.
    await wallet.include(round % 2 === 0 ? [...odd.values()] : [...odd.values()].reverse());
    sent += odd.size;
    for (const [kind, { id }] of odd) await recordSent(forgedBy, kind, id, nodes, half);
  }
  if (!isWhole(forgedBy)) throw new Error(`not forged by both kinds after ${sent} transactions: ${textOf(forgedBy)}`);
  if (world.generation === 3) sent += await countOnlyRealNodesAccept(wallet, real, ours);
  const { height } = await ask(real.url, 'node/status').then(({ data }) => data as { height: number });
  await untilCommonBlock(nodes, height, MET_MS_MAX);
  return `Both nodes have blocks with all ${sent} transactions. Each kind that both pools accept was forged by both nodes.`;

  function isWhole(seen: ReadonlyMap<string, ReadonlySet<string>>): boolean {
    return seen.size > 0 && [...seen.values()].every((kinds) => kinds.size === 2);
  }
}

/**
 * Sends three transactions that our pool refuses, but that real nodes (of lisk-sdk) include in blocks. The asset of two
 * of these transactions contains a member `amount` that no signature covers. A real node adds these amounts to the
 * total amount of the block, and can store no total amount above 2^63 - 1. The test therefore uses two very large
 * amounts whose sum is zero. The asset of the third transaction contains a deeply nested value. Our node must accept
 * the blocks with these transactions.
 */
async function countOnlyRealNodesAccept(wallet: Wallet, real: InteropNode, ours: InteropNode): Promise<number> {
  const rich = wallet.account('account_1');
  const people = ['plus', 'minus', 'deep'].map((name) => personOf(`${name} of the end`));
  await wallet.include(people.map((each) => wallet.transfer(rich, each, 60n * LSK)));
  const members: readonly Untyped[] = [{ amount: '1e1001' }, { amount: '-1e1001' }, { note: nested(1_000) }];
  const odd = people.map(({ passphrase }, index) => {
    const registration = wallet.make('registerSecondPassphrase', { passphrase, secondPassphrase: 'another' });
    return { ...registration, asset: { ...registration.asset, ...members[index] } };
  });
  for (const body of odd) {
    const { status, body: answer } = await answerOf(real.url, 'transactions', { method: 'POST', body });
    if (status !== 200) throw new Error(`the real node refused it: ${JSON.stringify(answer)}`);
  }
  for (const { id } of odd) {
    await eventually(`transaction ${id} is in a block of ours`, MET_MS_MAX, async () => {
      const { data } = await ask(ours.url, `transactions?id=${id}`);
      return (data as readonly unknown[]).length === 1;
    });
  }
  return odd.length;
}

function nested(levels: number): Untyped {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

async function oddTransactions(world: World, wallet: Wallet, round: number): Promise<Map<string, Untyped>> {
  const somebody = (name: string): KnownAccount => personOf(`${name} of round ${round}`);
  const [amounts, twice, shouted, member] = ['amounts', 'twice', 'shouted', 'member'].map(somebody) as [
    KnownAccount,
    KnownAccount,
    KnownAccount,
    KnownAccount,
  ];
  const rich = wallet.account('account_1');
  await wallet.include([amounts, twice, shouted, member].map((each) => wallet.transfer(rich, each, 60n * LSK)));

  const odd = new Map<string, Untyped>();
  if (world.generation === 3) {
    const registration = wallet.make('registerDelegate', {
      passphrase: amounts.passphrase,
      username: `odd_${round}`,
    });
    registration.asset = { ...registration.asset, amount: '7', note: { written: ['by', null, 1.5] } };
    odd.set('an amount that nobody signed', registration);
  }
  const other = personOf('a member of many groups').publicKey;
  const group = groupOf(wallet, twice, [other, other.toUpperCase()]);
  const signature = wallet.signature(group, 'a member of many groups').signature as string;
  odd.set('a member in two letter cases', { ...group, signatures: [signature, signature.toUpperCase()] });
  const capitals = groupOf(wallet, shouted, [member.publicKey.toUpperCase()]);
  const own = wallet.signature(capitals, member.passphrase).signature as string;
  odd.set('a member in capitals', { ...capitals, signatures: [own] });
  odd.set('what a member in capitals sends', wallet.transfer(member, rich, LSK));
  return odd;
}

function groupOf(wallet: Wallet, { passphrase }: KnownAccount, keysgroup: readonly string[]): Untyped {
  return wallet.make('registerMultisignature', { passphrase, keysgroup, lifetime: 24, minimum: 1 });
}

/**
 * Records in `forgedBy` whether the real node or our node forged the block that contains a transaction.
 *
 * @param half number of delegates that the real node has
 */
async function recordSent(
  forgedBy: Map<string, Set<string>>,
  kind: string,
  id: string,
  [real]: readonly InteropNode[],
  half: number,
): Promise<void> {
  const url = real?.url ?? '';
  const [transaction] = (await ask(url, `transactions?id=${id}`)).data as readonly { blockId: string }[];
  const [block] = (await ask(url, `blocks?blockId=${transaction?.blockId}`)).data as readonly Untyped[];
  const { data } = await ask(url, `node/status/forging?forging=true&limit=${half}`);
  const isReal = (data as readonly { publicKey: string }[]).some(
    ({ publicKey }) => publicKey === block?.generatorPublicKey,
  );
  const kinds = forgedBy.get(kind) ?? new Set();
  forgedBy.set(kind, kinds.add(isReal ? 'real' : 'ours'));
}

function textOf(forgedBy: ReadonlyMap<string, ReadonlySet<string>>): string {
  return [...forgedBy].map(([kind, kinds]) => `${kind} by ${[...kinds].join(' and ')}`).join(', ');
}

function personOf(passphrase: string): KnownAccount {
  const publicKey = hexOf(keyPairOfPassphrase(passphrase).publicKey);
  return { name: passphrase, passphrase, publicKey, address: addressOf(publicKey) };
}
