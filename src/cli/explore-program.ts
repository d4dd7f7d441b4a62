/** The commands that look into a chain: blocks, transactions, accounts, delegates and the pool of a running node. */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { command, EXIT_CODES, integerFrom } from './command.ts';
import type { ListFlags, PoolFlags, QuestionFlags } from './flags.ts';

const NODE = 'http://127.0.0.1:4000';
const STOPPED = `
With --data-dir the folder is read, and nothing in it changed: a stopped node answers as when it ran, but of its pool only what it
takes up again when it starts.`;

export function addExploreCommands(program: Command): void {
  question(program, 'block', 'show a block and its transactions')
    .argument('[height|id|latest]', 'which block', blockName, 'latest')
    .option('--json', 'print {"block","transactions"} as nodes answer them')
    .addHelpText(
      'after',
      `
Shows at most 100 transactions. A number that may be a height is taken for one first.
${STOPPED}
${EXIT_CODES}`,
    )
    .action(async (which: string, options: QuestionFlags) =>
      (await import('./commands/block.ts')).block(which, options),
    );

  question(program, 'tx', 'show a transaction, in a block or in the pool')
    .argument('<id>', 'its id', transactionId)
    .option('--json', 'print {"transaction","state"}; the state is confirmed, or the queue of the pool')
    .addHelpText('after', `${STOPPED}\n${EXIT_CODES}`)
    .action(async (id: string, options: QuestionFlags) =>
      (await import('./commands/transaction.ts')).showTransaction(id, options),
    );

  question(program, 'account', 'show an account and its latest transactions')
    .argument(
      '<address|name|public key>',
      'which account, in either letter case; an address also without its L; a name is that of a delegate',
    )
    .option('--json', 'print {"account","latestTransactions"} as nodes answer them')
    .addHelpText('after', `${STOPPED}\n${EXIT_CODES}`)
    .action(async (which: string, options: QuestionFlags) =>
      (await import('./commands/account.ts')).account(which, options),
    );

  question(program, 'delegates', 'list delegates by rank')
    .option('--limit <count>', 'delegates', integerFrom(1, 101), 101)
    .option('--offset <count>', 'ranks to pass over', integerFrom(0, 1_000_000), 0)
    .option('--json', 'print {"delegates"} as nodes answer them')
    .addHelpText('after', `${STOPPED}\n${EXIT_CODES}`)
    .action(async (options: ListFlags) => (await import('./commands/delegates.ts')).delegates(options));

  question(program, 'pool', 'list transactions that wait for a block, and for what')
    .option('--limit <count>', 'transactions of each queue, oldest first', integerFrom(1, 100), 100)
    .option('--json', 'print {"transactions":[{"state", ...}, ...]}')
    .addHelpText('after', `${STOPPED}\n${EXIT_CODES}`)
    .action(async (options: PoolFlags) => (await import('./commands/pool.ts')).pool(options));
}

function question(program: Command, name: string, description: string): Command {
  return command(program, name, description)
    .option('--node <url>', 'HTTP interface of a node', NODE)
    .addOption(
      new Option('--data-dir <dir>', 'ask the chain of this folder for data in place of a node').conflicts('node'),
    )
    .addOption(
      new Option(
        '--network <name|dir>',
        'of several chains the one of this network; without --data-dir that of BLOOMERY_HOME, else of ~/.bloomery',
      ).conflicts('node'),
    );
}

function blockName(text: string): string {
  if (text === 'latest' || /^[0-9]{1,20}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a height, the id of a block, or latest');
}

function transactionId(text: string): string {
  if (/^[0-9]{1,20}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the id of a transaction: up to 20 digits');
}
