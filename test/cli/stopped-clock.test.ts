import { setImmediate as nextIteration } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { NO_PAYER } from '../../src/engine/pool/verification-budget.ts';
import { submittedInTime } from '../../src/node/submitted-in-time.ts';
import type { SubmitResult } from '../../src/ports/node-api.ts';
import { LSK } from '../support/chain-maker.ts';
import { begunDevnet, FUNDER } from './timekeeper-devnet.ts';

/**
 * Stops the clock of a node. Then sends a transaction to this node. The timestamp of the transaction is in the slot
 * directly after the slot in which the clock was stopped.
 */
async function sendInNextSlot(t: ExecutionContext, isBrief?: true) {
  const { nodes, accounts, machine, timekeeper, network } = await begunDevnet(t, { nodes: 1 });
  const { agent, engine } = nodes[0]!;
  const setting = { kind: 'frozen', atMs: timekeeper.nowMs() } as const;
  await agent.handle({ op: 'set', setting, isHeld: true, ...(isBrief === undefined ? {} : { isBrief }) });
  machine.nowMs += network.params.blockTimeS * 1000;
  const { json } = accounts.transfer(FUNDER, '77L', LSK);
  const answers: SubmitResult[] = [];
  const waits: (() => void)[] = [];
  const closing = new AbortController();
  const answered = submittedInTime(() => engine.accepted.submit(json, NO_PAYER), {
    clockMoved: () => agent.clockMoved(),
    clock: {
      after: (_delayMs, work) => {
        waits.push(work);
        return { cancel: () => void waits.pop() };
      },
    },
    closing: closing.signal,
  }).then((result) => void answers.push(result));
  await nextIteration();
  const release = () => agent.handle({ op: 'set', setting: timekeeper.setting, isHeld: true });
  return { answers, answered, release, waits, closing };
}

function codeOf(answer: SubmitResult | undefined): string | undefined {
  return answer?.accepted === false ? answer.code : undefined;
}

test('a transaction with a time after a clock that stands for a moment waits, and is accepted', async (t) => {
  const { answers, answered, release, waits } = await sendInNextSlot(t, true);
  t.deepEqual(answers, []);
  await release();
  await answered;
  t.is(answers[0]?.accepted, true);
  t.deepEqual(waits, [], 'no timer is left');
});

for (const [end, run] of [
  ['the time limit', ({ waits }) => waits.at(-1)?.()],
  ['the end of the node', ({ closing }) => closing.abort()],
] as const satisfies readonly (readonly [string, (sent: Awaited<ReturnType<typeof sendInNextSlot>>) => void])[]) {
  test(`${end} ends the wait of a transaction with the refusal`, async (t) => {
    const sent = await sendInNextSlot(t, true);
    t.deepEqual(sent.answers, []);
    run(sent);
    await sent.answered;
    t.is(codeOf(sent.answers[0]), 'TRANSACTION_IN_FUTURE');
    await sent.release();
    t.is(sent.answers.length, 1);
  });
}

test('a transaction with a time after a clock that the user has stopped is refused at once', async (t) => {
  const { answers } = await sendInNextSlot(t);
  t.is(codeOf(answers[0]), 'TRANSACTION_IN_FUTURE');
});

test('a transaction of the far future is refused after a few moves of the clock', async (t) => {
  let attempts = 0;
  const refused = { accepted: false, code: 'TRANSACTION_IN_FUTURE', message: '', errors: [] } as const;
  const submit = (): Promise<SubmitResult> => {
    attempts += 1;
    return Promise.resolve(refused);
  };
  const time = {
    clockMoved: () => Promise.resolve(),
    clock: { after: () => ({ cancel: () => undefined }) },
    closing: new AbortController().signal,
  };
  t.is(await submittedInTime(submit, time), refused);
  t.is(attempts, 5);
});

test('the clock counts as stopped for a moment while a slot is mined or a snapshot is made, and not after that', async (t) => {
  const { nodes, timekeeper } = await begunDevnet(t, { nodes: 1 });
  const { agent, engine } = nodes[0]!;
  const seen: boolean[] = [];
  engine.chain.listen({ applied: () => void seen.push(agent.clockMoved() !== undefined) });
  await timekeeper.mine(1);
  t.is(agent.clockMoved(), undefined);
  await timekeeper.whileFrozen(() => {
    seen.push(agent.clockMoved() !== undefined);
    return Promise.resolve({ result: undefined });
  });
  t.is(agent.clockMoved(), undefined);
  t.deepEqual(seen, [true, true]);
});

test('a transfer that the user of a devnet sends is not sent while a slot is mined', async (t) => {
  const { timekeeper, accounts, nodes } = await begunDevnet(t, { nodes: 1 });
  const isStopped: boolean[] = [];
  const { engine, agent } = nodes[0]!;
  engine.listenToTransactions(() => void isStopped.push(agent.clockMoved() !== undefined));
  const mined = timekeeper.mine(3);
  await accounts.send({ from: FUNDER.name, address: '77L', amount: LSK.toString(), data: '' });
  await mined;
  t.deepEqual(isStopped, [false]);
});
