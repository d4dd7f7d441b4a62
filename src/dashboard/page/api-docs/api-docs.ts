/**
 * Starts the page with the interactive API documentation of the HTTP interface. The page shows the OpenAPI document of
 * this node in the browser's preferred colour scheme.
 */

/** Global variable that the script of `swagger-ui-dist` sets. The package has no type declarations. */
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

/**
 * Time in milliseconds for which the page reads an event stream. Without a limit, the answer would never be complete,
 * because the stream itself never ends.
 */
const STREAM_SHOWN_MS = 5_000;
const STREAM_BYTES_MAX = 64 * 1024;

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const followColours = (): void => void document.documentElement.classList.toggle('dark-mode', prefersDark.matches);
prefersDark.addEventListener('change', followColours);
followColours();

// The node serves this page with and without a slash at the end of the path. The URL `spec` is relative to the path
// without the slash.
const specUrl = new URL('spec', new URL(location.pathname.replace(/\/+$/, ''), location.href)).href;
document.querySelector<HTMLAnchorElement>('a[href="spec"]')?.setAttribute('href', specUrl);

SwaggerUIBundle({
  url: specUrl,
  dom_id: '#api-docs',
  deepLinking: true,
  // Without this option, the page would send the URL of the document to a validator on the internet.
  validatorUrl: null,
  tryItOutEnabled: false,
  displayRequestDuration: true,
  // Syntax highlighting is off, because the colours of `swagger-ui-dist` have too little contrast.
  syntaxHighlight: false,
  // In a narrow window, for example on a phone, the list of operations is closed at first, because the open list makes
  // a long page.
  docExpansion: innerWidth < 700 ? 'none' : 'list',
  defaultModelsExpandDepth: 0,
  requestInterceptor: (request) => {
    if (/\/events(?:\?|$)/.test(request.url)) request.userFetch = fetchBeginning;
    return request;
  },
});

/** Returns the beginning of an event stream as a complete answer. */
async function fetchBeginning(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { body, headers, status, statusText, url } = await fetch(input, init);
  const answer = new Response(body === null ? null : await textOf(body), { headers, status, statusText });
  // `swagger-ui-dist` shows the URL of the answer. An answer from the constructor of `Response` has no URL.
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
  // If no event arrived, the result is a line that begins with a colon. Such a line is a comment in an event stream.
  return text.trim() === '' ? `: no event arrived in the ${STREAM_SHOWN_MS / 1000} s that are shown here\n` : text;
}
