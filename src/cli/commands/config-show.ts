/** `bloomery config show`: shows the options with which a node would run, and the source of each option. */

import { explainConfig, type ExplainedOption } from '../../config/load.ts';
import { bloomeryHome, findNetworkDirectory, loadNetwork } from '../../config/network.ts';
import type { Config } from '../../config/schema.ts';
import { defaultProcesses } from '../default-processes.ts';
import type { ConfigShowFlags } from '../flags.ts';
import { printJson, printLine } from '../output.ts';

/**
 * @throws ProtocolError for a wrong network folder or configuration, with the same message as `bloomery start`
 */
export function configShow(flags: ConfigShowFlags): void {
  const network = loadNetwork(findNetworkDirectory(flags.network, bloomeryHome(process.env)));
  const options = explainConfig({
    network,
    environment: process.env,
    processes: defaultProcesses(),
    ...(flags.config === undefined ? {} : { file: flags.config }),
  });
  if (flags.json === true) {
    const shown = options.map(({ named, value, origin }) => ({
      option: named.path,
      value: masked(named, value),
      origin,
    }));
    printJson({ options: shown });
    return;
  }
  const rows = options.map(({ named, value, origin }) => {
    const unit = named.option.unit === undefined ? '' : ` ${named.option.unit}`;
    const { defaultText, secret } = named.option;
    // For some options with `defaultText`, the default value is an empty text (for example `forging.watermarkFolder`,
    // whose real default depends on the environment of the node). In place of an empty value, the output shows
    // `defaultText`, except for a secret.
    const shown =
      value === '' && defaultText !== undefined && secret !== true ? defaultText : textOf(masked(named, value));
    return [named.path, `${shown}${unit}`, originOf(named, origin)] as const;
  });
  const width = (column: 0 | 1): number => Math.min(60, Math.max(...rows.map((row) => row[column].length)));
  const [names, values] = [width(0), width(1)];
  for (const [name, value, origin] of rows) {
    printLine(`${name.padEnd(names)}  ${value.padEnd(values)}  ${origin}`);
  }
}

/**
 * The value of an option, with secrets masked. For a delegate, the result contains the public key, but not the
 * encrypted passphrase.
 */
function masked({ option, path }: ExplainedOption['named'], value: unknown): unknown {
  if (path === 'log.modules')
    return (value as Config['log']['modules']).map((moduleAndLevel) => moduleAndLevel.join('='));
  if (option.secret !== true) return value;
  if (!Array.isArray(value)) return value === '' ? '' : '***';
  return (value as readonly { readonly publicKey: string }[]).map(({ publicKey }) => `${publicKey}|***`);
}

function originOf({ variable }: ExplainedOption['named'], origin: string): string {
  return origin === 'environment' ? `environment (${variable})` : origin;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(textOf).join(', ');
  if (typeof value === 'object' && value !== null) return Object.values(value).map(String).join(':');
  return value === '' ? 'none' : String(value);
}
