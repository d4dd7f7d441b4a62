// npx vitest run
import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { startDevnet } from 'bloomery/testing';
import { behaviour, options } from './behaviour.mjs';

let net;
beforeAll(async () => {
  net = await startDevnet(options);
  await net.snapshot('clean');
});
beforeEach(async () => {
  await net.revert('clean');
});
afterAll(() => net?.close());

for (const [name, check] of Object.entries(behaviour)) test(name, { timeout: 60_000 }, () => check(net));
