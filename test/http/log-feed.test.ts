import test from 'ava';
import { AFTER_RECORD, placeOf, type EventPlace } from '../../src/http/events/event.ts';
import { LogFeed, type FedSubscriber } from '../../src/http/events/log-feed.ts';
import type { NodeApi } from '../../src/ports/node-api.ts';
import { fakeNode, TIP } from './fake-node.ts';

/** The ids that a subscriber can be told in `log/gap`, by its place when the log drops its next records. */
function gapAfter(place: EventPlace): string {
  const api: NodeApi = {
    ...fakeNode(3).api,
    log: {
      last: () => 50,
      floor: () => 50,
      finalized: () => 0,
      records: (sequence) => [
        { sequence, kind: 'applied', height: sequence, blockId: TIP.id, finalizedBefore: 0, finalizedAfter: 0 },
      ],
      firstRevert: () => undefined,
      block: () => undefined,
    },
  };
  const sent: string[] = [];
  const feed = new LogFeed<FedSubscriber>(api, { generation: 3, strict: false }, (_, text) => void sent.push(text));
  const names = new Set(['log/gap'] as const);
  const filter = { names, address: undefined, delegate: undefined, finality: 'any', maySeeForging: false } as const;
  feed.feed({ filter, place, isOfOtherLog: false, isFull: false }, Number.POSITIVE_INFINITY);
  const [, data = '{}'] = /data: (.*)\n/.exec(sent.join('')) ?? [];
  return (JSON.parse(data) as { after: string }).after;
}

test('the id in log/gap is an id at which a stream can be resumed, also between two records', (t) => {
  t.is(gapAfter({ sequence: 12, index: 3 }), '12.3');
  t.is(gapAfter({ sequence: 12, tag: 7, height: 345, index: 6 }), '7000000012:345.6');
  for (const place of [
    { sequence: 12, index: AFTER_RECORD },
    { sequence: 13, index: -1 },
    { sequence: 0, index: AFTER_RECORD },
    { sequence: 0, index: -1 },
    { sequence: 12, tag: 7, height: 345, index: -1 },
  ]) {
    const after = gapAfter(place);
    const resumed = placeOf(after);
    t.truthy(resumed, after);
    // No event between the two places is sent twice or left out.
    const isSame = resumed?.sequence === place.sequence && resumed.height === place.height;
    const isBefore = (resumed?.sequence ?? 0) < place.sequence || (resumed?.height ?? 0) < (place.height ?? 0);
    t.true(isSame ? place.index === AFTER_RECORD || place.sequence === 0 : isBefore, after);
  }
});
