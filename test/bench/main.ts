/**
 * `npm run bench`: runs benchmarks on this machine, and prints ratios between results of the same run. Results of
 * different runs are hard to compare, because the speed of a machine varies.
 */

import { InvalidArgumentError, Option } from 'commander';
import { positiveNumber, testProgram, wholeNumber } from '../support/program.ts';
import { benchHttp } from './http.ts';
import { benchImport } from './import.ts';
import { benchBlocks } from './overview.ts';
import { benchCycles, benchDevnet, benchForging, benchSubscribers, benchSlots } from './running.ts';
import type { Activity } from './long-chain.ts';
import { benchScale } from './scale.ts';
import { benchProcesses } from './reader-rates.ts';
import { benchFork, benchStart } from './starts.ts';

interface Flags {
  readonly import?: true;
  readonly long?: true;
  readonly http?: true;
  readonly transactions: number;
  readonly accounts: number;
  readonly store?: string;
  readonly seconds: number;
  readonly scale?: readonly number[] | true;
  readonly chain?: string;
  readonly activity: Activity;
  readonly processes?: true;
  readonly subscribers?: true;
  readonly slots?: true;
  readonly forging?: number | true;
  readonly start?: string | true;
  readonly fork?: number | true;
  readonly runs?: number;
  readonly cycles?: number | true;
  readonly height?: number;
  readonly devnet: boolean;
}

const SHORT_CHAINS = { shortHeight: 2000, longHeight: 8000, fullHeight: 20_000 };
const LONG_CHAINS = { shortHeight: 10_000, longHeight: 100_000, fullHeight: 20_000 };

const FORGING_MINUTES = 10;
const SCALE_MILLIONS = [1, 5, 20];

/** Options that each select one measurement. The program refuses a command line with two such options. */
const PARTS = ['import', 'http', 'scale', 'processes', 'subscribers', 'slots', 'forging', 'start', 'fork', 'cycles'];

const whole = wholeNumber(1);
const flags = testProgram(
  'bench',
  'Measures this machine and prints tables of ratios. Without an option: signature checks, applied blocks, bytes on the ' +
    'disk, imports, a devnet and event subscribers, some ten minutes in all.',
)
  .addOption(part('--import', 'import chains from a file and from a peer'))
  .option('--long', 'import 10,000 and 100,000 blocks in place of 2,000 and 8,000')
  .addOption(part('--http', 'ask the HTTP interface over a filled store'))
  .option('--transactions <number>', 'transactions of that store', whole, 1_000_000)
  .option('--accounts <number>', 'accounts of that store', whole, 100_000)
  .option('--store <directory>', 'keep that store here, or take the one that is here')
  .option('--seconds <number>', 'how long each request is repeated', positiveNumber, 3)
  .addOption(
    part(
      '--scale [millions]',
      'import a chain in parts up to 1, 5 and 20 million transactions, and serve each',
    ).argParser(ascending),
  )
  .option('--chain <directory>', 'keep the chain files of --scale here, or take those that are here')
  .addOption(
    new Option('--activity <kind>', 'how often the accounts of --scale send: few of them mostly, or all equally')
      .choices(['skewed', 'equal'])
      .default('skewed'),
  )
  .addOption(part('--processes', 'what a request costs one, two and three reading processes'))
  .addOption(part('--subscribers', 'forge beside event subscribers'))
  .addOption(part('--slots', 'how soon blocks come in their slots'))
  .addOption(part('--forging [minutes]', 'forge beside readers at full load, 10 minutes').argParser(positiveNumber))
  .addOption(part('--start [directory]', 'time until a devnet forges, alternating with the build in another folder'))
  .addOption(part('--fork [accounts]', 'how soon a devnet forges that begins from an existing chain').argParser(whole))
  .option('--runs <number>', 'how often --start (20) and --fork (3) are measured', whole)
  .addOption(part('--cycles [number]', 'put four nodes back to a snapshot, 1,000 times').argParser(whole))
  .option('--height <number>', 'height of the snapshot of --cycles (500)', whole)
  .option('--no-devnet', 'leave out the devnet and the event subscribers')
  .parse()
  .opts<Flags>();

await main(flags);
process.exit();

async function main({ import: isImport, long, ...given }: Flags): Promise<void> {
  const chains = long === true ? LONG_CHAINS : SHORT_CHAINS;
  if (given.http === true) return benchHttp(given);
  if (isImport === true) return benchImport(chains);
  if (given.scale !== undefined) return benchScale({ ...given, millions: millionsOf(given.scale) });
  if (given.processes === true) return benchProcesses(given.seconds);
  if (given.subscribers === true) return benchSubscribers();
  if (given.slots === true) return benchSlots();
  if (given.forging !== undefined) return benchForging(numberOf(given.forging) ?? FORGING_MINUTES);
  if (given.cycles !== undefined) return benchCycles(numberOf(given.cycles), given.height);
  if (given.fork !== undefined) return benchFork(given.runs, numberOf(given.fork));
  if (given.start !== undefined) return benchStart(given.runs, given.start === true ? undefined : given.start);
  await benchBlocks();
  await benchImport(chains);
  if (!given.devnet) return;
  await benchDevnet();
  await benchSubscribers();
}

function part(flagsOfIt: string, description: string): Option {
  const option = new Option(flagsOfIt, `only: ${description}`);
  return option.conflicts(PARTS.filter((name) => name !== option.attributeName()));
}

/** Converts the value of an option with an optional number. `true` means that the user gave no number. */
function numberOf(value: number | true): number | undefined {
  return value === true ? undefined : value;
}

function millionsOf(value: readonly number[] | true): readonly number[] {
  return value === true ? SCALE_MILLIONS : value;
}

function ascending(text: string): readonly number[] {
  const numbers = text.split(',').map(positiveNumber);
  if (numbers.some((number, at) => number <= (numbers[at - 1] ?? 0))) {
    throw new InvalidArgumentError('The numbers should ascend, for example 1,5,20.');
  }
  return numbers;
}
