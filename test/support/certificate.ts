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

/** Writes a new key and its certificate into the folder. The certificate is valid for a day. */
export function makeCertificate(folder: string): { readonly keyFile: string; readonly certificateFile: string } {
  const keyFile = join(folder, 'key.pem');
  const certificateFile = join(folder, 'certificate.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const certificate = ['-days', '1', '-subj', '/CN=localhost', '-out', certificateFile];
  execFileSync('openssl', ['req', '-x509', ...key, ...certificate], { stdio: 'ignore' });
  return { keyFile, certificateFile };
}
