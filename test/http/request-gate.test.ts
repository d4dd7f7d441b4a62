import test from 'ava';
import { BODY_BYTES_MAX, INPUT_BYTES_MAX, PIPELINED_BYTES_MAX } from '../../src/http/admission/limits.ts';
import { type GatedRequest, RequestGate } from '../../src/http/admission/request-gate.ts';

const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\n\r\n';

test('the head of one request passes, and the next one waits for its end', (t) => {
  const gate = new RequestGate();
  gate.add(Buffer.from(HEAD + HEAD));
  t.is(text(gate), HEAD);
  gate.begin(requestOf({ isComplete: true }));
  t.is(text(gate), undefined);
  gate.finish();
  t.is(text(gate), HEAD);
  t.is(gate.heldBytes, 0);
});

test('the work on a request starts when the last byte of its body has arrived', (t) => {
  const gate = new RequestGate();
  gate.begin(requestOf({ contentLength: 10 }));
  let begun = 0;
  gate.acceptBody(() => (begun += 1));
  for (let byte = 1; byte <= 10; byte += 1) {
    t.is(gate.takeStart(), undefined);
    t.is(gate.next(), undefined);
    t.is(gate.bytes, 10);
    gate.add(Buffer.from(String(byte % 10)));
  }
  gate.add(Buffer.from('more'));
  t.is(gate.bytes, 14);
  gate.takeStart()?.();
  t.is(begun, 1);
  t.is(gate.takeStart(), undefined);
  t.is(text(gate), '1234567890');
  t.is(gate.heldBytes, 4);
});

test('a chunked body passes as it arrives', (t) => {
  const gate = new RequestGate();
  gate.begin(requestOf({ isChunked: true }));
  t.is(gate.takeStart(), undefined);
  gate.acceptBody(() => undefined);
  t.is(typeof gate.takeStart(), 'function');
  gate.add(Buffer.from('5\r\nhello\r\n'));
  t.is(text(gate), '5\r\nhello');
  t.is(gate.bytes, BODY_BYTES_MAX + 2);
});

test('an unwanted body does not pass, and the bytes behind it count as surplus', (t) => {
  const gate = new RequestGate();
  gate.begin(requestOf({ contentLength: 100 }));
  gate.add(Buffer.alloc(100 + PIPELINED_BYTES_MAX));
  t.is(gate.next(), undefined);
  t.false(gate.isOverfull);
  gate.add(Buffer.alloc(1));
  t.true(gate.isOverfull);
});

test('more surplus bytes than any client sends are reported, with or without a running request', (t) => {
  const busy = new RequestGate();
  busy.begin(requestOf({ isComplete: true }));
  busy.add(Buffer.alloc(PIPELINED_BYTES_MAX));
  t.false(busy.isOverfull);
  busy.add(Buffer.alloc(1));
  t.true(busy.isOverfull);
  const quiet = new RequestGate();
  quiet.add(Buffer.alloc(INPUT_BYTES_MAX));
  t.false(quiet.isOverfull);
  quiet.add(Buffer.alloc(1));
  t.true(quiet.isOverfull);
});

function text(gate: RequestGate): string | undefined {
  return gate.next()?.toString('latin1');
}

interface RequestHead {
  readonly contentLength?: number;
  readonly isChunked?: boolean;
  readonly isComplete?: boolean;
}

/** Returns an object like a request of node:http whose headers have arrived. */
function requestOf({ contentLength, isChunked = false, isComplete = false }: RequestHead): GatedRequest {
  const headers = {
    ...(contentLength !== undefined && { 'content-length': String(contentLength) }),
    ...(isChunked && { 'transfer-encoding': 'chunked' }),
  };
  return { headers, complete: isComplete };
}
