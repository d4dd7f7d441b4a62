/**
 * Runs property tests with the same inputs in every run, so that a new failure comes from a change and not from chance.
 * `TEST_SEED=random` uses new random inputs. `TEST_SEED=NUMBER` repeats the inputs of a seed that a failed test has
 * reported.
 */

import fc from 'fast-check';

const SEED = 3_000_002;

const wanted = process.env['TEST_SEED'] ?? String(SEED);
if (wanted !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) });

export { fc };
