/**
 * Writes the files of a new node: the configuration, the passphrase of a new account, and the systemd unit. `bloomery
 * init` replaces no file.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { packageDirectory } from '../../config/package.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { watermarkFolderOf } from '../../node/watermark-files.ts';
import { makeFolder } from '../../store/disk/folder.ts';
import type { InitPlan } from './plan.ts';

/** File mode of files that contain a passphrase, encrypted or in clear text. Only the owner can read these files. */
const SECRET_MODE = 0o600;
const PUBLIC_MODE = 0o644;

interface NewFile {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

/**
 * @throws ProtocolError `FILE_EXISTS` for the first file that exists already
 */
export function refuseExisting({ configFile, unitFile, delegate }: InitPlan): void {
  for (const file of [configFile, delegate?.passphraseFile, unitFile]) {
    if (file === undefined || !existsSync(file)) continue;
    throw fileExists(file);
  }
}

function fileExists(file: string): ProtocolError {
  return new ProtocolError('FILE_EXISTS', { file }, `${file} already exists: move it away, or name another place`);
}

/**
 * Writes all files. Writes each file under a temporary name first, so that a full disk or a killed process never leaves
 * an incomplete file under a final name. After an error, the function removes all files that it has written. If the
 * process is killed, the files that it has written remain, under their temporary or final names.
 *
 * @param write writes a text into an open file
 * @returns the paths of the written files
 * @throws ProtocolError `FILE_EXISTS`, `INIT_UNWRITABLE` with the file; errors of `loadConfig` for an invalid
 *   configuration
 */
export function writeFiles(plan: InitPlan, write: WriteText = writeFileSync): readonly string[] {
  refuseExisting(plan);
  const files = filesOf(plan).map((file) => ({ ...file, draft: `${file.path}.${process.pid}.draft` }));
  const written: string[] = [];
  try {
    // The folders of `ReadWritePaths` in the systemd unit must exist when the service starts.
    makeFolder(plan.dataDirectory);
    if (plan.unitFile !== undefined && plan.delegate !== undefined) makeFolder(watermarkFolder());
    for (const file of files) {
      makeFolder(dirname(file.path));
      writeDraft(file, write);
    }
    for (const { draft, path } of files) {
      publish(draft, path);
      written.push(path);
      // This call checks the written configuration: `loadConfig` reads the file in the same way as for a node, but
      // without environment variables.
      if (path === plan.configFile) loadConfig({ network: plan.network, file: path, environment: {} });
    }
  } catch (error) {
    for (const path of [...written, ...files.map(({ draft }) => draft)]) rmSync(path, { force: true });
    if (error instanceof ProtocolError) throw error;
    const { path = plan.dataDirectory } = error as NodeJS.ErrnoException;
    const reason = messageOf(error);
    throw new ProtocolError('INIT_UNWRITABLE', { file: path, reason }, `${path}: cannot be written: ${reason}`, {
      cause: error,
    });
  }
  return written;
}

type WriteText = (descriptor: number, text: string) => void;

function writeDraft({ draft, text, mode }: NewFile & { readonly draft: string }, write: WriteText): void {
  // It is possible that an earlier process with the same process id left this file.
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, 'wx', mode);
  try {
    write(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Gives a complete file its final name.
 *
 * @throws ProtocolError `FILE_EXISTS` when another program has created a file with the final name after the call of
 *   `refuseExisting`
 */
function publish(draft: string, path: string): void {
  try {
    linkSync(draft, path);
    rmSync(draft);
  } catch (error) {
    // Linking fails if the final name is in use, or if the file system does not support hard links.
    if (existsSync(path)) throw fileExists(path);
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error;
    renameSync(draft, path);
  }
}

function filesOf(plan: InitPlan): readonly NewFile[] {
  const { configFile, unitFile, delegate } = plan;
  const { passphraseFile, passphrase } = delegate ?? {};
  return [
    { path: configFile, text: configText(plan), mode: SECRET_MODE },
    ...(passphraseFile === undefined ? [] : [{ path: passphraseFile, text: `${passphrase}\n`, mode: SECRET_MODE }]),
    ...(unitFile === undefined ? [] : [{ path: unitFile, text: unitText(plan), mode: PUBLIC_MODE }]),
  ];
}

/**
 * Returns the configuration as JSON5. Options that this text does not set keep their default values
 * (docs/configuration.md).
 */
function configText({ httpPort, wsPort, isPublic, delegate }: InitPlan): string {
  const config = {
    http: { port: httpPort, ...(isPublic ? { accessPublic: true } : {}) },
    p2p: { port: wsPort },
    ...(delegate === undefined ? {} : { forging: { delegates: [entryOf(delegate)] } }),
  };
  return `// Written by bloomery init. All options: docs/configuration.md, or bloomery config show.\n${JSON.stringify(config, null, 2)}\n`;
}

function entryOf({ publicKey, encryptedPassphrase }: NonNullable<InitPlan['delegate']>): object {
  return { publicKey, encryptedPassphrase };
}

/** Command-line arguments with which `bloomery` starts the node. */
export function startArguments({ networkFlag, dataDirectory, configFile }: InitPlan): readonly string[] {
  return ['start', '--network', networkFlag, '--data-dir', dataDirectory, '--config', configFile];
}

/** Matches lines of the packaged systemd unit that `unitText` replaces or leaves out. */
const OWN_LINES =
  /^(#|User=|Group=|Environment=NODE_ENV|EnvironmentFile=|ExecStart=|ProtectHome=|StateDirectory|ConfigurationDirectory)/;

/**
 * Returns the systemd unit of docs/deploy, adapted to the folders of the plan and to the user who runs the command.
 */
export function unitText(plan: InitPlan): string {
  const source = join(packageDirectory(), 'docs', 'deploy', 'bloomery.service');
  if (!existsSync(source)) {
    const message = `${source}: this copy of the package has no systemd unit: use --no-unit`;
    throw new ProtocolError('INIT_UNWRITABLE', { file: source }, message);
  }
  const template = readFileSync(source, 'utf8');
  const { username } = userInfo();
  const program = [process.execPath, join(packageDirectory(), 'bin', 'bloomery.js'), ...startArguments(plan)];
  const own = [
    `User=${username}`,
    `Environment=NODE_ENV=production BLOOMERY_LOG_FORMAT=json ${quoted(`BLOOMERY_HOME=${plan.home}`)}`,
    `ExecStart=${program.map(commandWord).join(' ')}`,
    // Programs and data can be below /home, so the service must be able to read that folder. The service can write only
    // to the folders in `ReadWritePaths`.
    'ProtectHome=read-only',
    `ReadWritePaths=${quoted(plan.dataDirectory)}${plan.delegate === undefined ? '' : ` ${quoted(watermarkFolder())}`}`,
  ];
  const lines = template.split('\n').filter((line) => !OWN_LINES.test(line));
  const at = lines.indexOf('[Service]') + 1;
  return [
    '# Written by bloomery init. As root: copy it to /etc/systemd/system/, then systemctl enable --now bloomery',
    ...lines.slice(0, at),
    ...own,
    ...lines.slice(at),
  ].join('\n');
}

/**
 * Returns the folder for the watermarks of signatures: files that contain the newest signed header of each delegate.
 * The service must be able to write to this folder. The function ignores XDG_STATE_HOME, because systemd services do
 * not have this variable.
 */
function watermarkFolder(): string {
  return watermarkFolderOf('', {}) ?? '';
}

/** Quotes a word of a systemd command. Escapes `$`, which begins a variable. */
function commandWord(word: string): string {
  return quoted(word.replaceAll('$', '$$$$'));
}

/** Quotes a word for systemd. Escapes `%`, which begins a specifier. */
function quoted(word: string): string {
  const escaped = word.replaceAll('%', '%%');
  return /^[\w@/.:=+,%$-]+$/.test(escaped) ? escaped : `"${escaped.replace(/["\\]/g, '\\$&')}"`;
}
