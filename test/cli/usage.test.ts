import test from 'ava';
import { isProblemLine, runCli } from '../support/cli.ts';

for (const args of [
  ['--help'],
  ['start', '--help'],
  ['devnet', '--help'],
  ['devnet', 'accounts', '--help'],
  ['devnet', 'mine', '--help'],
  ['devnet', 'warp', '--help'],
  ['status', '--help'],
  ['genesis', '--help'],
  ['genesis'],
  ['genesis', 'create', '--help'],
  ['network', '--help'],
  ['network', 'import', '--help'],
  ['export', '--help'],
  ['import', '--help'],
  ['verify', '--help'],
  ['rollback', '--help'],
  ['upgrade', '--help'],
  ['why', '--help'],
  ['why', 'missed', '--help'],
  ['doctor', '--help'],
  ['backup', '--help'],
  ['snapshot'],
  ['snapshot', 'create', '--help'],
  ['snapshot', 'restore', '--help'],
  ['version', '--help'],
  ['keys'],
  ['keys', 'encrypt', '--help'],
  ['vote', '--help'],
  ['multisig', 'sign', '--help'],
  ['forging'],
  ['forging', 'export', '--help'],
  ['config', 'show', '--help'],
  ['block', '--help'],
  ['pool', '--help'],
  ['help'],
  ['help', 'forging', 'export'],
  [],
]) {
  test.serial(`bloomery ${args.join(' ')} prints its help with the exit codes and succeeds`, async (t) => {
    const { code, stdout, stderr } = await runCli(args);
    t.is(code, 0);
    t.is(stderr, '');
    t.regex(stdout, /Usage: bloomery/);
    t.is(stdout.match(/^Exit codes: 0 .*; 1 .*; 2 /gm)?.length, 1, stdout);
  });
}

const wrongUses: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [['frobnicate'], /unknown command `frobnicate`: see `bloomery --help`/],
  [['stauts'], /unknown command `stauts`: did you mean `bloomery status`\? see `bloomery --help`/],
  [['help', 'forging', 'exprot'], /unknown command `exprot`: did you mean `bloomery forging export`\?/],
  [['devnet', 'mnie'], /unknown command `mnie`: did you mean `bloomery devnet mine`\?/],
  [['why', 'mised', '5'], /unknown command `mised`: did you mean `bloomery why missed`\?/],
  [
    ['start', '--netwrok', 'x', '--network', 'y'],
    /unknown option '--netwrok': did you mean --network\? see `bloomery start/,
  ],
  [['--frobnicate'], /unknown option '--frobnicate': see `bloomery --help`/],
  [['start'], /required option '--network <name\|dir>' not specified: see `bloomery start --help`/],
  [['start', '--network'], /argument missing/],
  [['start', '--network', 'devnet', '--http-port', 'eighty'], /--http-port .*must be an integer from 0 to 65535/],
  [['start', '--network', 'devnet', '--ws-port', '70000'], /--ws-port .*must be an integer/],
  [
    ['start', '--network', 'devnet', '--no-peers', '--peer', '127.0.0.1:5000'],
    /'--peer .*' cannot be used with option '--no-peers'/,
  ],
  [['start', '--network', 'devnet', '--frob'], /unknown option '--frob': see `bloomery start --help`/],
  [['start', '--network', 'devnet', 'more'], /too many arguments/],
  [
    ['start', '--network', 'nowhere'],
    /unknown network `nowhere`.*give the name of a network \(devnet, devnet-gen2\) or the path of its folder/,
  ],
  [['start', '--network', './nowhere'], /unknown network `\.\/nowhere`: no network\.json in/],
  [
    ['start', '--network', 'devnet', '--peer', '127.0.0.1'],
    /--peer .*must be an IPv4 address and a port such as 10\.0\.0\.2:5000/,
  ],
  [
    ['start', '--network', 'devnet', '--config', '/nowhere.json5'],
    /\/nowhere\.json5: cannot be read: does not exist: correct --config \(CONFIG_UNREADABLE\)\n/,
  ],
  [['import', '/nowhere/blocks', '--network', 'devnet'], /cannot be read: does not exist/],
  [['snapshot', 'restore', '/nowhere/chain', '--network', 'devnet'], /is refused: there is no such file/],
  [['devnet', '--nodes', '0'], /--nodes .*must be an integer from 1 to 32/],
  [['devnet', '--block-time', '0.1'], /--block-time .*must be an integer from 2 to 3600, or a number from 0.2/],
  [['devnet', '--block-time', '2.5'], /--block-time .*must be an integer from 2 to 3600, or a number from 0.2/],
  [['devnet', '--block-time', '0.5', '--mine', 'instant'], /--block-time below 2 s is for --mine interval/],
  [['devnet', '--mine', 'never'], /--mine .*Allowed choices are interval, instant, on-demand/],
  [['devnet', 'mine', '0'], /must be an integer from 1 to 10000/],
  [['devnet', 'kill'], /missing required argument 'node'/],
  [['devnet', '--generation', '4'], /--generation .*must be an integer from 2 to 3/],
  [['devnet', '--http-port', '4000', '--ws-port', '4003'], /HTTP ports from 4000 and peer ports from 4003 overlap/],
  [['devnet', '--http-port', '65533'], /pass port 65535/],
  [['devnet', '--http-port', '10078'], /HTTP port 10080 of node 2 is one that browsers and fetch refuse/],
  [['devnet', 'accounts', '--frob'], /unknown option '--frob': see `bloomery devnet accounts --help`/],
  [['devnet', 'accounts', '--generation', '1'], /--generation .*must be an integer from 2 to 3/],
  [['genesis', 'create', '--name', 'a'], /required option '--out <dir>' not specified/],
  [['genesis', 'create', '--name', 'A b', '--out', '/tmp/none'], /--name `A b` must be lower-case letters/],
  [['genesis', 'create', '--name', 'a', '--out', '/tmp/none', '--delegates', '102'], /--delegates .*from 1 to 101/],
  [['block', 'first'], /must be a height, the id of a block, or latest/],
  [['tx', 'abc'], /must be the id of a transaction/],
  [['delegates', '--limit', '102'], /--limit .*must be an integer from 1 to 101/],
  [['status', '--node', 'somewhere'], /`somewhere` is not an address of a node/],
];

for (const [args, message] of wrongUses) {
  test.serial(`bloomery ${args.join(' ')} is refused in one line with exit code 2`, async (t) => {
    const { code, stdout, stderr } = await runCli(args);
    t.is(code, 2);
    t.is(stdout, '');
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, message);
  });
}

test.serial('an environment variable with a wrong value is refused by name', async (t) => {
  const { code, stderr } = await runCli(['start', '--network', 'devnet'], { env: { BLOOMERY_HTTP_PORT: 'x' } });
  t.is(code, 2);
  t.is(stderr, 'bloomery: environment: BLOOMERY_HTTP_PORT must be an integer from 0 to 65535 (CONFIG_INVALID)\n');
});

test.serial('the version is printed as text, as JSON and by --version', async (t) => {
  const text = await runCli(['version']);
  t.regex(text.stdout, /^\d+\.\d+\.\d+\n$/);
  t.deepEqual(JSON.parse((await runCli(['version', '--json'])).stdout), { version: text.stdout.trim() });
  t.is((await runCli(['--version'])).stdout, text.stdout);
});

test.serial('the status of a node that cannot be reached fails with exit code 1', async (t) => {
  const { code, stderr } = await runCli(['status', '--node', 'http://127.0.0.1:9']);
  t.is(code, 1);
  t.true(isProblemLine(stderr), stderr);
  t.regex(stderr, /no node answers at http:\/\/127\.0\.0\.1:9 .*--node/);
  // fetch refuses this port whether or not a node listens on it.
  t.regex(stderr, /fetch and browsers refuse to ask this port/);
});
