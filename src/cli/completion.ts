/** Makes completion scripts for shells from the definitions of the commands. */

import type { Command } from 'commander';

export type Shell = 'bash' | 'zsh' | 'fish';

/** Values for options whose definitions do not list the possible values. */
export interface KnownValues {
  /** Names of networks: the values of the option `--network` in each command. */
  readonly networks: readonly string[];
}

/**
 * A command, and the words that can follow the command on the command line. The path of `bloomery devnet accounts` is
 * `/devnet/accounts`. The path of `bloomery` itself is empty.
 */
interface CommandPosition {
  readonly path: string;
  readonly commands: readonly Entry[];
  readonly options: readonly Entry[];
}

interface Entry {
  readonly name: string;
  readonly description: string;
  /** Known values of an option; absent if no value is known. Some options also accept other values. */
  readonly values?: readonly string[];
}

/**
 * Returns the script that makes a shell complete the program's commands, its options, and the known values of options
 * and arguments. In bash, the script completes all other words as file names. In zsh and fish, the script completes
 * arguments as file names only for commands that have neither subcommands nor known values of arguments.
 */
export function completionScript(program: Command, shell: Shell, known: KnownValues = { networks: [] }): string {
  const positions = positionsOf(program, '', known);
  if (shell === 'bash') return bashScript(positions);
  return shell === 'zsh' ? zshScript(positions) : fishScript(positions);
}

function positionsOf(command: Command, path: string, known: KnownValues): readonly CommandPosition[] {
  const help = command.createHelp();
  const entry = (name: string, description: string): Entry => ({ name, description: description.replace(/\s+/g, ' ') });
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const position = {
    path,
    commands: [
      ...command.commands.map((each) => entry(each.name(), each.description())),
      ...choices.map((choice) => entry(choice, 'a value')),
    ],
    options: help.visibleOptions(command).flatMap(({ long, description, argChoices }): readonly Entry[] => {
      if (long === null || long === undefined) return [];
      const values = argChoices ?? (long === '--network' ? known.networks : []);
      return [{ ...entry(long, description), ...(values.length === 0 ? {} : { values }) }];
    }),
  };
  return [position, ...command.commands.flatMap((each) => positionsOf(each, `${path}/${each.name()}`, known))];
}

/**
 * Returns the options that have known values (for example `--restart` of `bloomery devnet`). Each option has the path
 * of its command: the name of the command and the names of its parent commands.
 */
function valued(
  positions: readonly CommandPosition[],
): readonly { readonly path: string; readonly name: string; readonly values: readonly string[] }[] {
  return positions.flatMap(({ path, options }) =>
    options.flatMap(({ name, values }) => (values === undefined ? [] : [{ path, name, values }])),
  );
}

/** Returns the pattern for a `case` statement in the script. The pattern matches the path of every subcommand. */
function deeper(positions: readonly CommandPosition[]): string {
  return positions.flatMap(({ path }) => (path === '' ? [] : [path])).join('|');
}

function bashScript(positions: readonly CommandPosition[]): string {
  const cases = positions.map(({ path, commands, options }) => {
    const words = [...commands, ...options].map(({ name }) => name).join(' ');
    return `    '${path}') COMPREPLY=($(compgen -W '${words}' -- "$current")) ;;`;
  });
  const values = valued(positions).map(
    ({ path, name, values: words }) =>
      `    '${path} ${name}') COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$current")); return ;;`,
  );
  return `# bash completion of bloomery: source <(bloomery completion bash)
_bloomery() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place/$word" in ${deeper(positions)}) place="$place/$word" ;; esac
  done
  case "$place \${COMP_WORDS[COMP_CWORD-1]}" in
${values.join('\n')}
  esac
  case "$place" in
${cases.join('\n')}
  esac
}
complete -o bashdefault -o default -F _bloomery bloomery
`;
}

function zshScript(positions: readonly CommandPosition[]): string {
  const quoted = ({ name, description }: Entry): string =>
    `'${name.replaceAll(':', '\\:')}:${description.replaceAll("'", "'\\''")}'`;
  const cases = positions.map(({ path, commands, options }) => {
    const list = (name: string, entries: readonly Entry[]): string => `${name}=(${entries.map(quoted).join(' ')})`;
    return `    '${path}') ${list('commands', commands)}; ${list('options', options)} ;;`;
  });
  const values = valued(positions).map(
    ({ path, name, values: words }) => `    '${path} ${name}') _values value ${words.join(' ')}; return ;;`,
  );
  return `#compdef bloomery
# zsh completion of bloomery: source <(bloomery completion zsh)
_bloomery() {
  local place='' word
  local -a commands options
  for word in \${words[2,CURRENT-1]}; do
    case "$place/$word" in ${deeper(positions)}) place="$place/$word" ;; esac
  done
  case "$place \${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case "$place" in
${cases.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe option options
  elif (( \${#commands} )); then _describe command commands
  else _files
  fi
}
compdef _bloomery bloomery
`;
}

function fishScript(positions: readonly CommandPosition[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = positions.flatMap(({ path, commands, options }) => [
    ...commands.map(
      ({ name, description }) =>
        `complete -c bloomery -n '__bloomery_at "${path}"' -f -a ${name} -d ${quoted(description)}`,
    ),
    ...options.map(
      ({ name, description, values }) =>
        `complete -c bloomery -n '__bloomery_at "${path}"' -l ${name.slice(2)} -d ${quoted(description)}` +
        (values === undefined ? '' : ` -r -a ${quoted(values.join(' '))}`),
    ),
  ]);
  const known = positions.flatMap(({ path }) => (path === '' ? [] : [path])).join(' ');
  return `# fish completion of bloomery: bloomery completion fish | source
function __bloomery_at
  set -l place ''
  for word in (commandline -opc)[2..]
    contains -- "$place/$word" ${known}; and set place "$place/$word"
  end
  test "$place" = "$argv[1]"
end
${lines.join('\n')}
`;
}
