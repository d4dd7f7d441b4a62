import test from 'ava';
import { testAttacks } from './brief-attacks.ts';

testAttacks(test, 2, 'default');
testAttacks(test, 2, 'portable');
