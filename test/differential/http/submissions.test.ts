import test from 'ava';
import { knownDifference } from '../known-differences.ts';
import { endsRealNode } from './submissions.ts';

test('a transaction that would crash a real node is on the list', (t) => {
  const withAmount = (amount: unknown, type = 10): string => JSON.stringify({ type, asset: { username: 'a', amount } });
  for (const amount of ['+-7', null, '', 'NaN', {}, 1e21, '1.5.2'])
    t.true(endsRealNode(withAmount(amount)), `${amount}`);
  for (const amount of ['7', 7, '-7', undefined]) t.false(endsRealNode(withAmount(amount)), `${amount}`);
  t.false(endsRealNode(withAmount('+-7', 8)), 'the amount of a transfer is checked');
  t.false(endsRealNode('{"transactionId":"1"}'));
  t.false(endsRealNode('{"asset":null}'));
});

test('a refusal for another reason is a known difference only when receivedAt is not a valid time', (t) => {
  const found = (receivedAt: unknown) => {
    const input = JSON.stringify({ method: 'POST', body: JSON.stringify({ type: 8, receivedAt }) });
    const name = 'POST /api/transactions: both 409, changed body.errors[].message (Account does not have enough LSK)';
    return knownDifference('generation 3, http submissions', name, input)?.reference;
  };
  t.regex(found(1_000_000_000_000_000) ?? '', /receivedAt/);
  t.regex(found('x') ?? '', /receivedAt/);
  t.is(found('2026-01-01T00:00:00.000Z'), undefined);
});

test('refusals of an asset by the pool alone are on the list', (t) => {
  for (const reason of ['should NOT nest deeper than # levels', 'Unknown members make the asset longer than # bytes'])
    t.truthy(
      knownDifference(
        'generation 3, http submissions',
        `POST /api/transactions: 409 here (${reason}), 200 there`,
        '{}',
      ),
      reason,
    );
  t.is(
    knownDifference('generation 3, http submissions', 'POST /api/transactions: 409 here (no reason), 200 there', '{}'),
    undefined,
  );
});
