/** `bloomery genesis create`: the folder of a new network. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { loadNetwork } from '../../config/network.ts';
import { systemRandom } from '../../node/system.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { ACCOUNTS_FILE } from '../genesis/accounts-file.ts';
import { makeNetwork } from '../genesis/make-network.ts';
import { usageError } from '../problems.ts';
import type { GenesisFlags } from '../flags.ts';

const SECRET_FILES: ReadonlySet<string> = new Set(['forgers.json', ACCOUNTS_FILE]);

/** @throws ProtocolError for a wrong name, or a folder that holds something */
export async function genesisCreate(flags: GenesisFlags): Promise<void> {
  if (!/^[a-z0-9][a-z0-9_.-]{0,31}$/.test(flags.name)) {
    throw usageError(`--name \`${flags.name}\` must be lower-case letters, digits, \`-\`, \`_\` and \`.\`, at most 32`);
  }
  const out = resolve(flags.out);
  checkEmpty(out);
  const seed = flags.seed ?? hexOf(systemRandom.bytes(32));
  const { generation, name, blockTime: blockTimeS, delegates } = flags;
  const files = await makeNetwork({ generation, name, blockTimeS, delegates, seed });

  // Written beside its place and moved there whole.
  mkdirSync(dirname(out), { recursive: true });
  const draft = mkdtempSync(join(dirname(out), '.network-'));
  try {
    for (const [file, content] of files) {
      writeFileSync(join(draft, file), content, { mode: SECRET_FILES.has(file) ? 0o600 : 0o644 });
    }
    chmodSync(draft, 0o755);
    const { params } = loadNetwork(draft);
    renameSync(draft, out);
    process.stdout.write(
      `${out}: network ${name}, genesis block ${params.genesisBlockId}, nethash ${params.nethash}\n`,
    );
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
}

function checkEmpty(directory: string): void {
  if (!existsSync(directory)) return;
  if (statSync(directory).isDirectory() && readdirSync(directory).length === 0) return;
  throw new ProtocolError(
    'OUT_NOT_EMPTY',
    { directory },
    `${directory}: exists and is not empty: choose another folder with --out`,
  );
}
