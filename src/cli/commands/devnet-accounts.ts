/** `bloomery devnet accounts`: the published accounts of a devnet that comes with the package. */

import { packagedNetworkDirectory } from '../../config/network.ts';
import { readAccounts } from '../genesis/accounts-file.ts';
import { devnetNetworkName } from '../devnet/plan.ts';
import type { AccountsFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';

/** @throws ProtocolError what reading the file throws */
export function devnetAccounts(flags: AccountsFlags): void {
  const accounts = readAccounts(packagedNetworkDirectory(devnetNetworkName(flags.generation)));
  if (flags.json === true) {
    printJson({ accounts });
    return;
  }
  printLines(['Devnet only: everybody knows these passphrases.', '']);
  for (const { name, address, publicKey, passphrase } of accounts) {
    printLines([name, `  address     ${address}`, `  public key  ${publicKey}`, `  passphrase  ${passphrase}`]);
  }
}
