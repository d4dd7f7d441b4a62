/** Makes a TLS key and certificate for `localhost` with the program `openssl`. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** False on a machine without `openssl`. */
export const canMakeCertificates = ((): boolean => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Kinds of keys, by the arguments of `openssl req`. */
const KINDS = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
  rsa: ['-newkey', 'rsa:2048'],
} as const;

/** Writes a new key and its certificate into the folder. The certificate is valid for a day. */
export function makeCertificate(
  folder: string,
  kind: keyof typeof KINDS = 'ec',
): { readonly keyFile: string; readonly certificateFile: string } {
  const keyFile = join(folder, `${kind}-key.pem`);
  const certificateFile = join(folder, `${kind}-certificate.pem`);
  const key = [...KINDS[kind], '-nodes', '-keyout', keyFile];
  const certificate = ['-days', '1', '-subj', '/CN=localhost', '-out', certificateFile];
  execFileSync('openssl', ['req', '-x509', ...key, ...certificate], { stdio: 'ignore' });
  return { keyFile, certificateFile };
}
