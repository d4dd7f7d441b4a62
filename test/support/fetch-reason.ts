/**
 * The test runner loads this module into each test process. `fetch` reports each network failure as "fetch failed", and
 * the report of a failed test does not show the cause of an error. So this module adds the cause and the URL to the
 * message.
 */

const original = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  try {
    return await original(input, init);
  } catch (error) {
    if (error instanceof TypeError && error.cause instanceof Error) {
      const { code, message } = error.cause as NodeJS.ErrnoException;
      error.message += ` (${code ?? 'no code'}: ${message}; ${input instanceof Request ? input.url : String(input)})`;
    }
    throw error;
  }
};
