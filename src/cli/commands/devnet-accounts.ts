/** `bloomery devnet accounts`: the published accounts of a network that was made by `bloomery genesis create`. */

import { bloomeryHome, findNetworkDirectory, packagedNetworkDirectory } from '../../config/network.ts';
import { readAccounts } from '../genesis/accounts-file.ts';
import { devnetNetworkName } from '../devnet/network.ts';
import type { AccountsFlags } from '../flags.ts';

/** @throws ProtocolError what reading the file throws */
export function devnetAccounts(flags: AccountsFlags): void {
  const directory =
    flags.network === undefined
      ? packagedNetworkDirectory(devnetNetworkName(flags.generation))
      : findNetworkDirectory(flags.network, bloomeryHome(process.env));
  const accounts = readAccounts(directory);
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify({ accounts })}\n`);
    return;
  }
  process.stdout.write('Devnet only: everybody knows these passphrases.\n\n');
  for (const { name, address, publicKey, passphrase } of accounts) {
    process.stdout.write(
      `${name}\n  address     ${address}\n  public key  ${publicKey}\n  passphrase  ${passphrase}\n`,
    );
  }
}
