/** Starts the interactive reference: the document of the node that serves the page, in the colours that the reader prefers. */

/** `swagger-ui-dist` sets it; the package has no types of its own. */
declare const SwaggerUIBundle: (options: {
  readonly url: string;
  readonly dom_id: string;
  readonly deepLinking: boolean;
  readonly validatorUrl: null;
  readonly tryItOutEnabled: boolean;
  readonly displayRequestDuration: boolean;
  readonly syntaxHighlight: false;
  readonly docExpansion: 'list' | 'none';
  readonly defaultModelsExpandDepth: number;
  readonly requestInterceptor: (request: TriedRequest) => TriedRequest;
}) => unknown;

interface TriedRequest {
  readonly url: string;
  userFetch?: typeof fetch;
}

/** Time for which a stream of events is shown. The stream itself never ends. */
const STREAM_SHOWN_MS = 5_000;
const STREAM_BYTES_MAX = 64 * 1024;

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const followColours = (): void => void document.documentElement.classList.toggle('dark-mode', prefersDark.matches);
prefersDark.addEventListener('change', followColours);
followColours();

// The page is also served under its path with a slash at the end.
const specUrl = new URL('spec', new URL(location.pathname.replace(/\/+$/, ''), location.href)).href;
document.querySelector<HTMLAnchorElement>('a[href="spec"]')?.setAttribute('href', specUrl);

SwaggerUIBundle({
  url: specUrl,
  dom_id: '#reference',
  deepLinking: true,
  // The validator would send the document to the server of the library's makers.
  validatorUrl: null,
  tryItOutEnabled: false,
  displayRequestDuration: true,
  // The colours of the library's highlighting are too dark for its background.
  syntaxHighlight: false,
  // On a phone, a list of forty open operations is too long.
  docExpansion: innerWidth < 700 ? 'none' : 'list',
  defaultModelsExpandDepth: 0,
  requestInterceptor: (request) => {
    if (/\/events(?:\?|$)/.test(request.url)) request.userFetch = fetchBeginning;
    return request;
  },
});

/** Returns the beginning of a stream as a complete answer. */
async function fetchBeginning(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { body, headers, status, statusText, url } = await fetch(input, init);
  const answer = new Response(body === null ? null : await textOf(body), { headers, status, statusText });
  // The library shows the URL of the answer, which an answer that is made here does not have.
  Object.defineProperty(answer, 'url', { value: url });
  return answer;
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const reader = body.getReader();
  const timer = setTimeout(() => void reader.cancel(), STREAM_SHOWN_MS);
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (value !== undefined) text += decoder.decode(value, { stream: true });
    if (done || text.length > STREAM_BYTES_MAX) break;
  }
  clearTimeout(timer);
  await reader.cancel();
  // The text is a comment in the syntax of event streams.
  return text.trim() === '' ? `: nothing came in the ${STREAM_SHOWN_MS / 1000} s that are shown here\n` : text;
}
