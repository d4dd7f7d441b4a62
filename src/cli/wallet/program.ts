/** Adds the commands of the wallet, which handle keys, signed messages and signed transactions. */

import { InvalidArgumentError, type Command } from 'commander';
import { collect, command, EXIT_CODES, integerFrom, onlyCommands } from '../command.ts';
import type {
  BroadcastFlags,
  KeysCreateFlags,
  KeysEncryptFlags,
  KeysShowFlags,
  MessageSignFlags,
  MessageVerifyFlags,
  MultisigRegisterFlags,
  MultisigSignFlags,
  TransactionFlags,
  TransferFlags,
} from '../flags.ts';

const SECRETS = `
A passphrase comes from --passphrase-file (- for the standard input), else BLOOMERY_PASSPHRASE, else a hidden prompt; never
from the command line, which every process of the machine can read.`;

const SENDING = `
The command gets the network, the generation and the second public key of the sender from the node. It shows the transaction and
asks before it sends; --yes skips both. With --offline, it needs no node: --network names the network, and the command prints the
signed JSON for bloomery broadcast.`;

const REPEATED = `
Sending a file again is safe. If the node already has a transaction, it counts as sent; with --json, it has "known": true. At the
first refusal, the command stops and says how many documents it has not sent.`;

export function addWalletCommands(program: Command): void {
  addKeyCommands(program);

  transactionCommand(program, 'transfer', 'send LSK to an address')
    .argument('<address>', 'recipient, digits followed by L')
    .argument('<amount>', 'LSK with at most 8 decimals')
    .option('--data <text>', 'text in the transaction, at most 64 bytes')
    .action(async (address: string, amount: string, options: TransferFlags) =>
      (await import('../commands/transactions.ts')).transfer(address, amount, options),
    );

  const delegate = command(program, 'delegate', 'become a delegate');
  onlyCommands(delegate);
  transactionCommand(delegate, 'register', 'register the sender as a delegate')
    .argument('<name>', 'name of the delegate: 1 to 20 of a-z, 0-9 and !@$&_.')
    .action(async (name: string, options: TransactionFlags) =>
      (await import('../commands/transactions.ts')).delegateRegister(name, options),
    );

  transactionCommand(program, 'vote', 'vote for delegates, or withdraw votes')
    .argument('<votes...>', '+NAME or +PUBLICKEY to vote, -NAME or -PUBLICKEY to withdraw a vote; at most 33')
    .allowUnknownOption()
    .addHelpText('after', '\nWrite -- before the votes when a name looks like a flag: bloomery vote --yes -- -h')
    .action(async (votes: readonly string[], options: TransactionFlags) =>
      (await import('../commands/transactions.ts')).vote(votes, options),
    );

  const second = command(program, 'second-signature', 'protect an account with a second passphrase');
  onlyCommands(second);
  transactionCommand(second, 'register', 'register a second passphrase for the sender, permanently')
    .option(
      '--new-passphrase-file <file>',
      'file with the new passphrase (else BLOOMERY_NEW_SECOND_PASSPHRASE, else a prompt)',
    )
    .action(async (options: TransactionFlags & { newPassphraseFile?: string }) =>
      (await import('../commands/transactions.ts')).secondSignatureRegister(options),
    );

  addMultisigCommands(program);
  addMessageCommands(program);

  sendingOptions(
    nodeOption(command(program, 'broadcast', 'send transactions or signatures that were signed with --offline')),
  )
    .argument(
      '[file]',
      'file with transactions or signatures: one JSON document, a list, or one on each line; - for the standard input',
      '-',
    )
    .option('--network <name|dir>', 'refuse a node of another network')
    .addHelpText('after', `${REPEATED}\n${EXIT_CODES}`)
    .action(async (file: string, options: BroadcastFlags) =>
      (await import('../commands/broadcast.ts')).broadcast(file, options),
    );
}

function addKeyCommands(program: Command): void {
  const keys = command(program, 'keys', 'create, encrypt and show the keys of an account');
  onlyCommands(keys);
  command(keys, 'create', 'create a new account with a BIP-39 passphrase')
    .option('--words <count>', 'words of the passphrase, 12 or 24', wordCount, 12)
    .option('--out <file>', 'write the passphrase to a new file of mode 600 instead of showing it')
    .option('--json', 'print {"passphrase","publicKey","address"}; with --out, without the passphrase')
    .addHelpText(
      'after',
      `\nWithout --out, the command shows the passphrase only one time, and stores it nowhere.\n${EXIT_CODES}`,
    )
    .action(async (options: KeysCreateFlags) => (await import('../commands/keys.ts')).keysCreate(options));
  passphraseOption(command(keys, 'encrypt', 'encrypt a passphrase for forging.delegates of a configuration'))
    .option(
      '--password-file <file>',
      'file with the password for the encryption (else BLOOMERY_PASSWORD, else a prompt)',
    )
    .option('--iterations <count>', 'rounds of PBKDF2', integerFrom(1, 10_000_000), 1_000_000)
    .option('--json', 'print the same members on one line')
    .addHelpText(
      'after',
      `\nPrints {"publicKey","encryptedPassphrase"} in the form of lisk-core configurations.\n${SECRETS}\n${EXIT_CODES}`,
    )
    .action(async (options: KeysEncryptFlags) => (await import('../commands/keys.ts')).keysEncrypt(options));
  passphraseOption(command(keys, 'show', 'show public key and address of a passphrase'))
    .option('--public-key <hex>', 'show the address of this public key instead')
    .option('--json', 'print {"publicKey","address"}')
    .addHelpText('after', `${SECRETS}\n${EXIT_CODES}`)
    .action(async (options: KeysShowFlags) => (await import('../commands/keys.ts')).keysShow(options));
}

function addMessageCommands(program: Command): void {
  const message = command(program, 'message', 'sign a message with an account, or verify a signed message');
  onlyCommands(message);
  passphraseOption(command(message, 'sign', 'sign a message, to prove that an account is yours'))
    .argument('<message>', 'text')
    .option('--json', 'print {"message","publicKey","signature"}')
    .addHelpText('after', `\nLisk wallets sign and verify messages in the same way.\n${SECRETS}\n${EXIT_CODES}`)
    .action(async (text: string, options: MessageSignFlags) =>
      (await import('../commands/message.ts')).messageSign(text, options),
    );
  command(message, 'verify', 'verify the signature of a message')
    .argument('[file]', 'output of bloomery message sign --json; - for the standard input', '-')
    .option('--json', 'print {"message","publicKey","signature","address"}')
    .addHelpText('after', EXIT_CODES)
    .action(async (file: string, options: MessageVerifyFlags) =>
      (await import('../commands/message.ts')).messageVerify(file, options),
    );
}

function addMultisigCommands(program: Command): void {
  const multisig = command(program, 'multisig', 'create multisignature accounts, and sign their transactions');
  onlyCommands(multisig);
  transactionCommand(multisig, 'register', 'make the sender a multisignature account, permanently')
    .requiredOption('--min <count>', 'signatures that each transaction needs', integerFrom(1, 15))
    .requiredOption('--lifetime <hours>', 'time for members to sign', integerFrom(1, 72))
    .requiredOption('--member <public key>', 'member; repeat the flag for each member', collect)
    .action(async (options: MultisigRegisterFlags) =>
      (await import('../commands/transactions.ts')).multisigRegister(options),
    );
  networkOptions(
    sendingOptions(
      spendingOption(command(multisig, 'sign', 'sign a transaction of a multisignature account as a member')),
    ),
  )
    .argument(
      '<id|file>',
      'id of a transaction that waits in the node, or a file with a transaction; - for the standard input',
    )
    .addHelpText('after', `${SECRETS}\n${SENDING}\n${EXIT_CODES}`)
    .action(async (idOrFile: string, options: MultisigSignFlags) =>
      (await import('../commands/multisig-sign.ts')).multisigSign(idOrFile, options),
    );
}

/** Adds a command that signs and sends a transaction. */
function transactionCommand(parent: Command, name: string, description: string): Command {
  return networkOptions(sendingOptions(spendingOption(command(parent, name, description))))
    .option(
      '--from <name>',
      'account of a devnet, such as account_1, instead of a passphrase; the command then asks nothing',
    )
    .option('--second-passphrase-file <file>', 'file with the second passphrase (else BLOOMERY_SECOND_PASSPHRASE)')
    .addHelpText('after', `${SECRETS}\n${SENDING}\n${EXIT_CODES}`);
}

function passphraseOption(to: Command): Command {
  return to.option('--passphrase-file <file>', 'file with the passphrase (else BLOOMERY_PASSPHRASE, else a prompt)');
}

/** Adds the passphrase options of a command that signs a transaction. */
function spendingOption(to: Command): Command {
  return passphraseOption(to).option(
    '--any-passphrase',
    'accept a passphrase that is not BIP-39; white space at its start and end counts',
  );
}

function nodeOption(to: Command): Command {
  return to.option('--node <url>', 'HTTP interface of a node', 'http://127.0.0.1:4000');
}

function networkOptions(to: Command): Command {
  return nodeOption(to)
    .option('--network <name|dir>', 'network of the transaction (default: that of the node)')
    .option('--offline', 'use no node; print the signed JSON');
}

function sendingOptions(to: Command): Command {
  return to
    .option('--yes', 'send without asking')
    .option('--wait', 'wait until a block contains the transaction')
    .option('--json', 'print {"id"}, with --wait {"id","height"}, with --offline the signed JSON');
}

function wordCount(text: string): number {
  if (text === '12' || text === '24') return Number(text);
  throw new InvalidArgumentError('It must be 12 or 24');
}
