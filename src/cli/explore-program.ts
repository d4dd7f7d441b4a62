/** The commands that look into a chain: blocks, transactions, accounts, delegates and the pool of a running node. */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { command, EXIT_CODES, integerFrom } from './command.ts';
import type { DecodeFlags, EventsFlags, ListFlags, PoolFlags, QuestionFlags } from './flags.ts';

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

  const tx = question(program, 'tx', 'show a transaction, in a block or in the pool')
    .argument('<id>', 'its id', transactionId)
    .option('--json', 'print {"transaction","state"}; the state is confirmed, or the queue of the pool')
    .addHelpText('after', `${STOPPED}\n${EXIT_CODES}`)
    .action(async (id: string, options: QuestionFlags) =>
      (await import('./commands/transaction.ts')).showTransaction(id, options),
    );

  question(tx, 'verify', 'say whether a signed transaction would be taken, without sending it')
    .argument('<file>', 'transactions, one document, a list or one on each line; - for the standard input')
    .option('--json', 'print {"transactions":[{"id","isValid","faults","missing"}, ...]}')
    .addHelpText(
      'after',
      `
Checks id, fee, signature, second signature and signatures of members against the accounts that the node has, funds, time and
whether a block holds it. With faults or missing signatures the exit code is 1.
${STOPPED}
${EXIT_CODES}`,
    )
    .action(async (file: string, options: QuestionFlags) =>
      (await import('./commands/tx-verify.ts')).txVerify(file, options),
    );

  command(program, 'decode', 'say what bytes or a document mean, without asking anybody')
    .argument(
      '<hex|json>',
      'transaction, block header or public key as digits, or transaction as JSON; - for the standard input',
    )
    .option('--network <name|dir>', 'check the signature for this network, too')
    .option('--json', 'print {"kind", ...}: a transaction with its bytes, a header, or a public key with its address')
    .addHelpText('after', EXIT_CODES)
    .action(async (given: string, options: DecodeFlags) =>
      (await import('./commands/decode.ts')).decode(given, options),
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

  addEvents(program);

  question(program, 'pool', 'list transactions that wait for a block, and for what')
    .option('--limit <count>', 'transactions of each queue, oldest first', integerFrom(1, 100), 100)
    .option('--json', 'print {"transactions":[{"state", ...}, ...]}')
    .addHelpText('after', `${STOPPED}\n${EXIT_CODES}`)
    .action(async (options: PoolFlags) => (await import('./commands/pool.ts')).pool(options));
}

function addEvents(program: Command): void {
  question(program, 'events', 'list what happened to the chain, and go on with what happens')
    .option('--follow', 'go on with what happens; without --since begin with the next event')
    .option(
      '--since <id>',
      'begin behind this event; 0.0 stands for the oldest that is kept, as without --follow',
      eventId,
    )
    .addOption(
      new Option('--from-height <height>', 'begin with the block of this height, also where the log has forgotten it')
        .argParser(integerFrom(1, 2_147_483_647))
        .conflicts('since'),
    )
    .option('--types <names>', 'only these events, separated by commas, such as blocks/new,transactions/included')
    .option('--address <address>', 'of blocks and transactions only those of this account')
    .option('--delegate <public key>', 'of blocks, transactions and forging only those of this delegate')
    .option('--final', 'tell of blocks and transactions when they can no longer be reverted, and of no reverts')
    .option('--json', 'print {"id","event","data"}, a line for each')
    .addHelpText(
      'after',
      `
Events of the chain have ids that mean the same after a restart of the node; its log keeps the last 100,000 blocks that came or
went. With --follow a node that goes away is asked again until it is back, from the last event on.
${STOPPED}
${EXIT_CODES}`,
    )
    .action(async (options: EventsFlags) => (await import('./commands/events.ts')).events(options));
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

function eventId(text: string): string {
  if (/^[0-9]{1,15}(:[0-9]{1,15})?\.[0-9]{1,9}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the id of an event such as 12.0');
}

function transactionId(text: string): string {
  if (/^[0-9]{1,20}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the id of a transaction: up to 20 digits');
}
