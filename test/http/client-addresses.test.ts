import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import test from 'ava';
import { clientAddresses } from '../../src/http/access.ts';

/** The addresses of a request with this header, if the node trusts proxies. */
function addressesOf(forwarded: string): readonly string[] {
  const request = new IncomingMessage(new Socket());
  request.headers['x-forwarded-for'] = forwarded;
  return clientAddresses(request, true);
}

test('a client cannot choose the length of the addresses that the node stores', (t) => {
  t.deepEqual(addressesOf(' 192.0.2.1 , ,2001:db8::1'), ['192.0.2.1', '2001:db8::1']);
  t.deepEqual(addressesOf(`${'9'.repeat(14_000)}, 192.0.2.1`), ['9'.repeat(100), '192.0.2.1']);
});
