/** Runs the tests of the ClickHouse sink that need a ClickHouse server. Without a server, `npm test` skips them. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { packageDirectory } from '../../src/config/package.ts';

const FILES = ['dist/test/sinks/clickhouse-sink.test.js', 'dist/test/sinks/clickhouse-days.test.js'];

/**
 * @param cluster name of the cluster to which the server belongs; undefined to skip the tests that need a cluster
 * @returns true if all tests pass
 */
export async function passServerTests(url: string, cluster: string | undefined): Promise<boolean> {
  const child = spawn('npx', ['ava', '--serial', ...FILES], {
    cwd: packageDirectory(),
    env: {
      ...process.env,
      BLOOMERY_TEST_CLICKHOUSE_URL: url,
      ...(cluster === undefined ? {} : { BLOOMERY_TEST_CLICKHOUSE_CLUSTER: cluster }),
    },
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
