import test from 'ava';

import { EXEMPT_LOG_INTERVAL_MS, PeerScoring } from '../../../src/engine/peers/peer-scoring.ts';
import { SILENT } from '../../../src/ports/observer.ts';

const NAMED = '70.0.0.1:5000';

test('offences of named peers are logged once a minute for each peer and offence, with the number of repetitions', (t) => {
  let nowMs = 1_000_000;
  const logged: unknown[] = [];
  const peers = [NAMED, '70.0.0.2:5000'];
  const scoring = new PeerScoring({
    transport: { connections: () => [], disconnect: () => t.fail('a named peer stays connected') },
    book: { ban: () => t.fail('a named peer is not banned') },
    clock: { nowMs: () => nowMs },
    observer: {
      ...SILENT,
      log: (_level, code, _message, fields) =>
        void logged.push([code, fields?.['peer'], fields?.['offence'], fields?.['repeated']]),
    },
    named: () => peers,
    banned: () => undefined,
  });
  const offend = (): void => {
    for (const peerId of peers) scoring.penalise(peerId, 'BLOCK_MALFORMED', 'x');
    scoring.report(NAMED, 'MALFORMED_MESSAGE', 'x');
    scoring.penalise(NAMED, 'BLOCK_FORGER_INVALID', 'costs nothing');
  };
  const expected = (repeated: number): unknown[] => [
    ['PEER_OFFENCE_EXEMPT', NAMED, 'BLOCK_MALFORMED', repeated],
    ['PEER_OFFENCE_EXEMPT', '70.0.0.2:5000', 'BLOCK_MALFORMED', repeated],
    ['PEER_OFFENCE_EXEMPT', NAMED, 'MALFORMED_MESSAGE', repeated],
  ];
  for (let offence = 0; offence < 4; offence += 1) offend();
  nowMs += EXEMPT_LOG_INTERVAL_MS - 1;
  offend();
  t.deepEqual(logged.splice(0), expected(0));
  nowMs += 1;
  offend();
  t.deepEqual(logged.splice(0), expected(4));
  nowMs += EXEMPT_LOG_INTERVAL_MS;
  offend();
  t.deepEqual(logged.splice(0), expected(0));
  // A clock that is set back does not silence the line.
  nowMs -= 2 * EXEMPT_LOG_INTERVAL_MS;
  offend();
  t.deepEqual(logged.splice(0), expected(0));
});
