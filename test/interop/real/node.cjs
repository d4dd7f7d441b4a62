'use strict';
/**
 * Runs one node of the reference, any release: `INTEROP_SETTINGS=<file> node node.cjs`. The file holds a JSON object
 * {"sdk", "bindIp", "genesisBlock", "config"}: folder of the package, address that all listeners are bound to, and what
 * `new Application` takes. Written for the oldest runtime that it meets, Node 10.
 */

const fs = require('fs');
const net = require('net');

const settings = JSON.parse(fs.readFileSync(process.env.INTEROP_SETTINGS, 'utf8'));

// The reference listens on every address of the machine, and drops peers with the address that is configured as its own.
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function listenOnLoopback(...args) {
  const [first, second, ...rest] = args;
  if (typeof first === 'object' && first !== null && first.port !== undefined) {
    return listen.call(this, { ...first, host: settings.bindIp }, second, ...rest);
  }
  if (typeof first !== 'number' && !/^\d+$/.test(String(first))) return listen.apply(this, args);
  const last = args[args.length - 1];
  const options = { port: Number(first), host: settings.bindIp };
  return typeof last === 'function' ? listen.call(this, options, last) : listen.call(this, options);
};

// Small penalties leave no trace in the reference's own log; the cases want none at all.
const { EventEmitter } = require('events');
const { Peer } = require(require.resolve('@liskhq/lisk-p2p/dist-node/peer/base', { paths: [settings.sdk] }));
const { applyPenalty } = Peer.prototype;
Peer.prototype.applyPenalty = function reported(penalty) {
  console.log(`INTEROP penalty of ${penalty} for ${this.id || this._id}`);
  return applyPenalty.call(this, penalty);
};
const { emit } = EventEmitter.prototype;
EventEmitter.prototype.emit = function watched(name, ...args) {
  if (name === 'banPeer') console.log(`INTEROP ban of ${JSON.stringify(args[0])}`);
  return emit.call(this, name, ...args);
};

// Its supervisor is gone: nobody would end this process.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

const { Application } = require(settings.sdk);
try {
  new Application(settings.genesisBlock, settings.config).run().catch(fail);
} catch (error) {
  fail(error);
}

function fail(error) {
  console.error('the node did not start:', error);
  process.exit(1);
}
