import { createRequire } from 'node:module';
import test from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import { openMemoryChainStore } from '../../src/store/chain/open.ts';
import { addressOfPair, ChainMaker, makeNetwork, publicKeyOf } from '../support/chain-maker.ts';
import { idleNode } from '../support/idle-node.ts';
import type { Untyped } from '../support/untyped.ts';

const load = createRequire(import.meta.url);

/** Serves a node with only the genesis block. */
async function nodeFor(generation: 2 | 3) {
  const maker = new ChainMaker(makeNetwork({ generation, blockTimeS: 10 }));
  const { network, rules } = maker;
  const chain = openMemoryChainStore({ codec: rules.codec, params: network.params });
  const nowMs = () => network.params.epochMs + (maker.tip.timestamp + 20) * 1000;
  const identity = { version: '1.0.0', protocolVersion: '2.0' };
  const api = idleNode({ chain, rules, genesis: network.genesis, identity, nowMs });
  const server = createHttpServer(api, { port: 0, address: '127.0.0.1' });
  const { port } = await server.start();
  return { maker, api, server, origin: `http://127.0.0.1:${port}` };
}

for (const generation of [2, 3] as const) {
  test(`each method of the client library of generation ${generation} gets the expected answer`, async (t) => {
    const { maker, api, server, origin } = await nodeFor(generation);
    t.teardown(() => server.close());
    const { APIClient } = load(`lisk-api-client-${generation}`);
    const client = new APIClient([origin]);
    const [delegate, sender, recipient] = [
      maker.network.delegates[0]!,
      maker.network.accounts[0]!,
      maker.network.accounts[1]!,
    ];
    const address = addressOfPair(delegate);
    const lists: readonly (readonly [string, () => Promise<Untyped>, number])[] = [
      ['accounts.get', () => client.accounts.get({ limit: 5 }), 5],
      ['memberships', () => client.accounts.getMultisignatureMemberships(address), 0],
      ['blocks.get', () => client.blocks.get({ height: 1 }), 1],
      ['dapps.get', () => client.dapps.get({}), 0],
      ['delegates.get', () => client.delegates.get({ limit: 101 }), 101],
      ['delegates.getStandby', () => client.delegates.getStandby({}), 0],
      ['delegates.getForgers', () => client.delegates.getForgers({ limit: 3 }), 3],
      ['node.getForgingStatus', () => client.node.getForgingStatus({}), 0],
      ['node.getTransactions', () => client.node.getTransactions('verified', {}), 0],
      ['peers.get', () => client.peers.get({}), 0],
      ['transactions.get', () => client.transactions.get({ limit: 4 }), 4],
    ];
    for (const [name, ask, length] of lists) {
      const { data, links } = await ask();
      t.is(data.length, length, name);
      t.deepEqual(links, {}, name);
    }
    t.is((await client.voters.get({ address })).data.votes, 1);
    t.is((await client.votes.get({ address: addressOfPair(maker.network.funder) })).data.votesUsed, 101);
    t.is((await client.delegates.getForgingStatistics(address, {})).data.count, '0');
    t.is((await client.node.getConstants()).data.networkId, maker.network.params.networkIdentifier);
    t.is((await client.node.getStatus()).data.height, 1);
    const groups = await t.throwsAsync(client.accounts.getMultisignatureGroups(address));
    t.is(groups?.message, 'Multisignature account not found');
    const switched = await t.throwsAsync(
      client.node.updateForgingStatus({ publicKey: publicKeyOf(delegate), password: 'elephant', forging: true }),
    );
    t.regex(switched?.message ?? '', /not found$/);
    const signed = await t.throwsAsync(
      client.signatures.broadcast({ transactionId: '1', publicKey: publicKeyOf(delegate), signature: 'ab'.repeat(64) }),
    );
    t.is(signed?.message, 'Error processing signature');
    const accepted = await client.transactions.broadcast(api.transactionJson(maker.transfer(sender, recipient, 5n)));
    t.is(accepted.data.message, 'Transaction(s) accepted');
    t.is((await client.node.getTransactions('verified', {})).data.length, 1);
  });

  test(`a second signature registered by passphrase is accepted by the pool of generation ${generation}`, async (t) => {
    const { server, origin, api } = await nodeFor(generation);
    t.teardown(() => server.close());
    const put = async (body: object) => {
      const init = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      return (await (await fetch(`${origin}/api/signatures`, init)).json()) as Untyped;
    };
    const body = { secret: 'account 1', secondsecret: 'another passphrase' };
    const { success, transaction, error } = await put(body);
    t.is(error, undefined);
    t.true(success);
    t.is(transaction.type, generation === 2 ? 1 : 9);
    t.is(api.poolEntries('verified')[0]?.transaction.id, transaction.id);
    t.is((await put(body)).error, 'Account already has a second passphrase');
    t.regex(
      (await put({ ...body, secret: 'somebody without funds' })).error,
      /^Account does not have enough LSK: [0-9]+L balance: 0$/,
    );
  });
}
