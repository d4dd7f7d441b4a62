/**
 * Runs `npm run chaos`. This command runs several tests. The code calls these tests forms (`FORMS`). The tests kill,
 * stop and cut off nodes, and put nodes under load.
 */

import { InvalidArgumentError, Option } from 'commander';
import { generationIn, positiveNumber, testProgram, wholeNumber } from '../support/program.ts';
import { DEVNET_MINUTES_MIN } from './devnet-run.ts';
import { FORMS, type ChaosFlags, type Form } from './forms.ts';

const whole = wholeNumber(0);
const flags = testProgram(
  'chaos',
  'Kill, stop and cut off nodes, put them under load, and see whether they keep what they promise. Each form below can be ' +
    'left out with 0; `--only` with names runs these alone.',
)
  .option('--only <names...>', `only these forms: ${FORMS.map(optionOf).join(', ')}`, form)
  .option('--kills <number>', 'kill nodes of a devnet at random moments so often', whole, 20)
  .option('--late-blocks <number>', 'blocks that a node of --kills has missed when it starts', whole, 100)
  .option('--cut-blocks <number>', 'cut one of five nodes off for so many blocks', whole, 60)
  .option('--kept <number>', 'kill a node that has just accepted transactions so often', whole, 30)
  .option('--notify-kills <number>', 'kill a forging node and the receiver of its events so often', whole, 30)
  .option('--reader-kills <number>', 'kill processes that read beside a node, and the node, so often', whole, 50)
  .option(
    '--replicas-minutes <number>',
    'read from three nodes behind HAProxy, which are troubled, for so many minutes',
    whole,
    10,
  )
  .option('--doctor-looks <number>', 'have the doctor look at a healthy network so often', whole, 100)
  .option('--hosts <number>', 'run on so many network namespaces, 20 to 150 ms from one another (needs root)', whole, 5)
  .option('--minutes <number>', 'minutes of --hosts', positiveNumber, 5)
  .option(
    '--devnet-minutes <number>',
    `run a devnet whose nodes are stopped, killed and added, for so many minutes, ${DEVNET_MINUTES_MIN} at least`,
    devnetMinutes,
    30,
  )
  .option('--load-seconds <number>', 'send transactions to five nodes for so many seconds', whole, 600)
  .option('--forger-kills <number>', 'kill a node that forges a hundred blocks a second so often', whole, 100)
  .addOption(
    new Option('--generation <number>', 'protocol generation').choices(['2', '3']).default(3).argParser(generationIn),
  )
  .option('--seed <number>', 'what is drawn: when which node', whole, Date.now() % 1_000_000)
  .parse()
  .opts<ChaosFlags & { readonly only?: readonly Form[] }>();

process.exitCode = (await allPass()) ? 0 : 1;
console.log(process.exitCode === 0 ? 'chaos passed' : 'chaos failed');

async function allPass(): Promise<boolean> {
  const chosen = FORMS.filter((each) => flags[each.name] !== 0 && (flags.only?.includes(each) ?? true));
  let isWell = true;
  try {
    for (const { run } of chosen) isWell = (await run(flags)) && isWell;
  } catch (error) {
    console.error(`chaos failed: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
  return isWell;
}

/**
 * Returns the name of a form (one of the tests of `npm run chaos`) in the spelling of its option on the command line:
 * `devnet-minutes` for `devnetMinutes`.
 */
function optionOf({ name }: Form): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function form(text: string, before: readonly Form[] = []): readonly Form[] {
  const found = FORMS.find((each) => optionOf(each) === text);
  if (found === undefined) throw new InvalidArgumentError(`It should be one of ${FORMS.map(optionOf).join(', ')}.`);
  return [...before, found];
}

function devnetMinutes(text: string): number {
  const value = Number(text);
  if (text === '0' || value >= DEVNET_MINUTES_MIN) return value;
  throw new InvalidArgumentError(
    `It should be 0 or a number from ${DEVNET_MINUTES_MIN} on: all faults need their time.`,
  );
}
