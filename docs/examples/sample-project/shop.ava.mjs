// npx ava shop.ava.mjs
import test from 'ava';
import { startDevnet } from 'bloomery/testing';
import { behaviour, options } from './behaviour.mjs';

let net;
test.before(async () => {
  net = await startDevnet(options);
  await net.snapshot('clean');
});
test.beforeEach(() => net.revert('clean'));
test.after.always(() => net?.close());

for (const [name, check] of Object.entries(behaviour)) {
  test.serial(name, async (t) => {
    await t.notThrowsAsync(check(net));
  });
}
