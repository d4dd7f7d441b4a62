/** The files of a new node: configuration, passphrase of a new account, systemd unit. Nothing that is there is replaced. */

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

/** For its owner alone: it holds an encrypted passphrase, or a passphrase. */
const SECRET_MODE = 0o600;
const PUBLIC_MODE = 0o644;

interface NewFile {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

/** @throws ProtocolError `FILE_EXISTS` for the first file that is there already */
export function refuseExisting({ configFile, unitFile, delegate }: InitPlan): void {
  for (const file of [configFile, delegate?.passphraseFile, unitFile]) {
    if (file === undefined || !existsSync(file)) continue;
    throw fileExists(file);
  }
}

function fileExists(file: string): ProtocolError {
  return new ProtocolError('FILE_EXISTS', { file }, `${file} is there already: move it away, or name another place`);
}

/**
 * Writes all files, or none, each under another name first: a disk that is full and a process that ends leave no half of one.
 *
 * @param write how a text comes into an open file
 * @throws ProtocolError `FILE_EXISTS`, `INIT_UNWRITABLE` naming the file, and as `loadConfig` for a configuration that would not do
 */
export function writeFiles(plan: InitPlan, write: WriteText = writeFileSync): readonly string[] {
  refuseExisting(plan);
  const files = filesOf(plan).map((file) => ({ ...file, draft: `${file.path}.${process.pid}.draft` }));
  const written: string[] = [];
  try {
    // A folder that the sandbox of a service may write to must be there.
    makeFolder(plan.dataDirectory);
    if (plan.unitFile !== undefined && plan.delegate !== undefined) makeFolder(watermarkFolder());
    for (const file of files) {
      makeFolder(dirname(file.path));
      writeDraft(file, write);
    }
    for (const { draft, path } of files) {
      publish(draft, path);
      written.push(path);
      // As a start will read it.
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
  // One of a process of this number that ended meanwhile.
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, 'wx', mode);
  try {
    write(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Gives a file its name, which no other may have taken meanwhile. */
function publish(draft: string, path: string): void {
  try {
    linkSync(draft, path);
    rmSync(draft);
  } catch (error) {
    // A name that is taken, or a file system without links.
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

/** JSON5. What is not said stays as docs/configuration.md tells it. */
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

/** Arguments of `bloomery` that run the node. */
export function startArguments({ networkFlag, dataDirectory, configFile }: InitPlan): readonly string[] {
  return ['start', '--network', networkFlag, '--data-dir', dataDirectory, '--config', configFile];
}

/** Lines of the package's unit that a unit for this user and these folders says otherwise, or does not need. */
const OWN_LINES =
  /^(#|User=|Group=|Environment=NODE_ENV|EnvironmentFile=|ExecStart=|ProtectHome=|StateDirectory|ConfigurationDirectory)/;

/** The unit of docs/deploy, with its limits and its sandbox, for the present user and the folders of the plan. */
export function unitText(plan: InitPlan): string {
  const source = join(packageDirectory(), 'docs', 'deploy', 'bloomery.service');
  if (!existsSync(source)) {
    const message = `${source}: this copy of the package has no systemd unit: say --no-unit`;
    throw new ProtocolError('INIT_UNWRITABLE', { file: source }, message);
  }
  const template = readFileSync(source, 'utf8');
  const { username } = userInfo();
  const program = [process.execPath, join(packageDirectory(), 'bin', 'bloomery.js'), ...startArguments(plan)];
  const own = [
    `User=${username}`,
    `Environment=NODE_ENV=production BLOOMERY_LOG_FORMAT=json ${quoted(`BLOOMERY_HOME=${plan.home}`)}`,
    `ExecStart=${program.map(commandWord).join(' ')}`,
    // Programs and data may lie below /home; what is not named here cannot be written.
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

/** What the user's delegates signed is noted there too. A service has no XDG_STATE_HOME. */
function watermarkFolder(): string {
  return watermarkFolderOf('', {}) ?? '';
}

/** As systemd reads a word of a command: `$` begins a variable, which paths do not mean. */
function commandWord(word: string): string {
  return quoted(word.replaceAll('$', '$$$$'));
}

/** As systemd reads a word: `%` begins a specifier, which paths do not mean. */
function quoted(word: string): string {
  const escaped = word.replaceAll('%', '%%');
  return /^[\w@/.:=+,%$-]+$/.test(escaped) ? escaped : `"${escaped.replace(/["\\]/g, '\\$&')}"`;
}
