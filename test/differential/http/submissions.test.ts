import test from 'ava';
import { endsRealNode } from './submissions.ts';

test('a transaction over which a real node would end itself is known', (t) => {
  const withAmount = (amount: unknown, type = 10): string => JSON.stringify({ type, asset: { username: 'a', amount } });
  for (const amount of ['+-7', null, '', 'NaN', {}, 1e21, '1.5.2'])
    t.true(endsRealNode(withAmount(amount)), `${amount}`);
  for (const amount of ['7', 7, '-7', undefined]) t.false(endsRealNode(withAmount(amount)), `${amount}`);
  t.false(endsRealNode(withAmount('+-7', 8)), 'the amount of a transfer is checked');
  t.false(endsRealNode('{"transactionId":"1"}'));
  t.false(endsRealNode('{"asset":null}'));
});
