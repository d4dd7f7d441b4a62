import test from 'ava';
import { runChecks } from '../../src/cli/doctor/run-checks.ts';
import { runCli } from '../support/cli.ts';
import { closeAfter, startTestDevnet, waitFor } from '../support/devnet.ts';

for (const name of ['devnet', 'devnet-gen2']) {
  test(`the doctor misses no peers on a ${name} of one node, which another node may join`, async (t) => {
    t.timeout(480_000);
    const devnet = await startTestDevnet({ nodes: 1, spectators: 1, network: name });
    closeAfter(t, devnet);
    const [node, joining] = devnet.nodes;
    if (node === undefined || joining === undefined) throw new Error('there are two');
    const rows = async (): Promise<string> => (await runCli(['status', '--node', node.url])).stdout;
    const peersRow = async (): Promise<string | undefined> => /^peers +(.*)$/m.exec(await rows())?.[1];
    await waitFor('a block', async () => (await node.client.status()).height > 1, 150_000);
    t.true((await node.client.status()).isAlone);
    t.is(await peersRow(), 'none wanted');
    t.notRegex(await rows(), /^(network height|consensus) /m);
    const request = { url: node.url, environment: {}, freeBytesOf: () => 1e12 };
    // Keep only the findings about peers and consensus, because a busy machine can cause other findings.
    const isOfPeers = ({ code }: { readonly code: string }): boolean => /PEER|CONSENSUS/.test(code);
    t.deepEqual((await runChecks(request)).filter(isOfPeers), []);
    joining.start();
    await waitFor('a peer', async () => (await peersRow()) === '1', 150_000);
    t.is((await node.client.status()).isAlone, undefined);
    t.regex(await rows(), /^network height +[0-9]+\n(.*\n)*consensus /m);
    await joining.kill();
    await waitFor('no peer', async () => (await node.client.status()).isAlone === true, 150_000);
  });
}
