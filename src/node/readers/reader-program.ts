/** The program of a reader, which is a process that answers HTTP beside the node. */

import { createRules } from '../../protocol/generations.ts';
import { runReader } from './reader-process.ts';

runReader(createRules);
