/** Converts the payload that a test passes to `send` (a `TransactionPayload`) into a `Payload` of the protocol. */

import { addressOf } from '../crypto/keys.ts';
import { hexOf } from '../primitives/bytes.ts';
import type { Generation } from '../protocol/params.ts';
import type { KeyPair, Payload } from '../protocol/types.ts';
import type { TransactionPayload } from './types.ts';

export function payloadOf(payload: TransactionPayload, generation: Generation, { publicKey }: KeyPair): Payload {
  switch (payload.kind) {
    case 'transfer': {
      const { to, amount, data } = payload;
      return { kind: 'transfer', recipientId: to, amount, ...(data === undefined ? {} : { data }) };
    }
    case 'vote': {
      const votes = [
        ...(payload.for ?? []).map((each) => `+${each}`),
        ...(payload.against ?? []).map((each) => `-${each}`),
      ];
      // In generation 2, the recipient of a vote is the sender of the vote.
      const recipient = generation === 2 ? { recipientId: addressOf(hexOf(publicKey)) } : {};
      return { kind: 'vote', votes, amount: 0n, ...recipient };
    }
    case 'delegate':
    case 'secondSignature':
      return payload;
  }
}
