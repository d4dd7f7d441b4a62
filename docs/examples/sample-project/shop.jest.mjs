// NODE_OPTIONS=--experimental-vm-modules npx jest
import { afterAll, beforeAll, beforeEach, test } from '@jest/globals';
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

for (const [name, check] of Object.entries(behaviour)) test(name, () => check(net), 60_000);
