/** Metrics that stay at zero between honest nodes. */

const WRONGS = ['p2p_offences_total', 'p2p_rate_limited_total', 'peers_banned_total'];
const ANSWER_MS_MAX = 60_000;

/** @returns the metrics that are not zero, by node and name; empty if all is well */
export async function wrongsOf(
  nodes: readonly { readonly url: string; readonly plan: { readonly index: number } }[],
): Promise<Readonly<Record<string, number>>> {
  const wrongs: Record<string, number> = {};
  for (const { url, plan } of nodes) {
    const metrics = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })).text();
    for (const line of metrics.split('\n')) {
      const [name = '', value = '0'] = line.split(' ');
      if (!line.startsWith('#') && WRONGS.some((wrong) => name.includes(wrong)) && Number(value) > 0) {
        wrongs[`node ${plan.index} ${name}`] = Number(value);
      }
    }
  }
  return wrongs;
}
