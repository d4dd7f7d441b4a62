/** `bloomery upgrade`: upgrades the chain store of a stopped node to the layout of this version. */

import { chainDirectory, upgradeChain } from '../../node/chain-tool.ts';
import { systemClock } from '../../node/system.ts';
import { LAYOUT_VERSION } from '../../store/tables/layout.ts';
import { locationOfData } from '../chain-location.ts';
import type { UpgradeFlags } from '../flags.ts';
import { printJson, printLine, report } from '../output.ts';
import { withDamageReport } from '../damage-report.ts';
import { createStepProgress } from '../progress.ts';

/**
 * @throws ProtocolError in the same cases as `locationOfData`, `withDamageReport` and `upgradeChain`, for example if
 *   the store is in use or has an unknown layout
 */
export function upgrade(flags: UpgradeFlags): Promise<void> {
  const location = locationOfData(flags);
  const { name } = location.network;
  return withDamageReport(chainDirectory(location), async () => {
    const progress = createStepProgress({ isQuiet: flags.json === true });
    const startedMs = systemClock.nowMs();
    let from: number;
    try {
      from = await upgradeChain(location, (step, fraction) => progress.show(`upgrading: ${step}`, fraction));
    } finally {
      progress.end();
    }
    const seconds = (systemClock.nowMs() - startedMs) / 1000;
    report('the store was upgraded', () => {
      if (flags.json === true) printJson({ from, to: LAYOUT_VERSION, seconds });
      else if (from === LAYOUT_VERSION) printLine(`${name}: the chain store has layout ${from} already`);
      else
        printLine(
          `${name}: the chain store was brought from layout ${from} to ${LAYOUT_VERSION} in ${seconds.toFixed(1)} s`,
        );
    });
  });
}
