/**
 * Simulates hosts on one machine. Each host is a network namespace with its own address in one network. Only the
 * switch (`delay-switch.ts`) connects the hosts.
 */

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { waitFor } from '../../support/devnet.ts';
import { openRelay } from './relay.ts';
import { macOf, switchAddressOf, tunnelAddressOf } from './delay-switch.ts';

const run = promisify(execFile);
const KEEPER = fileURLToPath(new URL('./keeper.js', import.meta.url));
const CONTROL_PORT = 8000;
const START_MS_MAX = 20_000;
/** A frame of this size plus the tunnel header fits into an Ethernet frame. */
const MTU = 1400;

/** Address of a host in the network of the hosts. */
export function addressOfHost(host: number): string {
  return `10.88.0.${host + 1}`;
}

export class Namespaces {
  /**
   * For each namespace, a process (the keeper) that keeps the namespace alive (`keeper.ts`). When the process that has
   * created this object ends, the keepers end, too.
   */
  readonly #keepers: ChildProcess[] = [];
  readonly #relays: Server[] = [];

  /**
   * @param nodePortOf returns the port on which the node of a host listens at `127.0.0.1`. In the namespace of this
   *   process, a relay listens on the same address and port. The relay forwards each connection to the keeper of the
   *   host, and the keeper forwards the connection to the node.
   * @throws Error if the permission or the kernel support for namespaces is missing
   */
  static async make(hosts: number, nodePortOf: (host: number) => number): Promise<Namespaces> {
    const made = new Namespaces();
    try {
      await run('ip', ['link', 'set', 'lo', 'up']);
      for (let host = 0; host < hosts; host += 1) await made.#add(host, hosts, nodePortOf(host));
      return made;
    } catch (error) {
      await made.close();
      throw error;
    }
  }

  /** The command prefix that runs another command on a host. */
  prefix(host: number): readonly string[] {
    return ['nsenter', `--net=/proc/${this.#keepers[host]?.pid}/ns/net`];
  }

  async close(): Promise<void> {
    for (const relay of this.#relays) relay.close();
    for (const keeper of this.#keepers) {
      if (keeper.exitCode !== null || keeper.signalCode !== null) continue;
      const ended = once(keeper, 'exit');
      keeper.stdin?.end();
      await ended;
    }
  }

  async #add(host: number, hosts: number, nodePort: number): Promise<void> {
    // When this process ends, the standard input of the keeper closes, and then the keeper ends.
    const args = [KEEPER, tunnelAddressOf(host), String(CONTROL_PORT), String(nodePort)];
    const keeper = spawn('unshare', ['--net', process.execPath, ...args], { stdio: ['pipe', 'ignore', 'inherit'] });
    this.#keepers.push(keeper);
    this.#relays.push(
      await openRelay({ host: '127.0.0.1', port: nodePort }, { host: tunnelAddressOf(host), port: CONTROL_PORT }),
    );
    const own = readlinkSync('/proc/self/ns/net');
    const isApart = async (): Promise<boolean> => readlinkSync(`/proc/${keeper.pid}/ns/net`) !== own;
    await waitFor(`namespace of host ${host}`, isApart, START_MS_MAX);
    const link = `host${host}`;
    await run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(keeper.pid)]);
    await run('ip', ['addr', 'add', `${switchAddressOf(host)}/30`, 'dev', link]);
    await run('ip', ['link', 'set', link, 'up']);
    const others = Array.from({ length: hosts }, (_, other) => other).filter((other) => other !== host);
    // Turn off segmentation offload: a network card would split a large segment into packets, but the switch cannot.
    const commands = [
      'link set lo up',
      `addr add ${tunnelAddressOf(host)}/30 dev eth0`,
      'link set eth0 gso_max_segs 1 up',
      `link add net0 address ${macOf(host)} mtu ${MTU} type vxlan id 1 local ${tunnelAddressOf(host)} ` +
        `remote ${switchAddressOf(host)} dstport 4789 nolearning`,
      `addr add ${addressOfHost(host)}/24 dev net0`,
      'link set net0 gso_max_segs 1 up',
      ...others.map((other) => `neigh add ${addressOfHost(other)} lladdr ${macOf(other)} dev net0 nud permanent`),
    ];
    const [program = '', ...before] = this.prefix(host);
    for (const command of commands) await run(program, [...before, 'ip', ...command.split(' ')]);
  }
}
