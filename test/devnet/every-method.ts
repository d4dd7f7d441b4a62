import type { ExecutionContext } from 'ava';
import type { KnownAccount } from '../../src/cli/genesis/accounts-file.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { waitFor, type TestDevnet } from '../support/devnet.ts';
import type { Untyped } from '../support/untyped.ts';

/** A running devnet, and what its chain contains before the methods are called. */
export interface MethodFixture {
  readonly devnet: TestDevnet;
  /** Clients of all nodes, in the order of the nodes. */
  readonly clients: readonly Untyped[];
  /** A transfer that a block contains. */
  readonly transfer: Untyped;
  /** Account of a multisignature group. All of `members` must sign its transactions. */
  readonly groupOwner: KnownAccount;
  readonly members: readonly KnownAccount[];
  /** The only account that votes for the delegate `newcomer`. The account votes for no other delegate. */
  readonly voter: KnownAccount;
  /** Creates a transfer from the account of the group, without signatures of the members. */
  readonly transferFromGroup: () => Untyped;
  readonly signatureOf: (transaction: Untyped, member: KnownAccount) => Untyped;
}

const NODE_MS = 150_000;

/** Calls every method of a client library on node 0 and compares the answers with the state of the devnet. */
export async function callEveryMethod(t: ExecutionContext, fixture: MethodFixture): Promise<void> {
  const { devnet, clients, transfer, groupOwner, members, voter } = fixture;
  const [client, other] = clients as [Untyped, Untyped];
  const { plan } = devnet.nodes[0]!;
  const called = new Set<string>();
  const call = async (name: string, ...args: readonly unknown[]): Promise<Untyped> => {
    called.add(name);
    const [resource = '', method = ''] = name.split('.');
    return client[resource][method](...args);
  };
  const listOf = async (name: string, ...args: readonly unknown[]): Promise<Untyped[]> =>
    (await call(name, ...args)).data;

  const [account] = await listOf('accounts.get', { address: voter.address });
  t.is(account.publicKey, voter.publicKey);
  const [group] = await listOf('accounts.getMultisignatureGroups', groupOwner.address);
  t.deepEqual(addressesOf(group.members), addressesOf(members));
  const memberships = await listOf('accounts.getMultisignatureMemberships', members[0]?.address);
  t.deepEqual(addressesOf(memberships), [groupOwner.address]);

  const [included] = await listOf('transactions.get', { id: transfer.id });
  const [block] = await listOf('blocks.get', { height: included.height });
  t.is(block.id, included.blockId);
  t.true(block.numberOfTransactions >= 1);
  t.deepEqual(await listOf('dapps.get', {}), []);

  const [newcomer] = await listOf('delegates.get', { username: 'newcomer' });
  t.is(newcomer.username, 'newcomer');
  // The chain has 102 delegates, of which 101 forge. The delegate with the fewest votes is in standby.
  t.is((await listOf('delegates.getStandby', {})).length, 1);
  const forgers = await listOf('delegates.getForgers', { limit: 100 });
  t.is(new Set(forgers.map(({ publicKey }) => publicKey)).size, 100);
  const slots = forgers.map(({ nextSlot }) => Number(nextSlot));
  t.deepEqual(
    slots,
    slots.map((_, index) => slots[0]! + index),
  );
  const generator = addressOf(block.generatorPublicKey);
  t.true(Number((await call('delegates.getForgingStatistics', generator, {})).data.count) >= 1);
  t.deepEqual(addressesOf((await call('voters.get', { username: 'newcomer' })).data.voters), [voter.address]);
  t.is((await call('votes.get', { address: voter.address })).data.votesUsed, 1);

  t.is((await call('node.getConstants')).data.nethash, devnet.network.params.nethash);
  t.true((await call('node.getStatus')).data.height >= included.height);
  const others = devnet.nodes.slice(1).map((node) => node.plan.wsPort);
  await waitFor(
    'all other nodes as peers',
    async () => {
      const peers = await listOf('peers.get', { state: 2 });
      return others.every((port) => peers.some(({ wsPort }) => wsPort === port));
    },
    NODE_MS,
  );

  const own = plan.delegates.map(({ publicKey }) => publicKey).sort();
  // The test filters the answer, because the API of generation 2 has no parameter `forging`.
  const forging = async (): Promise<readonly string[]> =>
    (await listOf('node.getForgingStatus', {}))
      .filter((delegate) => delegate.forging)
      .map(({ publicKey }) => publicKey)
      .sort();
  t.deepEqual(await forging(), own);
  const change = { publicKey: own[0], password: devnet.network.forgers?.defaultPassword };
  for (const isOn of [false, true]) {
    const changed = await listOf('node.updateForgingStatus', { ...change, forging: isOn });
    t.like(changed[0], { publicKey: own[0], forging: isOn });
    t.deepEqual(await forging(), isOn ? own : own.slice(1));
  }
  await t.throwsAsync(call('node.updateForgingStatus', { ...change, password: 'wrong', forging: false }));

  const fromGroup = fixture.transferFromGroup();
  t.is((await call('transactions.broadcast', fromGroup)).data.message, 'Transaction(s) accepted');
  const isPending = async () =>
    (await listOf('node.getTransactions', 'pending', { id: fromGroup.id })).some(({ id }) => id === fromGroup.id);
  await waitFor('the transaction to wait for its members', isPending, NODE_MS);
  for (const member of members) {
    const answer = await call('signatures.broadcast', fixture.signatureOf(fromGroup, member));
    t.is(answer.data.message, 'Signature Accepted');
  }
  const isIncluded = async () => (await other.transactions.get({ id: fromGroup.id })).data.length === 1;
  await waitFor('the transaction of the group in a block of another node', isIncluded, NODE_MS);

  t.deepEqual([...called].sort(), methodsOf(client));
}

function addressesOf(accounts: readonly { readonly address: string }[]): readonly string[] {
  return accounts.map(({ address }) => address).sort();
}

/**
 * Names of all methods of the library, as `resource.method`. The library stores the methods of a resource as own
 * properties.
 */
function methodsOf(client: Untyped): readonly string[] {
  return Object.entries<Untyped>(client)
    .filter(([, resource]) => typeof resource?.path === 'string')
    .flatMap(([name, resource]) =>
      Object.entries(resource)
        .filter(([, value]) => typeof value === 'function')
        .map(([method]) => `${name}.${method}`),
    )
    .sort();
}
