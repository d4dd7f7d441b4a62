import test from 'ava';
import { testAttacks } from './brief-attacks.ts';

testAttacks(test, 3, 'default');
testAttacks(test, 3, 'public');
testAttacks(test, 3, 'portable');
