/** Tests the operations of a devnet that the dashboard requests. */

import test from 'ava';
import type { ControlOperation } from '../../src/cli/devnet/control-server.ts';
import type { AgentEvent } from '../../src/cli/devnet/messages.ts';
import { PageControls, performForPage } from '../../src/cli/devnet/page-controls.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';

function operations(): { readonly asked: string[]; readonly all: ReadonlyMap<string, ControlOperation> } {
  const asked: string[] = [];
  const names = ['list', 'kill', 'stop', 'revert', 'snapshot', 'impersonate', 'mine'];
  const operation = (name: string): ControlOperation => {
    return (parameters) => {
      asked.push(name);
      return name === 'mine' ? Promise.reject(new ProtocolError('USAGE', {}, 'no')) : Promise.resolve(parameters);
    };
  };
  return { asked, all: new Map(names.map((name) => [name, operation(name)])) };
}

test('the dashboard gets no operation that ends the devnet, writes to the disk or changes keys', async (t) => {
  const { asked, all } = operations();
  for (const operation of ['stop', 'revert', 'snapshot', 'impersonate', 'odd', '__proto__'])
    t.like(await performForPage(all, { operation, parameters: {} }, 0), { error: { code: 'CONTROL_UNKNOWN' } });
  t.deepEqual(asked, []);
});

test('a page cannot kill the node that serves it', async (t) => {
  const { all } = operations();
  const kill = (node: number) => performForPage(all, { operation: 'kill', parameters: { node } }, 1);
  t.like(await kill(1), { error: { code: 'CONTROL_OWN_NODE' } });
  t.deepEqual(await kill(2), { result: { node: 2 } });
});

test('the refusal of an operation reaches the page', async (t) => {
  const outcome = await performForPage(operations().all, { operation: 'mine', parameters: {} }, 0);
  t.deepEqual(outcome, { error: { code: 'USAGE', message: 'no' } });
});

test('a node has a limited number of pending operations, each with a number and a time-out', async (t) => {
  const sent: AgentEvent[] = [];
  const controls = new PageControls((event) => sent.push(event), 50);
  const mined = controls.ask('mine', { slots: 1 });
  t.deepEqual(sent, [{ event: 'operation', number: 1, operation: 'mine', parameters: { slots: 1 } }]);
  controls.ended(7, { result: {} });
  controls.ended(1, { result: { height: 5 } });
  t.deepEqual(await mined, { height: 5 });
  const refused = controls.ask('mine', {});
  controls.ended(2, { error: { code: 'USAGE', message: 'no' } });
  t.is((await t.throwsAsync<ProtocolError>(refused, { instanceOf: ProtocolError })).code, 'USAGE');
  const waiting = Array.from({ length: 16 }, () => controls.ask('mine', {}));
  const late = Promise.allSettled(waiting);
  t.is((await t.throwsAsync<ProtocolError>(controls.ask('mine', {}))).code, 'DEVNET_BUSY');
  const ends = await late;
  const codes = new Set(ends.map((end) => (end.status === 'rejected' ? (end.reason as ProtocolError).code : '')));
  t.deepEqual([...codes], ['DEVNET_STILL_WORKING']);
  controls.ended(3, { result: {} });
});
