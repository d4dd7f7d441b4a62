/** A process that holds a signing journal (a file of signed headers) open until the process is killed. */

import { openJournal } from '../../src/node/journal-file.ts';

const journal = openJournal(process.argv[2] ?? '');
journal.record('aa'.repeat(32), {
  blockId: '100',
  height: 1,
  timestamp: 10,
  maxHeightPrevoted: 0,
  maxHeightPreviouslyForged: 0,
});
process.send?.('open');
setInterval(() => undefined, 1000);
