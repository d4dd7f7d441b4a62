/** Reads the secret with which the node signs the events for the webhook (`notify.webhook`). */

import { readBounded, whyUnreadable } from '../../config/bounded-file.ts';
import type { NotifyConfig } from '../../config/schema.ts';
import { ProtocolError } from '../../primitives/errors.ts';

const KEY = 'notify.webhookSecretFile';
const FILE_BYTES_MAX = 64 * 1024;

/**
 * Returns the first line of the file that the option `notify.webhookSecretFile` names; undefined if the option names no
 * file.
 *
 * @throws ProtocolError `CONFIG_INVALID` if the file cannot be read or its first line is empty; the error names the
 *   option, the file and the reason
 */
export function webhookSecretOf({
  webhookSecretFile: file,
}: Pick<NotifyConfig, 'webhookSecretFile'>): string | undefined {
  if (file === '') return undefined;
  let content: string;
  try {
    content = readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8');
  } catch (error) {
    throw invalid(file, whyUnreadable(error, 'give the path of a file with the secret in its first line'));
  }
  const secret = (content.split('\n')[0] ?? '').trim();
  if (secret === '') throw invalid(file, 'its first line is empty: write the secret there');
  return secret;
}

function invalid(file: string, reason: string): ProtocolError {
  return new ProtocolError('CONFIG_INVALID', { key: KEY, file }, `${KEY} \`${file}\`: ${reason}`);
}
