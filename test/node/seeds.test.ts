import test from 'ava';
import { SeedSearch } from '../../src/node/seeds.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import { FakeClock, settle } from '../engine/peers/support.ts';

const seeds = [
  { host: 'one.example', wsPort: 1 },
  { host: 'two.example', wsPort: 2 },
  { host: 'three.example', wsPort: 3 },
];

/**
 * Starts a search for the addresses of the seed hosts. `answers` contains the name server's answers by host name. If
 * `answers` has no entry for a host, the name server never responds.
 */
function search(answers: Map<string, string | Error>) {
  const clock = new FakeClock();
  const found: string[] = [];
  const asked: string[] = [];
  const warned: unknown[] = [];
  const observer: Observer = { ...SILENT, log: (level, code) => void (level === 'warn' && warned.push(code)) };
  const running = new SeedSearch(seeds, {
    clock,
    observer,
    found: ({ ip, wsPort }) => void found.push(`${ip}:${wsPort}`),
    lookUp: (host) => {
      asked.push(host);
      const answer = answers.get(host);
      if (answer === undefined) return new Promise(() => undefined);
      return typeof answer === 'string' ? Promise.resolve(answer) : Promise.reject(answer);
    },
  });
  return { clock, found, asked, warned, running };
}

test('each seed is looked up once, and a hanging name server delays no other seed', async (t) => {
  const { clock, found, asked } = search(
    new Map([
      ['two.example', '10.0.0.2'],
      ['three.example', '10.0.0.3'],
    ]),
  );
  await settle();
  t.deepEqual(found, ['10.0.0.2:2', '10.0.0.3:3']);
  await clock.advance(86_400_000);
  t.deepEqual(asked, ['one.example', 'two.example', 'three.example']);
});

test('a seed without an address is looked up again, with growing pauses, until it has one', async (t) => {
  const answers = new Map<string, string | Error>(seeds.map(({ host }) => [host, new Error('getaddrinfo EAI_AGAIN')]));
  const { clock, found, asked, warned } = search(answers);
  await clock.advance(4_000);
  t.is(asked.length, 3);
  t.deepEqual(
    warned,
    Array.from({ length: 3 }, () => 'SEED_UNRESOLVED'),
  );
  await clock.advance(2_000);
  t.is(asked.length, 6);
  await clock.advance(3_600_000);
  const tries = asked.length / 3;
  t.true(tries >= 10 && tries <= 14, `${tries} tries in an hour`);
  for (const { host, wsPort } of seeds) answers.set(host, `10.0.0.${wsPort}`);
  await clock.advance(600_000);
  t.deepEqual(found.sort(), ['10.0.0.1:1', '10.0.0.2:2', '10.0.0.3:3']);
  t.is(warned.length, 3, 'said once for each');
  t.is(clock.waiting, 0);
});

test('after the stop no further seed is looked up, and none is reported', async (t) => {
  const { clock, found, asked, running } = search(new Map([['one.example', '10.0.0.1']]));
  running.stop();
  await clock.advance(3_600_000);
  t.deepEqual(found, []);
  t.deepEqual(asked, ['one.example', 'two.example']);
  t.is(clock.waiting, 0);
});
