import test from 'ava';
import { queriedSeries } from '../deploy/grafana.ts';
import { closeAfter, startTestDevnet, waitFor } from '../support/devnet.ts';
import { faultsOfExposition, readExposition } from '../support/exposition.ts';

for (const [generation, network] of [
  [2, 'devnet-gen2'],
  [3, 'devnet'],
] as const) {
  const title = `on a devnet of generation ${generation} every panel of the Grafana file finds its metrics, in the form that Prometheus reads`;
  test.serial(title, async (t) => {
    t.timeout(480_000);
    const devnet = await startTestDevnet({ nodes: 2, network });
    closeAfter(t, devnet);
    const [node] = devnet.nodes;
    const metrics = async (): Promise<string> => (await fetch(`${node?.url}/metrics`)).text();
    const isSettled = (text: string): boolean =>
      text.includes('blocks_applied_total{origin="received"}') &&
      text.includes('blocks_applied_total{origin="forged"}');
    const text = await waitFor(
      'blocks of both nodes',
      async () => {
        const now = await metrics();
        return isSettled(now) && now;
      },
      150_000,
    );
    t.deepEqual(faultsOfExposition(text), []);
    const { samples } = readExposition(text);
    const names = new Set([...samples.keys()].map((series) => series.replace(/\{.*/s, '')));
    t.deepEqual(
      queriedSeries().filter(({ name }) => !names.has(name)),
      [],
    );
    t.is(samples.get('bloomery_metrics_refused_total'), 0);
    t.is(samples.get('bloomery_peers_connected'), 1);
    t.is(samples.get('bloomery_forging_delegates'), 51);
  });
}
