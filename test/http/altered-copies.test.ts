import test from 'ava';
import { openMemoryChainStore } from '../../src/store/chain/open.ts';
import { ChainMaker, makeNetwork } from '../support/chain-maker.ts';
import { idleNode } from '../support/idle-node.ts';
import type { Untyped } from '../support/untyped.ts';

async function waiting(generation: 2 | 3) {
  const maker = new ChainMaker(makeNetwork({ generation, blockTimeS: 10 }));
  const { network, rules } = maker;
  const chain = openMemoryChainStore({ codec: rules.codec, params: network.params });
  const nowMs = () => network.params.epochMs + (maker.tip.timestamp + 20) * 1000;
  const identity = { version: '1.0.0', protocolVersion: '2.0' };
  const api = idleNode({ chain, rules, genesis: network.genesis, identity, nowMs });
  const transfer = maker.transfer(network.accounts[0]!, network.accounts[1]!, 5n);
  const json = api.transactionJson(transfer) as Untyped;
  const result = await api.submitTransaction(json);
  const messages = async (copy: object): Promise<readonly string[]> => {
    const refusal = await api.submitTransaction(copy);
    return refusal.accepted ? [] : refusal.errors.map(({ message }) => message);
  };
  return { json, accepted: result.accepted, messages, api, maker };
}

test('generation 2 names the fault of an altered copy of a waiting transaction', async (t) => {
  const { json, accepted, messages } = await waiting(2);
  t.true(accepted);
  t.deepEqual(await messages(json), [`Transaction is already processed: ${json.id}`]);
  const [signature, id] = await messages({ ...json, amount: '6' });
  t.is(signature, `Failed to validate signature ${json.signature}`);
  t.is(id, 'Invalid transaction id');
  const other = `${json.signature.startsWith('0') ? '1' : '0'}${json.signature.slice(1)}`;
  t.is((await messages({ ...json, signature: other }))[0], `Failed to validate signature ${other}`);
  t.is((await messages({ ...json, fee: '1' }))[0], 'Invalid fee');
});

test('generation 3 computes the id, so an altered copy is another transaction', async (t) => {
  const { json, accepted, messages } = await waiting(3);
  t.true(accepted);
  t.deepEqual(await messages(json), [`Transaction is already processed: ${json.id}`]);
  const altered = { ...json, asset: { ...json.asset, amount: '6' } };
  t.deepEqual(await messages(altered), [`Failed to validate signature ${json.signature}`]);
});
