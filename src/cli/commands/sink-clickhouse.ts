/** `bloomery sink clickhouse`: copies the chain into a ClickHouse server. */

import { systemClock } from '../../node/system.ts';
import { hasPassword, openServer } from '../../sinks/clickhouse/server.ts';
import { ClickHouseSink } from '../../sinks/clickhouse/clickhouse-sink.ts';
import type { ClickHouseFlags } from '../flags.ts';
import { printStderr } from '../output.ts';
import { readSecret } from '../wallet/secrets.ts';
import { fillSink } from '../sink/fill-sink.ts';
import { thisHolder } from '../sink/sink-lock.ts';

/** @throws ProtocolError in the same cases as `readSecret`, `openServer`, `fillSink` and `ClickHouseSink` */
export async function sinkClickHouse(flags: ClickHouseFlags): Promise<void> {
  const { url, database, cluster } = flags;
  const password = await passwordOf(flags);
  await fillSink(
    new ClickHouseSink(openServer(url, database, systemClock, password), systemClock, thisHolder(), cluster),
    flags,
  );
}

const PASSWORD_VARIABLE = 'BLOOMERY_CLICKHOUSE_PASSWORD';

/**
 * Reads the password from the file of `--password-file` or from the environment variable
 * `BLOOMERY_CLICKHOUSE_PASSWORD`. If neither the file nor the variable is given, the function returns undefined: the
 * URL can contain the password, and some servers need no password.
 */
async function passwordOf({ url, passwordFile: file }: ClickHouseFlags): Promise<string | undefined> {
  if (hasPassword(url)) {
    const where = `--password-file FILE or ${PASSWORD_VARIABLE}`;
    printStderr(`warning: every user of this machine can read the password in --url; pass the password with ${where}`);
  }
  if (file === undefined && (process.env[PASSWORD_VARIABLE] ?? '') === '') return undefined;
  return readSecret({ name: 'password', file, flag: '--password-file', variable: PASSWORD_VARIABLE });
}
