import { execFileSync } from 'node:child_process';
import test from 'ava';
import { completionScript, type Shell } from '../../src/cli/completion.ts';
import { networkNames } from '../../src/config/network.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runCli } from '../support/cli.ts';

const KNOWN = { networks: networkNames('/nowhere') };

/** Suggestions of bash for a command line whose last word is incomplete. */
function offered(line: string): readonly string[] {
  const script = `${completionScript(createProgram(), 'bash', KNOWN)}
COMP_WORDS=(${line
    .split(' ')
    .map((word) => `'${word}'`)
    .join(' ')})
COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
_bloomery
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' })
    .split('\n')
    .filter((word) => word !== '');
}

test.serial('bash completes commands, their subcommands and options, also behind options with values', (t) => {
  t.deepEqual(offered('bloomery forg'), ['forging']);
  t.deepEqual(offered('bloomery forging e'), ['enable', 'export']);
  t.deepEqual(offered('bloomery keys encrypt --pass'), ['--passphrase-file', '--password-file']);
  t.deepEqual(offered('bloomery start --network devnet --ht'), ['--http-port']);
  t.deepEqual(offered('bloomery start --network /no/such/pl'), []);
  t.deepEqual(offered('bloomery start --network dev'), ['devnet', 'devnet-gen2']);
  t.deepEqual(offered('bloomery devnet --mine '), ['interval', 'instant', 'on-demand']);
  t.deepEqual(offered('bloomery completion f'), ['fish']);
  // A subcommand does not suggest the option values of its parent command.
  t.deepEqual(offered('bloomery devnet accounts --mine i'), []);
  t.true(offered('bloomery ').includes('devnet'));
});

for (const shell of ['bash', 'zsh', 'fish'] as const satisfies readonly Shell[]) {
  test.serial(`the script for ${shell} names every command and option`, (t) => {
    const script = completionScript(createProgram(), shell);
    const visit = (command: ReturnType<typeof createProgram>): void => {
      for (const { long } of command.options) {
        t.true(script.includes(shell === 'fish' ? `-l ${long?.slice(2)}` : (long ?? '')), long ?? '');
      }
      for (const each of command.commands) {
        t.true(script.includes(each.name()), each.name());
        visit(each);
      }
    };
    visit(createProgram());
  });
}

test.serial('the command prints the script, and refuses an unknown shell', async (t) => {
  const { code, stdout } = await runCli(['completion', 'bash']);
  t.is(code, 0);
  t.is(stdout, completionScript(createProgram(), 'bash', KNOWN));
  t.is((await runCli(['completion', 'tcsh'])).code, 2);
});
