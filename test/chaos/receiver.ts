/**
 * A receiver of events as an operator may write one: each is on its disk before it is answered. Started with the port and the
 * file; every line of the file is one event, with the time at which it came.
 */

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [, , port = '0', file = ''] = process.argv;
createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const event = JSON.parse(Buffer.concat(chunks).toString('utf8')) as object;
    appendFileSync(file, `${JSON.stringify({ ...event, receivedMs: Date.now() })}\n`, { flush: true });
    response.writeHead(204).end();
  });
}).listen(Number(port), '127.0.0.1');
process.once('disconnect', () => process.exit());
