/**
 * Reads files with JSON documents. A document is one of three things: a signed transaction, a member's signature for a
 * multisignature transaction, or a signed message.
 */

import { readBounded, readStandardInput, whyUnreadable } from '../../config/bounded-file.ts';
import { ProtocolError } from '../../primitives/errors.ts';

const DOCUMENTS_MAX = 1000;
/**
 * Maximum size of a file, in bytes: several times the size of `DOCUMENTS_MAX` transactions with all their signatures.
 */
const BYTES_MAX = 16 * 1024 * 1024;

/**
 * Returns the documents in a file. A file has one JSON document, a JSON array of documents, or one document on each
 * line.
 *
 * @param file `-` is the standard input
 * @throws ProtocolError `DOCUMENT_UNREADABLE`, with the file and the reason, if the file cannot be read or parsed, is
 *   empty, or exceeds a limit above
 */
export function documentsIn(file: string): readonly unknown[] {
  const name = file === '-' ? 'standard input' : file;
  try {
    const bytes =
      file === '-' ? readStandardInput(BYTES_MAX) : readBounded(file, { bytesMax: BYTES_MAX, allowPipe: true });
    const text = bytes.toString('utf8').trim();
    if (text === '') throw new Error('it is empty');
    const documents = parsed(text);
    if (documents.length === 0) throw new Error('it holds no document');
    if (documents.length > DOCUMENTS_MAX) throw new Error(`it holds more than ${DOCUMENTS_MAX} documents`);
    return documents;
  } catch (error) {
    const reason = whyUnreadable(error, 'name the one that --offline was written to');
    throw new ProtocolError('DOCUMENT_UNREADABLE', { file }, `${name}: cannot be read: ${reason}`, { cause: error });
  }
}

function parsed(text: string): readonly unknown[] {
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch (error) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length < 2) throw error;
    return lines.map((line) => JSON.parse(line) as unknown);
  }
  return Array.isArray(whole) ? (whole as readonly unknown[]) : [whole];
}
