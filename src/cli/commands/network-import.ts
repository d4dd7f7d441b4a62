/** `bloomery network import`: makes a network folder from the files with which Lisk Core runs an existing network. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readBounded, whyUnreadable } from '../../config/bounded-file.ts';
import { knownIdentities } from '../../config/identity.ts';
import { networkFilesOf } from '../../config/lisk-core.ts';
import { bloomeryHome, homeNetworkDirectory, packagedNetworkDirectory } from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { NetworkImportFlags } from '../flags.ts';
import { checkEmpty, checkNetworkName, writeNetworkFolder } from '../network-folder.ts';
import { usageError } from '../error-lines.ts';
import { printJson, printLine } from '../output.ts';

const NETWORK_FILE = 'network.json';
/**
 * Maximum size of an input file, in bytes. The file with the genesis block in a network folder has the same maximum
 * size.
 */
const FILE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * @throws ProtocolError if the name is invalid, if an input file cannot be read, if the input files do not belong
 *   together, or if the folder must not be replaced. Also if `--out` is not given, and a network of the Bloomery
 *   package already has the name
 */
export function networkImport(flags: NetworkImportFlags): void {
  const { name, protocolVersion } = flags;
  checkNetworkName(name);
  const home = bloomeryHome(process.env);
  if (flags.out === undefined && existsSync(join(packagedNetworkDirectory(name), NETWORK_FILE))) {
    throw usageError(`--name ${name} belongs to a network of the package: choose another`);
  }
  const out = flags.out === undefined ? homeNetworkDirectory(name, home) : resolve(flags.out);
  // The command replaces only a network folder, because a mistyped `--out` can be the path of a folder with other
  // files.
  const isNetwork = existsSync(join(out, NETWORK_FILE));
  if (!isNetwork || flags.force !== true) {
    checkEmpty(out, isNetwork ? 'replace it with --force' : 'choose another folder with --out');
  }
  const configFile = join(resolve(flags.from), 'config.json');
  const genesisFile = join(resolve(flags.from), 'genesis_block.json');
  const files = networkFilesOf(
    { configFile, config: readJson(configFile), genesisFile, genesis: readJson(genesisFile) },
    { name, identities: knownIdentities(), ...(protocolVersion === undefined ? {} : { protocolVersion }) },
  );
  const sourceOf = (file: string): string => (file === 'genesis.json' ? genesisFile : configFile);
  const { generation, genesisBlockId, nethash, networkIdentifier } = writeNetworkFolder(out, files, sourceOf).params;
  if (flags.json === true)
    printJson({ folder: out, network: name, generation, genesisBlockId, nethash, networkIdentifier });
  else
    printLine(
      `${out}: network ${name} of generation ${generation}, genesis block ${genesisBlockId}, nethash ${nethash}, ` +
        `network identifier ${networkIdentifier}`,
    );
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8')) as unknown;
  } catch (error) {
    const reason = whyUnreadable(error, 'correct --from');
    throw new ProtocolError('NETWORK_UNREADABLE', { file }, `${file}: cannot be read: ${reason}`, { cause: error });
  }
}
