/** Defines the commands that query a chain (`block`, `tx`, `account`, `delegates`, `events`, `pool`), and `decode`. */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { command, EXIT_CODES, integerFrom } from './command.ts';
import type { DecodeFlags, EventsFlags, ListFlags, LimitFlags, QueryFlags } from './flags.ts';

const NODE = 'http://127.0.0.1:4000';
const STOPPED = `
With --data-dir, the command only reads the folder, with one exception: after a killed import or sync, the command first writes the
missing index entries.`;
const STOPPED_WITH_POOL = `${STOPPED} With --data-dir, the pool contains only the transactions that the node restores at its start.`;

export function addChainQueryCommands(program: Command): void {
  query(program, 'block', 'show a block and its transactions')
    .argument('[height|id|latest]', 'block to show', blockName, 'latest')
    .option('--json', 'print {"block","transactions"} with the members of the HTTP interface')
    .addHelpText(
      'after',
      `
Shows at most 100 transactions. If a number can be a height, the command first searches for a block of this height, then for the id.
${STOPPED}
${EXIT_CODES}`,
    )
    .action(async (which: string, options: QueryFlags) => (await import('./commands/block.ts')).block(which, options));

  const tx = query(program, 'tx', 'show a transaction, in a block or in the pool')
    .argument('<id>', 'id of the transaction', transactionId)
    .option('--json', 'print {"transaction","state"}; the state is confirmed, or the queue of the pool')
    .addHelpText('after', `${STOPPED_WITH_POOL}\n${EXIT_CODES}`)
    .action(async (id: string, options: QueryFlags) =>
      (await import('./commands/transaction.ts')).showTransaction(id, options),
    );

  query(tx, 'verify', 'check whether a node would accept a signed transaction, without sending it')
    .argument(
      '<file>',
      'file with transactions: one JSON document, a list, or one on each line; - for the standard input',
    )
    .option('--json', 'print {"transactions":[{"id","isValid","faults","missing"}, ...]}')
    .addHelpText(
      'after',
      `
Checks the id, the fee and all signatures (also the second signature and the signatures of members) with the accounts of the node.
Also checks the funds and the time, and whether a block already contains the transaction. The exit code is 1 if the command finds a
fault or a missing signature.
${STOPPED_WITH_POOL}
${EXIT_CODES}`,
    )
    .action(async (file: string, options: QueryFlags) =>
      (await import('./commands/tx-verify.ts')).txVerify(file, options),
    );

  command(program, 'decode', 'decode a transaction, block header or public key, without a node')
    .argument(
      '<hex|json>',
      'transaction, block header or public key as hexadecimal digits, or transaction as JSON; - for the standard input',
    )
    .option('--network <name|dir>', 'also check the signature, for this network')
    .option('--json', 'print {"kind", ...}: a transaction with its bytes, a header, or a public key with its address')
    .addHelpText('after', EXIT_CODES)
    .action(async (given: string, options: DecodeFlags) =>
      (await import('./commands/decode.ts')).decode(given, options),
    );

  query(program, 'account', 'show an account and its latest transactions')
    .argument(
      '<address|name|public key>',
      'address (also without its L), delegate name or public key of the account; letter case does not matter',
    )
    .option('--json', 'print {"account","group","latestTransactions"}')
    .addHelpText('after', `${STOPPED}\n${EXIT_CODES}`)
    .action(async (which: string, options: QueryFlags) =>
      (await import('./commands/account.ts')).account(which, options),
    );

  query(program, 'delegates', 'list delegates by rank')
    .option('--limit <count>', 'number of delegates, 1 to 101', integerFrom(1, 101), 101)
    .option('--offset <count>', 'number of ranks to skip', integerFrom(0, 1_000_000), 0)
    .option('--json', 'print {"delegates"} with the members of the HTTP interface')
    .addHelpText('after', `${STOPPED}\n${EXIT_CODES}`)
    .action(async (options: ListFlags) => (await import('./commands/delegates.ts')).delegates(options));

  addEvents(program);

  query(program, 'pool', 'list transactions that wait for a block, with the reason')
    .option(
      '--limit <count>',
      'maximum number of transactions of each queue, 1 to 100, oldest first',
      integerFrom(1, 100),
      100,
    )
    .option('--json', 'print {"transactions":[{"state", ...}, ...]}')
    .addHelpText('after', `${STOPPED_WITH_POOL}\n${EXIT_CODES}`)
    .action(async (options: LimitFlags) => (await import('./commands/pool.ts')).pool(options));
}

function addEvents(program: Command): void {
  query(program, 'events', 'list past events of the chain, and follow new ones')
    .option('--follow', 'follow new events; without --since, start with the next event')
    .option(
      '--since <id>',
      'start after this event; 0.0 starts with the oldest event that the node keeps (default without --follow)',
      eventId,
    )
    .addOption(
      new Option('--from-height <height>', 'start with the block of this height, even if the log no longer contains it')
        .argParser(integerFrom(1, 2_147_483_647))
        .conflicts('since'),
    )
    .option('--types <names>', 'only these events, separated by commas, such as blocks/new,transactions/included')
    .option('--address <address>', 'only blocks and transactions of this account')
    .option('--delegate <public key>', 'only blocks, transactions and forging of this delegate')
    .option('--final', 'report blocks and transactions when they become final, and no reverts')
    .option('--json', 'print {"id","event","data"}, one line for each event')
    .addHelpText(
      'after',
      `
Event ids stay the same after a restart of the node. The event log keeps the events of the last 100,000 applied or reverted blocks.
With --follow, the command reconnects after a lost connection and continues after the last event.
${STOPPED}
${EXIT_CODES}`,
    )
    .action(async (options: EventsFlags) => (await import('./commands/events.ts')).events(options));
}

function query(program: Command, name: string, description: string): Command {
  return command(program, name, description)
    .option('--node <url>', 'HTTP interface of a node', NODE)
    .addOption(new Option('--data-dir <dir>', 'read the chain in this data folder instead of a node').conflicts('node'))
    .addOption(
      new Option(
        '--network <name|dir>',
        'chain of this network in the data folder (default folder: BLOOMERY_HOME, else ~/.bloomery)',
      ).conflicts('node'),
    );
}

function blockName(text: string): string {
  if (text === 'latest' || /^[0-9]{1,20}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a height, the id of a block, or latest');
}

function eventId(text: string): string {
  if (/^[0-9]{1,15}(:[0-9]{1,15})?\.[0-9]{1,9}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the id of an event such as 483920000000012.0');
}

function transactionId(text: string): string {
  if (/^[0-9]{1,20}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the id of a transaction: up to 20 digits');
}
