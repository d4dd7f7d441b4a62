// node --test shop.node-test.mjs
import { after, before, beforeEach, test } from 'node:test';
import { startDevnet } from 'bloomery/testing';
import { behaviour, options } from './behaviour.mjs';

let net;
before(async () => {
  net = await startDevnet(options);
  await net.snapshot('clean');
});
beforeEach(() => net.revert('clean'));
after(() => net.close());

for (const [name, check] of Object.entries(behaviour)) test(name, () => check(net));
