import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { temporaryFolder } from '../support/network-folder.ts';

/** Each line below `@ts-expect-error` must be a type error. */
const SAMPLE = `
import { createClient, type Components3 } from 'bloomery/client';
import { startDevnet, type TestDevnet } from 'bloomery/testing';

const net: TestDevnet = await startDevnet({ nodes: 2, mine: 'instant', delegates: 5 });
const three = createClient(net.url);
const two = createClient(net.url, { generation: 2 });

const { data: accounts, meta } = await three.get('/accounts', { address: '1L' });
const balance: bigint | undefined = accounts[0]?.balance;
const limit: number = meta.limit;
const weight: bigint | undefined = (await three.get('/delegates', { sort: 'rank:asc' })).data[0]?.voteWeight;
const height: number = (await three.get('/node/status')).data.height;
const metrics: string = await three.get('/metrics');
await three.get('/accounts/{address}/multisignature_groups', { address: '1L' });
const asset = { amount: '1', recipientId: '1L' };
await three.post('/transactions', { id: '1', type: 8, timestamp: 1, senderPublicKey: '', signature: '', asset });
for await (const block of three.items('/blocks', { sort: 'height:asc' })) {
  const named: Components3['Block'] = block;
  const reward: bigint = named.reward;
  void reward;
}
for await (const event of two.events({ types: ['blocks/new', 'finalized/change'] })) {
  if (event.type === 'blocks/new') {
    const forged: bigint = event.data.totalForged;
    void forged;
  } else {
    const final: number = event.data.height;
    void final;
  }
}
const place: { readonly height: number } = await three.waitFor('1', { final: true });
await net.send('account_1', { kind: 'transfer', to: '1L', amount: 1n });

// @ts-expect-error there is no such path
await three.get('/nothing');
// @ts-expect-error a parameter of the path is missing
await three.get('/accounts/{address}/multisignature_groups');
// @ts-expect-error there is no such parameter
await three.get('/blocks', { hight: 3 });
// @ts-expect-error items() reads the pages with cursors, not with offsets
three.items('/blocks', { offset: 5 });
// @ts-expect-error items() sets the cursors itself
three.items('/blocks', { after: '1' });
// @ts-expect-error there is no such parameter
three.items('/blocks', { hight: 3 });
// @ts-expect-error the pages of this route have no cursors
three.items('/peers');
// @ts-expect-error no list
three.items('/node/status');
// @ts-expect-error data of this route is not the list of the items
three.items('/voters', { address: '1L' });
// @ts-expect-error amounts are bigint
const wrong: string | undefined = accounts[0]?.balance;
// @ts-expect-error there is no such event type
three.events({ types: ['blocks/nowhere'] });
// @ts-expect-error members of the transaction are missing
await three.post('/transactions', { type: 8 });
// @ts-expect-error amounts are bigint
await net.send('account_1', { kind: 'transfer', to: '1L', amount: 1 });
// @ts-expect-error there is no such mining mode
await startDevnet({ mine: 'sometimes' });

export { balance, height, limit, metrics, place, weight, wrong };
`;

test('the types of the package compile in a strict project that installs the package', async (t) => {
  t.timeout(600_000);
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
  symlinkSync(packageDirectory(), join(folder, 'node_modules/bloomery'));
  symlinkSync(join(packageDirectory(), 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'));
  symlinkSync(join(packageDirectory(), 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'sample', type: 'module' }));
  writeFileSync(join(folder, 'sample.ts'), SAMPLE);
  const compilerOptions = {
    ...{ strict: true, noEmit: true, target: 'es2023', lib: ['es2023'], module: 'nodenext', types: ['node'] },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, preserveSymlinks: true },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['sample.ts'] }));
  const compiler = join(packageDirectory(), 'node_modules/typescript/bin/tsc');
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', folder], { cwd: folder }).catch(
    (error: unknown) => error as { stdout: string },
  );
  t.is(stdout, '');
});
