/**
 * Configuration of AVA for the long tests (`npm run test:long`). A test file is long if it needs more than 15 s of
 * processor time. `npm test` leaves out the long tests; `.ci/run` runs both.
 */

import { createRequire } from 'node:module';

const { ava } = createRequire(import.meta.url)('../package.json');

export default { ...ava, files: ['dist/test/**/*.long.test.js'] };
