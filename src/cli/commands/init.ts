/** `bloomery init`: writes the files of a new node, according to flags or to answers of the user. */

import { bloomeryHome } from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { InitFlags } from '../flags.ts';
import { refuseExisting, startArguments, writeFiles } from '../init/files.ts';
import { Interview } from '../init/interview.ts';
import { planInit, summaryOf, type InitPlan } from '../init/plan.ts';
import { printStderrLines, printJson, printLines, report } from '../output.ts';

/**
 * @throws ProtocolError `FILE_EXISTS`, `CANCELLED`, `USAGE`, or an error of `planInit` or `writeFiles`: none of the
 *   files was written, or all written files were removed again
 * @throws ProtocolError `OUTPUT_UNWRITABLE`: the files were written, but the result could not be printed
 */
export async function init(flags: InitFlags): Promise<void> {
  const interview = flags.yes === true ? undefined : new Interview({ input: process.stdin, output: process.stderr });
  try {
    const plan = await planInit(flags, bloomeryHome(process.env), interview);
    refuseExisting(plan);
    if (interview !== undefined) {
      printStderrLines(['', ...summaryOf(plan), '']);
      if (!(await interview.isYes('Write this?', true)))
        throw new ProtocolError('CANCELLED', {}, 'nothing was written');
    }
    const written = writeFiles(plan);
    report(`${written.join(', ')} were written`, () => printResult(plan, flags, interview === undefined));
  } finally {
    interview?.close();
  }
}

function printResult(plan: InitPlan, flags: InitFlags, isSummaryDue: boolean): void {
  const { network, dataDirectory, configFile, unitFile, delegate } = plan;
  const start = `bloomery ${startArguments(plan).map(shellWord).join(' ')}`;
  if (flags.json === true) {
    printJson({
      network: network.name,
      dataDirectory,
      config: configFile,
      ...(unitFile === undefined ? {} : { unit: unitFile }),
      ...(delegate === undefined ? {} : { publicKey: delegate.publicKey, address: delegate.address }),
      ...(delegate?.passphraseFile === undefined ? {} : { passphraseFile: delegate.passphraseFile }),
      start,
    });
    return;
  }
  printLines([...(isSummaryDue ? [...summaryOf(plan), ''] : []), ...nextSteps(plan, start)]);
}

function nextSteps({ httpPort, unitFile, delegate }: InitPlan, start: string): readonly string[] {
  const node = `http://127.0.0.1:${httpPort}`;
  return [
    ...(delegate?.passphraseFile === undefined
      ? []
      : [
          `The passphrase in ${delegate.passphraseFile} is the account ${delegate.address}: keep a copy elsewhere, and then remove`,
          'that file, as the node needs only the encrypted one in its configuration.',
        ]),
    'Start the node:',
    `  ${start}`,
    ...(unitFile === undefined
      ? []
      : [
          'or as a service, which starts again after a restart of the machine:',
          `  sudo cp ${shellWord(unitFile)} /etc/systemd/system/bloomery.service`,
          '  sudo systemctl daemon-reload && sudo systemctl enable --now bloomery',
        ]),
    'Watch it:',
    `  bloomery status --node ${node}`,
    `  ${node}/ in a browser`,
    ...(delegate === undefined
      ? []
      : [
          'Let the delegate forge, after each start:',
          `  bloomery forging enable ${delegate.publicKey} --node ${node}`,
        ]),
  ];
}

/** Quotes a word for a POSIX shell. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
