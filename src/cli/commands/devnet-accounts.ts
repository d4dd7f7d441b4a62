/** `bloomery devnet accounts`: the published accounts of a devnet that comes with the package. */

import { packagedNetworkDirectory } from '../../config/network.ts';
import { readAccounts } from '../genesis/accounts-file.ts';
import { devnetNetworkName } from '../devnet/plan.ts';
import type { AccountsFlags } from '../flags.ts';

/** @throws ProtocolError what reading the file throws */
export function devnetAccounts(flags: AccountsFlags): void {
  const accounts = readAccounts(packagedNetworkDirectory(devnetNetworkName(flags.generation)));
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
