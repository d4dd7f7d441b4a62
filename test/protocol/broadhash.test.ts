import test from 'ava';
import { broadhashOf } from '../../src/protocol/broadhash.ts';

const params = { nethash: 'ab'.repeat(32) };

test('the broadhash is the hash of the last five ids, highest first', (t) => {
  const ids = ['10620616195853047363', '6524861224470851795', '3', '2', '1'];
  t.is(broadhashOf(ids, params), '59c65e0afbdca6bcf75ddd991790d38a31777878703daeb6daae58e17fdbf68a');
});

test('blocks below the fifth do not count, but the order of the ids does', (t) => {
  const ids = ['5', '4', '3', '2', '1'];
  t.is(broadhashOf([...ids, '99'], params), broadhashOf(ids, params));
  t.not(broadhashOf([...ids].reverse(), params), broadhashOf(ids, params));
});

test('a short chain hashes all its ids, and the genesis block alone gives the nethash', (t) => {
  t.not(broadhashOf(['2', '1'], params), params.nethash);
  t.is(broadhashOf(['1'], params), params.nethash);
  t.is(broadhashOf([], params), params.nethash);
});
