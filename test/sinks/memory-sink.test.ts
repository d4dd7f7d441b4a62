import test from 'ava';
import { emptyMemorySink, MemorySink } from '../../src/sinks/memory-sink.ts';
import { sinkContract } from './contract.ts';

sinkContract(test, 'memory', () => {
  const content = emptyMemorySink();
  return {
    open: () => new MemorySink(content),
    rows: () => Promise.resolve(new MemorySink(content).rows()),
    close: () => Promise.resolve(),
  };
});
