/**
 * A receiver of webhook events as an operator could write it: it stores each event on disk before it answers.
 * Arguments: port and file. Each line of the file is one event, with the time of its arrival.
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
