/** Adds examples to the OpenAPI document of the interface: requests and answers that a test has recorded. */

import type { OpenApiDocument, Operation, ResponseObject } from './openapi.ts';

/** A recorded request to one operation of the interface, and the answer to this request. */
export interface Exchange {
  /** Request body; absent if the request has no body. */
  readonly sent?: unknown;
  /** Body of the 200 answer: the parsed value of a JSON body, or the text of any other body. */
  readonly answer: unknown;
}

/** Exchanges by method and path, for example `GET /accounts`. */
export type Exchanges = Readonly<Record<string, Exchange>>;

/** Returns the document with an example request and answer for each operation that has an exchange. */
export function withExamples<T extends OpenApiDocument>(document: T, exchanges: Exchanges): T {
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const shown = Object.entries(operations).map(([method, operation]) => {
      const exchange = exchanges[`${method.toUpperCase()} ${path}`];
      return [method, exchange === undefined ? operation : shownWith(operation, exchange)] as const;
    });
    return [path, Object.fromEntries(shown)] as const;
  });
  return { ...document, paths: Object.fromEntries(paths) };
}

function shownWith(operation: Operation, { sent, answer }: Exchange): Operation {
  const { requestBody, responses } = operation;
  const good = responses['200'];
  return {
    ...operation,
    ...(requestBody === undefined || sent === undefined ? {} : { requestBody: withExample(requestBody, sent) }),
    responses: { ...responses, ...(good === undefined ? {} : { 200: withExample(good, answer) }) },
  };
}

function withExample<T extends Pick<ResponseObject, 'content'>>(described: T, example: unknown): T {
  const content = Object.entries(described.content).map(([type, media]) => [type, { ...media, example }] as const);
  return { ...described, content: Object.fromEntries(content) };
}
