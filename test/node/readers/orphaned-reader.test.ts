import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { waitFor } from '../../support/devnet.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import { freePort } from '../../support/ports.ts';

const PROGRAM = fileURLToPath(new URL('../../support/blocked-node-program.js', import.meta.url));

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

test('a reader ends with its node, also if the node was killed before it took the listening socket', async (t) => {
  const port = await freePort();
  const node = spawn(process.execPath, [PROGRAM, temporaryFolder(t), String(port)], { stdio: 'ignore' });
  t.teardown(() => node.kill('SIGKILL'));
  await waitFor('the listening reader', () => isListening(port), 60_000);
  // The reader (the process that answers HTTP requests for the node) sends its listening socket to the node as soon as
  // the reader listens. Wait until the reader has sent the socket, and then kill the node. This node
  // (`test/support/blocked-node-program.ts`) blocks forever before it takes the socket.
  await sleep(300);
  node.kill('SIGKILL');
  await once(node, 'exit');
  await waitFor('the end of the reader', async () => !(await isListening(port)), 10_000);
  t.pass();
});
