/** Uses a client library of each generation as an application does, with a devnet of real processes. */

import { isDeepStrictEqual } from 'node:util';
import type { ExecutionContext } from 'ava';
import { readAccounts, type KnownAccount } from '../../src/cli/genesis/accounts-file.ts';
import { closeAfter, startTestDevnet, waitFor, type TestDevnet } from '../support/devnet.ts';
import type { Untyped } from '../support/untyped.ts';
import { callEveryMethod } from './every-method.ts';

/** The client libraries of a generation. */
export interface ClientLibrary {
  /** Name of the packaged devnet. */
  readonly network: string;
  readonly APIClient: Untyped;
  /** The functions that create transactions. */
  readonly transactions: Untyped;
  /**
   * Arguments that the test passes to each function that creates a transaction, in addition to the function's other
   * arguments.
   */
  commonArguments(devnet: TestDevnet): Record<string, unknown>;
  createSignatureObject(transaction: Untyped, passphrase: string, common: Record<string, unknown>): Untyped;
  /** Checks the node constants that differ between the generations. */
  checkConstants(t: ExecutionContext, constants: Untyped, devnet: TestDevnet): void;
  amountOf(transaction: Untyped): string;
  checkDelegate(t: ExecutionContext, delegate: Untyped, votersBalance: string): void;
}

const SECOND_PASSPHRASE = 'a second passphrase';
const INCLUSION_MS = 150_000;
const LSK = 100_000_000n;

/** One client for each node of a devnet. Each transaction goes to the next node in turn. */
class Wallet {
  readonly library: ClientLibrary;
  readonly common: Record<string, unknown>;
  readonly clients: readonly Untyped[];
  readonly sent: string[] = [];
  #turn = 0;

  constructor(devnet: TestDevnet, library: ClientLibrary) {
    this.library = library;
    this.common = library.commonArguments(devnet);
    this.clients = devnet.nodes.map((node) => new library.APIClient([node.url]));
  }

  nextClient(): Untyped {
    return this.clients[this.#turn++ % this.clients.length];
  }

  /** Posts the transaction to the next node and waits until every node has it in a block. */
  async include(transaction: Untyped): Promise<void> {
    await this.nextClient().transactions.broadcast(transaction);
    await this.included(transaction.id);
  }

  async included(id: string): Promise<void> {
    this.sent.push(id);
    for (const client of this.clients) {
      await waitFor(
        `transaction ${id} in a block`,
        async () => (await client.transactions.get({ id })).data.length === 1,
        INCLUSION_MS,
      );
    }
  }
}

/**
 * Sends each transfer, registration and vote to the next node in turn. Then compares the balances, blocks, votes and
 * other data that all nodes report, and calls every method of the library on one node.
 */
export async function sendAndCompare(t: ExecutionContext, library: ClientLibrary): Promise<void> {
  t.timeout(900_000);
  const devnet = await startTestDevnet({ nodes: 4, network: library.network });
  closeAfter(t, devnet);
  const wallet = new Wallet(devnet, library);
  const { common } = wallet;
  const { transactions } = library;
  const accounts = readAccounts(devnet.network.directory);
  const named = (name: string): KnownAccount => {
    const account = accounts.find((each) => each.name === name);
    if (account === undefined) throw new Error(`no account ${name}`);
    return account;
  };
  const [alice, bob, carol, dave, erin] = [1, 2, 3, 4, 5].map((index) => named(`account_${index}`)) as [
    KnownAccount,
    KnownAccount,
    KnownAccount,
    KnownAccount,
    KnownAccount,
  ];
  const constants = await wallet.nextClient().node.getConstants();
  library.checkConstants(t, constants.data, devnet);

  const transfer = transactions.transfer({
    amount: `${5n * LSK}`,
    recipientId: bob.address,
    data: 'a grüezi',
    passphrase: alice.passphrase,
    ...common,
  });
  await wallet.include(transfer);
  const [read] = (await wallet.nextClient().transactions.get({ id: transfer.id })).data;
  t.is(read.asset.data, 'a grüezi');
  t.is(library.amountOf(read), `${5n * LSK}`);
  t.is(read.signature, transfer.signature);

  // Register a second passphrase, and send a transfer that needs it.
  const { passphrase } = alice;
  await wallet.include(
    transactions.registerSecondPassphrase({ passphrase, secondPassphrase: SECOND_PASSPHRASE, ...common }),
  );
  const toBob = { amount: `${2n * LSK}`, recipientId: bob.address, passphrase, ...common };
  await wallet.include(transactions.transfer({ ...toBob, secondPassphrase: SECOND_PASSPHRASE }));
  const refused = await t.throwsAsync<Untyped>(
    wallet.nextClient().transactions.broadcast(transactions.transfer(toBob)),
  );
  t.is(refused.errno ?? refused.status ?? 409, 409);

  // Register a delegate, vote for this delegate and another one, and withdraw the second vote.
  const registration = transactions.registerDelegate({
    username: 'newcomer',
    passphrase: carol.passphrase,
    ...common,
  });
  await wallet.include(registration);
  const firstDelegate = named('genesis_1').publicKey;
  const vote = { passphrase: dave.passphrase, ...common };
  await wallet.include(transactions.castVotes({ ...vote, votes: [carol.publicKey, firstDelegate] }));
  await wallet.include(transactions.castVotes({ ...vote, unvotes: [firstDelegate] }));

  // Register a group with two members for the account of erin, and send a transfer from this account. The signatures go
  // to different nodes.
  const members = [bob, dave];
  const group = transactions.registerMultisignature({
    passphrase: erin.passphrase,
    keysgroup: members.map(({ publicKey }) => publicKey),
    lifetime: 24,
    minimum: 2,
    ...common,
  });
  await includeWithSignatures(wallet, group, members);
  const fromGroup = transactions.transfer({
    amount: `${LSK}`,
    recipientId: alice.address,
    passphrase: erin.passphrase,
    ...common,
  });
  await includeWithSignatures(wallet, fromGroup, members);

  // All nodes must report the same chain. The test waits, because a node may have the transactions in blocks of another
  // branch until it changes to the branch of the other nodes.
  let stories: readonly Untyped[] = [];
  const isAgreed = async (): Promise<boolean> => {
    stories = await Promise.all(
      wallet.clients.map((client) => storyOf(client, [alice, bob, carol, dave, erin], wallet.sent)),
    );
    return stories.every((story) => isDeepStrictEqual(story, stories[0]));
  };
  // If the answers still differ after the time limit, the comparison below reports the differences.
  await waitFor('one story', isAgreed, INCLUSION_MS).catch((error: unknown) => t.log(String(error)));
  for (const story of stories.slice(1)) t.deepEqual(story, stories[0]);
  const [story] = stories as [Untyped];
  const start = 100_000n * LSK;
  t.is(BigInt(story.balances[bob.address]), start + 7n * LSK);
  t.is(BigInt(story.balances[alice.address]), start - 5n * LSK - 2n * LSK - 52n * (LSK / 10n) + LSK);
  t.is(BigInt(story.balances[carol.address]), start - 25n * LSK);
  t.is(BigInt(story.balances[dave.address]), start - 2n * LSK);
  t.is(BigInt(story.balances[erin.address]), start - 15n * LSK - LSK / 10n - LSK);
  t.deepEqual(story.votes, ['newcomer']);
  library.checkDelegate(t, story.delegate, story.balances[dave.address]);
  t.is(story.group.min, 2);

  await callEveryMethod(t, {
    devnet,
    clients: wallet.clients,
    transfer,
    groupOwner: erin,
    members,
    voter: dave,
    transferFromGroup: () =>
      transactions.transfer({ amount: '1', recipientId: bob.address, passphrase: erin.passphrase, ...common }),
    signatureOf: (transaction, member) => library.createSignatureObject(transaction, member.passphrase, common),
  });
}

/** Posts a transaction of a group to one node, and the signature of each member to the next node in turn. */
async function includeWithSignatures(
  wallet: Wallet,
  transaction: Untyped,
  members: readonly KnownAccount[],
): Promise<void> {
  await wallet.nextClient().transactions.broadcast(transaction);
  for (const { passphrase } of members) {
    const signature = wallet.library.createSignatureObject(transaction, passphrase, wallet.common);
    const client = wallet.nextClient();
    // A node refuses a signature until the node has received the transaction.
    await waitFor('a node that knows the transaction', () => client.signatures.broadcast(signature), INCLUSION_MS);
  }
  await wallet.included(transaction.id);
}

async function storyOf(client: Untyped, accounts: readonly KnownAccount[], ids: readonly string[]): Promise<Untyped> {
  const balances: Record<string, string> = {};
  for (const { address } of accounts) balances[address] = (await client.accounts.get({ address })).data[0].balance;
  const blocks = await Promise.all(
    ids.map(async (id) => {
      const [transaction] = (await client.transactions.get({ id })).data;
      return [transaction.id, transaction.blockId, transaction.height, transaction.signatures];
    }),
  );
  const voter = accounts[3]?.address;
  const votes = (await client.votes.get({ address: voter })).data.votes.map((vote: Untyped) => vote.username);
  const [delegate] = (await client.delegates.get({ username: 'newcomer' })).data;
  const [group] = (await client.accounts.getMultisignatureGroups(accounts[4]?.address)).data;
  return { balances, blocks, votes, delegate, group };
}
