import test from 'ava';
import { balanceSteps } from '../../src/dashboard/balances.ts';

const transfer = (timestamp: number, senderId: string, recipientId: string, amount: string) => ({
  timestamp,
  senderId,
  recipientId,
  amount,
  fee: '10',
  height: 2 + timestamp,
});

test('each transaction changes the balance by its amount, and the sender pays its fee', (t) => {
  const transactions = [transfer(9, '1L', '2L', '100'), transfer(7, '1L', '1L', '50'), transfer(5, '3L', '1L', '500')];
  t.deepEqual(balanceSteps('1L', '380', transactions), [
    { timestamp: 5, beddows: 500n },
    { timestamp: 7, beddows: 490n },
    { timestamp: 9, beddows: 380n },
  ]);
});

test('transactions of one second are one step; one without a recipient costs its amount and fee', (t) => {
  const registration = { timestamp: 5, senderId: '1L', amount: '0', fee: '25', height: 4 };
  t.deepEqual(balanceSteps('1L', '75', [registration, transfer(5, '3L', '1L', '100')]), [
    { timestamp: 5, beddows: 75n },
  ]);
});

test('a transfer in the genesis block adds no step', (t) => {
  const genesis = { ...transfer(0, '3L', '1L', '1000'), fee: '0', height: 1 };
  t.deepEqual(balanceSteps('1L', '890', [transfer(9, '1L', '2L', '100'), genesis]), [{ timestamp: 9, beddows: 890n }]);
  t.deepEqual(balanceSteps('1L', '1000', [genesis]), []);
  t.deepEqual(balanceSteps('1L', '0', []), []);
});
