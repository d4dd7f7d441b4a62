import test from 'ava';
import { isPortBlocked } from '../../src/primitives/blocked-ports.ts';

/**
 * Resolves with true if `fetch` refuses to use the port. No program needs to listen on the port, because `fetch`
 * refuses the port before it opens a connection.
 */
async function isRefused(port: number): Promise<boolean> {
  const error: unknown = await fetch(`http://127.0.0.1:${port}`).catch((reason: unknown) => reason);
  return error instanceof Error && (error.cause as Error | undefined)?.message === 'bad port';
}

test('the blocked ports are those that fetch refuses', async (t) => {
  const blocked = Array.from({ length: 65_535 }, (_, index) => index + 1).filter(isPortBlocked);
  t.is(blocked.length, 82);
  for (const port of blocked) t.true(await isRefused(port), `${port}`);
  for (const port of [18, 80, 4000, 6001, 7000, 8000, 10_079, 10_081]) t.false(await isRefused(port), `${port}`);
});
