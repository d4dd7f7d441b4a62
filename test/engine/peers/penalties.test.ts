import test from 'ava';

import { pointsOf } from '../../../src/engine/peers/penalties.ts';

test('an offence that no honest node can commit gets the full penalty', (t) => {
  for (const code of [
    'MALFORMED_MESSAGE',
    'MALFORMED_PEER_LIST',
    'INFO_TOO_LARGE',
    'MESSAGE_FLOOD',
    'BLOCK_MALFORMED',
  ]) {
    t.is(pointsOf(code), 100, code);
  }
  for (const code of ['BLOCK_SIGNATURE_INVALID', 'BLOCK_PAYLOAD_INVALID', 'TRANSACTION_INVALID']) {
    t.is(pointsOf(code), 100, code);
  }
});

test('an offence that depends on the chain or clock of the receiver gets no penalty', (t) => {
  for (const code of ['BLOCK_TIMESTAMP_INVALID', 'BLOCK_FORGER_INVALID', 'TRANSACTION_NOT_APPLICABLE', 'POOL_FULL']) {
    t.is(pointsOf(code), 0, code);
  }
});

test('too much traffic gets a tenth of the full penalty', (t) => {
  t.is(pointsOf('MESSAGE_RATE'), 10);
  t.is(pointsOf('PROCEDURE_RATE'), 10);
});

test('codes other than offences get no penalty, for any name', (t) => {
  for (const code of ['', 'CHAIN_BUSY', 'constructor', '__proto__', 'toString']) t.is(pointsOf(code), 0, code);
});
