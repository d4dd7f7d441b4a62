/**
 * A fake node that contains at least one item of each kind that the HTTP interface lists. Tests use this node to
 * generate examples and to check the shapes of answers.
 */

import type { PeerInfo } from '../../src/ports/transport.ts';
import type { Generation } from '../../src/protocol/params.ts';
import type { Payload } from '../../src/protocol/types.ts';
import { ALICE_KEY, fakeNode, transactionOf, TRANSFER } from './fake-node.ts';

const PEER: PeerInfo = {
  ip: '10.0.0.1',
  wsPort: 5000,
  httpPort: 4000,
  height: 7,
  os: 'linux6.1',
  version: '3.0.2',
  protocolVersion: '2.0',
  nonce: 'n',
  broadhash: 'ab',
  networkId: 'cd',
  blockVersion: 2,
  maxHeightPrevoted: 3,
  lastBlockId: '9',
  advertiseAddress: true,
};

export function populatedNode(generation: Generation) {
  const fake = fakeNode(generation);
  const multisignature: Payload = { kind: 'multisignature', min: 2, lifetime: 24, keysgroup: [`+${ALICE_KEY}`] };
  const transfer = transactionOf(generation, TRANSFER, { signSignature: 'cd'.repeat(64) });
  const registration = transactionOf(generation, multisignature, { signatures: ['ef'.repeat(64)] });
  fake.transactions = [
    { transaction: transfer, blockId: '1', height: 1, recipientPublicKey: ALICE_KEY, senderSecondPublicKey: ALICE_KEY },
    { transaction: registration, blockId: '1', height: 2 },
  ];
  fake.readyOf = ({ payload }) => (payload.kind === 'multisignature' ? true : undefined);
  fake.pool = {
    verified: [{ transaction: transfer, receivedAtMs: 1_464_109_200_000 }],
    pending: [{ transaction: registration, receivedAtMs: 1_464_109_200_000, ready: false }],
  };
  fake.signers.set('1', {
    min: 2,
    members: [
      { publicKey: ALICE_KEY, hasSigned: true },
      { publicKey: 'cd'.repeat(32), hasSigned: false },
    ],
  });
  fake.peers = [{ info: PEER, state: 'connected' }];
  const dapp = { category: 1, name: 'app', type: 0, link: 'https://example.org/app.zip' };
  fake.dapps = [{ transaction: transactionOf(generation, { kind: 'dapp', dapp }), blockId: '1', height: 1 }];
  fake.forging = [{ publicKey: ALICE_KEY, forging: true }];
  return fake;
}
