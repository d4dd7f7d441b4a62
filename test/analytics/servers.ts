/**
 * Starts ClickHouse servers, and ZooKeeper for a cluster of them, on the loopback interface. ClickHouse and ZooKeeper
 * must be installed. They store their data in the folder that the caller gives.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePorts } from '../support/ports.ts';

/**
 * Name of the cluster that `startCluster` starts. The cluster has this name even if it does not have three shards.
 */
export const CLUSTER = 'three';
/** One entry for each shard of the default cluster: the number of its replicas. */
const THREE_SHARDS: readonly number[] = [1, 1, 1];
const START_MS = 120_000;
const POLL_MS = 100;
const ANSWER_MS_MAX = 1_000;
const JARS = '/usr/share/java';
const ZOOKEEPER_JAR = join(JARS, 'zookeeper.jar');

/** A ClickHouse server that can be killed and started again. */
export interface TestServer {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestCluster {
  readonly servers: readonly TestServer[];
  stop(): Promise<void>;
}

/** @returns a text that names a missing program and tells how to install it; undefined if a cluster can start */
export function missingForCluster(): string | undefined {
  if (missingServer() !== undefined) return missingServer();
  if (programAt('java') === undefined || !existsSync(ZOOKEEPER_JAR))
    return 'ZooKeeper is missing: `apt-get install zookeeperd`';
  return undefined;
}

/** @returns a text that tells how to install `clickhouse-server`; undefined if `clickhouse-server` is installed */
export function missingServer(): string | undefined {
  return programAt('clickhouse-server') === undefined
    ? 'clickhouse-server is missing: `apt-get install clickhouse-server`'
    : undefined;
}

/**
 * Starts a cluster.
 *
 * @param shards one entry for each shard: the number of its replicas; by default three shards with one replica each
 * @returns the running cluster; its servers are in the order of the shards
 */
export async function startCluster(folder: string, shards: readonly number[] = THREE_SHARDS): Promise<TestCluster> {
  const zooKeeperPort = await freePorts(1);
  const zooKeeper = startZooKeeper(folder, zooKeeperPort);
  const places = shards.flatMap((replicas, index) =>
    Array.from({ length: replicas }, (_, replica) => ({ shard: index + 1, replica: replica + 1 })),
  );
  const members = await Promise.all(places.map(async (place) => ({ ...place, port: await freePorts(3) })));
  const servers = members.map((member, index) =>
    serverAt(join(folder, `server-${index + 1}`), member.port, memberSettings(member, zooKeeperPort, members)),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    await end(zooKeeper, 'SIGKILL');
  };
  try {
    // Wait for ZooKeeper: a ClickHouse server of version 18.16 can crash later if it starts before ZooKeeper is ready.
    await until(async () => (await zooKeeperAnswer(zooKeeperPort)).startsWith('Zookeeper version'));
    await Promise.all(servers.map((server) => server.start()));
    const [first] = servers;
    await until(
      async () => (await answerOf(first?.url ?? '', "SELECT 1 FROM system.zookeeper WHERE path = '/'")) !== '',
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { servers, stop };
}

/** Starts one ClickHouse server that belongs to no cluster. */
export async function startServer(folder: string): Promise<TestServer> {
  const server = serverAt(folder, await freePorts(3), '');
  await server.start();
  return server;
}

function serverAt(folder: string, port: number, more: string): TestServer {
  const url = `http://127.0.0.1:${port}`;
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'config.xml');
  writeFileSync(config, configOf(folder, port, more));
  writeFileSync(join(folder, 'users.xml'), USERS);
  let child: ChildProcess | undefined;
  const endBy = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    if (child !== undefined) await end(child, signal);
    child = undefined;
  };
  return {
    url,
    kill: () => endBy('SIGKILL'),
    stop: () => endBy('SIGTERM'),
    async start() {
      child = spawn('clickhouse-server', [`--config-file=${config}`], { stdio: 'ignore' });
      const started = child;
      await until(async () => {
        if (started.exitCode !== null) throw new Error(`clickhouse-server ended; see ${join(folder, 'errors')}`);
        return (await answerOf(url, 'SELECT 1')) === '1\n';
      });
    },
  };
}

function startZooKeeper(folder: string, port: number): ChildProcess {
  const home = join(folder, 'zookeeper');
  mkdirSync(home, { recursive: true });
  const config = join(home, 'zoo.cfg');
  const settings = [
    'tickTime=500',
    `dataDir=${join(home, 'data')}`,
    `clientPort=${port}`,
    'clientPortAddress=127.0.0.1',
    'admin.enableServer=false',
    'maxClientCnxns=0',
  ];
  writeFileSync(config, `${settings.join('\n')}\n`);
  const classes = [ZOOKEEPER_JAR, join(JARS, 'slf4j-nop.jar'), join(JARS, '*')].join(delimiter);
  const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
  return spawn('java', ['-Xmx256m', '-Dzookeeper.jmx.log4j.disable=true', '-cp', classes, main, config], {
    stdio: 'ignore',
  });
}

/**
 * Sends the command `srvr` to ZooKeeper. When ZooKeeper is ready, its answer begins with `Zookeeper version`. Before
 * ZooKeeper is ready, the result is an error message of ZooKeeper, or an empty text if ZooKeeper does not answer.
 */
async function zooKeeperAnswer(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  // In some cases, ZooKeeper never answers a command that arrives while ZooKeeper starts.
  socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error('ZooKeeper does not answer')));
  try {
    socket.end('srvr');
    return await text(socket);
  } catch {
    return '';
  } finally {
    socket.destroy();
  }
}

const USERS = `<yandex>
<profiles><default><max_memory_usage>6000000000</max_memory_usage><enable_optimize_predicate_expression>1</enable_optimize_predicate_expression></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
<quotas><default></default></quotas>
</yandex>
`;

/** @param port HTTP port; the next two ports are for the native client and for replication */
function configOf(folder: string, port: number, more: string): string {
  return `<yandex>
<logger><level>warning</level><log>${folder}/log</log><errorlog>${folder}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host>
<http_port>${port}</http_port>
<tcp_port>${port + 1}</tcp_port>
<interserver_http_port>${port + 2}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host>
<path>${folder}/data/</path>
<tmp_path>${folder}/tmp/</tmp_path>
<users_config>${folder}/users.xml</users_config>
<default_profile>default</default_profile>
<default_database>default</default_database>
<mark_cache_size>268435456</mark_cache_size>
${more}</yandex>
`;
}

/** A server of the cluster. The shards are numbered from 1, and the replicas of each shard are numbered from 1. */
interface Member {
  readonly shard: number;
  readonly replica: number;
  readonly port: number;
}

function memberSettings({ shard, replica }: Member, zooKeeperPort: number, members: readonly Member[]): string {
  const numbers = [...new Set(members.map((member) => member.shard))];
  const shards = numbers.map((number) => {
    const replicas = members.filter((member) => member.shard === number);
    return `<shard><internal_replication>true</internal_replication>${replicas.map(replicaOf).join('')}</shard>`;
  });
  return `<remote_servers><${CLUSTER}>${shards.join('')}</${CLUSTER}></remote_servers>
<zookeeper><node><host>127.0.0.1</host><port>${zooKeeperPort}</port></node></zookeeper>
<macros><shard>${shard}</shard><replica>${replica}</replica></macros>
<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
`;
}

function replicaOf({ port }: Member): string {
  return `<replica><host>127.0.0.1</host><port>${port + 1}</port></replica>`;
}

function programAt(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** @returns the server's answer to a query; an empty text if the query fails or the server does not answer */
async function answerOf(url: string, sql: string): Promise<string> {
  try {
    const response = await fetch(url, { method: 'POST', body: sql });
    return response.ok ? await response.text() : '';
  } catch {
    return '';
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + START_MS;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error('a server did not start in two minutes');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}
