import test from 'ava';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { basicBytes, transactionBytes } from '../../../src/protocol/gen3/transaction-bytes.ts';
import { keyPairOf, makeTransaction } from '../../support/chain-maker.ts';
import { paramsWith } from '../../support/fixtures.ts';

const payload = { kind: 'transfer', amount: 5n, recipientId: '7L' } as const;
const signedTwice = makeTransaction(paramsWith(), keyPairOf('a'), payload, { timestamp: 5, second: keyPairOf('b') });

test('both signatures follow the bytes that the first one covers', (t) => {
  const { signature, signSignature = '' } = signedTwice;
  t.is(signSignature.length, 128);
  t.is(
    transactionBytes(signedTwice).toString('hex'),
    basicBytes(signedTwice).toString('hex') + signature + signSignature,
  );
  const { signSignature: _, ...signedOnce } = signedTwice;
  t.is(transactionBytes(signedOnce).toString('hex'), basicBytes(signedTwice).toString('hex') + signature);
});

test('a signature that is not hexadecimal has no bytes', (t) => {
  for (const wrong of ['abc', 'zz', `${'0'.repeat(127)}g`, `${'0'.repeat(126)} 0`]) {
    for (const name of ['signature', 'signSignature']) {
      const error = t.throws(() => transactionBytes({ ...signedTwice, [name]: wrong }), { instanceOf: ProtocolError });
      t.is(error.code, 'HEX_INVALID', `${name} ${wrong}`);
    }
  }
});
