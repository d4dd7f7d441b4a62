import test from 'ava';
import { emptyMemorySink, MemorySink } from '../../src/sinks/memory-sink.ts';
import { crashContract, pausedContract, sinkContract, type SinkSite } from './contract.ts';

sinkContract(test, 'memory', openSite);
pausedContract(test, 'memory', openSite);
crashContract(test, 'memory', openSite);

function openSite(): SinkSite {
  const content = emptyMemorySink();
  let nowMs = Date.UTC(2030, 0, 1);
  const clock = { nowMs: () => nowMs };
  let tokens = 0;
  return {
    open: (owner, beforeWrite) =>
      new MemorySink(content, { clock, owner, token: `t${(tokens += 1)}`, ...(beforeWrite && { beforeWrite }) }),
    rows: () => Promise.resolve(new MemorySink(content).rows()),
    expire: () => Promise.resolve(void (nowMs += 31_000)),
    close: () => Promise.resolve(),
  };
}
