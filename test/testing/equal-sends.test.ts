import test from 'ava';
import { startDevnet } from '../../src/testing/index.ts';

test('equal transfers are different transactions', async (t) => {
  const net = await startDevnet({ delegates: 5 });
  try {
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      ids.push((await net.send('account_1', { kind: 'transfer', to: '42L', amount: 500n })).id);
    }
    ids.push((await net.fund('42L', 500n)).id);
    t.is(new Set(ids).size, 5);
  } finally {
    await net.close();
  }
});
