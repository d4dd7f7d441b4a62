/** Tests how a node treats a peer's claim of a better chain after earlier false claims. */

import test from 'ava';

import { type Claim, Claims } from '../../../src/engine/sync/claims.ts';

function setUpClaims() {
  const now = { ms: 1_000_000, round: 7 };
  const claims = new Claims({
    clock: { nowMs: () => now.ms },
    // The netgroup is the first two octets of the address.
    netgroupOf: (peerId) => Number(peerId.split('.')[0]) * 256 + Number(peerId.split('.')[1]),
    round: () => now.round,
  });
  return { now, claims };
}

function claim(peerId: string, changes: Partial<Claim> = {}): Claim {
  return { peerId, direction: 'inbound', ...changes };
}

test('the node waits for one claim per signer and round, whichever peer sends it', (t) => {
  const { now, claims } = setUpClaims();
  t.true(claims.isWaitedFor(claim('1.1.0.1:5000', { signer: 'aa' })));
  t.false(claims.isWaitedFor(claim('2.2.0.1:5000', { signer: 'aa' })));
  t.true(claims.isWaitedFor(claim('2.2.0.1:5000', { signer: 'bb' })));
  now.round += 1;
  t.true(claims.isWaitedFor(claim('2.2.0.1:5000', { signer: 'aa' })));
});

test('after a failed claim, no further claim of its signer counts in that round', (t) => {
  const { now, claims } = setUpClaims();
  claims.failed(claim('1.1.0.1:5000', { signer: 'aa' }));
  t.false(claims.isHeard(claim('2.2.0.1:5000', { signer: 'aa', direction: 'outbound' })));
  t.true(claims.isHeard(claim('2.2.0.1:5000', { signer: 'bb' })));
  now.round += 1;
  t.true(claims.isHeard(claim('2.2.0.1:5000', { signer: 'aa' })));
});

test('each failed claim of a netgroup doubles the time for which it is doubted', (t) => {
  const { now, claims } = setUpClaims();
  for (const doubtMs of [30_000, 60_000, 120_000]) {
    claims.failed(claim('1.1.0.1:5000'));
    now.ms += doubtMs - 1;
    t.false(claims.isHeard(claim('1.1.9.9:6000', { signer: 'cc' })));
    t.false(claims.isWaitedFor(claim('1.1.9.9:6000')));
    t.true(claims.isHeard(claim('1.2.9.9:6000', { signer: 'cc' })), 'another netgroup is heard');
    now.ms += 1;
    t.true(claims.isHeard(claim('1.1.9.9:6000', { signer: 'cc' })));
  }
  for (let more = 0; more < 100; more += 1) claims.failed(claim('1.1.0.1:5000'));
  now.ms += 1_800_000;
  t.true(claims.isHeard(claim('1.1.9.9:6000')), 'half an hour at most');
});

test('claims from ever new netgroups and signers soon cause no more waits, but those of dialled peers do', (t) => {
  const { now, claims } = setUpClaims();
  let waited = 0;
  for (let second = 0; second < 600; second += 1) {
    const stranger = claim(`${second >> 8}.${second & 255}.0.1:5000`, { signer: `signer ${second}` });
    if (claims.isWaitedFor(stranger)) waited += 1;
    claims.failed(stranger);
    now.ms += 1_000;
  }
  t.is(waited, 1, 'each that fails prolongs the doubt');
  t.true(claims.isWaitedFor(claim('99.9.0.1:5000', { direction: 'outbound' })));
  now.ms += 600_000;
  t.true(claims.isWaitedFor(claim('99.9.0.1:5000')));
});

test('a claim that proves true ends the doubts of its netgroup and signer', (t) => {
  const { claims } = setUpClaims();
  claims.failed(claim('1.1.0.1:5000', { signer: 'aa' }));
  claims.proved(claim('1.1.0.2:5000', { signer: 'bb' }));
  t.true(claims.isWaitedFor(claim('1.1.0.3:5000', { signer: 'bb' })));
  t.true(claims.isWaitedFor(claim('1.1.0.3:5000')));
});
